"""Attention as three questions: how well does each place match, how are the matches aligned, what is read.

A new score or alignment is one small class in one file, found by name.
"""

from seqattn_tf.attention.additive import AdditiveScore
from seqattn_tf.attention.average import AverageScore
from seqattn_tf.attention.base import Alignment, Attention, AttentionState, Memory, Score
from seqattn_tf.attention.cosine import CosineScore
from seqattn_tf.attention.coverage import CoverageScore
from seqattn_tf.attention.crf import CRFAlignment
from seqattn_tf.attention.dot import DotScore
from seqattn_tf.attention.entmax import EntmaxAlignment
from seqattn_tf.attention.general import GeneralScore
from seqattn_tf.attention.hard import HardAlignment, Sampled
from seqattn_tf.attention.heads import HeadsAlignment
from seqattn_tf.attention.hops import MemoryHops
from seqattn_tf.attention.location import LocationScore
from seqattn_tf.attention.losses import Reinforce, alignment_loss, doubly_stochastic
from seqattn_tf.attention.monotonic import MonotonicAlignment
from seqattn_tf.attention.pooling import AttentionPooling
from seqattn_tf.attention.scaled_dot import ScaledDotScore
from seqattn_tf.attention.segments import SegmentsAlignment
from seqattn_tf.attention.sigmoid import SigmoidAlignment
from seqattn_tf.attention.softmax import SoftmaxAlignment
from seqattn_tf.attention.sparsemax import SparsemaxAlignment

__all__ = [
    "AdditiveScore",
    "Alignment",
    "Attention",
    "AttentionPooling",
    "AttentionState",
    "AverageScore",
    "CRFAlignment",
    "CosineScore",
    "CoverageScore",
    "DotScore",
    "EntmaxAlignment",
    "GeneralScore",
    "HardAlignment",
    "HeadsAlignment",
    "LocationScore",
    "Memory",
    "MemoryHops",
    "MonotonicAlignment",
    "Reinforce",
    "Sampled",
    "ScaledDotScore",
    "Score",
    "SegmentsAlignment",
    "SigmoidAlignment",
    "SoftmaxAlignment",
    "SparsemaxAlignment",
    "alignment_loss",
    "doubly_stochastic",
]
