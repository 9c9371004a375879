"""Attention in three parts: a score, an alignment and the read.

The score measures how well each position matches the query, the alignment turns scores into weights, and the read
computes the context. A new score or alignment is one small class in one module, found by name.
"""

from seqattn_tf.attention.alignments import (
    CRFAlignment,
    EntmaxAlignment,
    HardAlignment,
    HeadsAlignment,
    MonotonicAlignment,
    Sampled,
    SegmentsAlignment,
    SigmoidAlignment,
    SoftmaxAlignment,
    SparsemaxAlignment,
)
from seqattn_tf.attention.base import Alignment, Attention, AttentionState, Memory, Score
from seqattn_tf.attention.hops import MemoryChain, MemoryHops
from seqattn_tf.attention.joint import JointAttention
from seqattn_tf.attention.losses import Reinforce, alignment_loss, doubly_stochastic
from seqattn_tf.attention.pooling import AttentionPooling, AveragePooling
from seqattn_tf.attention.scores import (
    AdditiveScore,
    AverageScore,
    CosineScore,
    CoverageScore,
    DotScore,
    GeneralScore,
    LocationScore,
    ScaledDotScore,
    ScaledGeneralScore,
)

__all__ = [
    "AdditiveScore",
    "Alignment",
    "Attention",
    "AttentionPooling",
    "AttentionState",
    "AveragePooling",
    "AverageScore",
    "CRFAlignment",
    "CosineScore",
    "CoverageScore",
    "DotScore",
    "EntmaxAlignment",
    "GeneralScore",
    "HardAlignment",
    "HeadsAlignment",
    "JointAttention",
    "LocationScore",
    "Memory",
    "MemoryChain",
    "MemoryHops",
    "MonotonicAlignment",
    "Reinforce",
    "Sampled",
    "ScaledDotScore",
    "ScaledGeneralScore",
    "Score",
    "SegmentsAlignment",
    "SigmoidAlignment",
    "SoftmaxAlignment",
    "SparsemaxAlignment",
    "alignment_loss",
    "doubly_stochastic",
]
