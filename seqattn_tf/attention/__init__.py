"""Attention as three questions: how well does each place match, how are the matches aligned, what is read.

A new score or alignment is one small class in one file, found by name.
"""

from seqattn_tf.attention.additive import AdditiveScore
from seqattn_tf.attention.base import Alignment, Attention, Memory, Score
from seqattn_tf.attention.softmax import SoftmaxAlignment

__all__ = ["AdditiveScore", "Alignment", "Attention", "Memory", "Score", "SoftmaxAlignment"]
