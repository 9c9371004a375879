"""Decoding methods. They depend on a step function, not on a model."""

from seqattn_tf.decoding.beam import Beams, beam
from seqattn_tf.decoding.greedy import greedy
from seqattn_tf.decoding.loop import Decoded
from seqattn_tf.decoding.parts import in_parts
from seqattn_tf.decoding.rules import Rules
from seqattn_tf.decoding.sample import sample

__all__ = ["Beams", "Decoded", "Rules", "beam", "greedy", "in_parts", "sample"]
