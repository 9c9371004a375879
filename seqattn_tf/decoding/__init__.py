"""Decoders: they see a step function, never a model."""

from seqattn_tf.decoding.greedy import greedy
from seqattn_tf.decoding.loop import Decoded

__all__ = ["Decoded", "greedy"]
