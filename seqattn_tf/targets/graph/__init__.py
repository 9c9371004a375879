"""Targets inside a TensorFlow graph, the twins of those in `targets`, and what training minimises."""

from seqattn_tf.targets.graph.base import GraphTarget
from seqattn_tf.targets.graph.loss import MaskedCrossEntropy

__all__ = ["GraphTarget", "MaskedCrossEntropy"]
