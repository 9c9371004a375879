"""Alignments: how scores become attention weights. One module per alignment, found by name."""

from seqattn_tf.attention.alignments.crf import CRFAlignment
from seqattn_tf.attention.alignments.entmax import EntmaxAlignment
from seqattn_tf.attention.alignments.hard import HardAlignment, Sampled
from seqattn_tf.attention.alignments.heads import HeadsAlignment
from seqattn_tf.attention.alignments.monotonic import MonotonicAlignment
from seqattn_tf.attention.alignments.segments import SegmentsAlignment
from seqattn_tf.attention.alignments.sigmoid import SigmoidAlignment
from seqattn_tf.attention.alignments.softmax import SoftmaxAlignment
from seqattn_tf.attention.alignments.sparsemax import SparsemaxAlignment

__all__ = [
    "CRFAlignment",
    "EntmaxAlignment",
    "HardAlignment",
    "HeadsAlignment",
    "MonotonicAlignment",
    "Sampled",
    "SegmentsAlignment",
    "SigmoidAlignment",
    "SoftmaxAlignment",
    "SparsemaxAlignment",
]
