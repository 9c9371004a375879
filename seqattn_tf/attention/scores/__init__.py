"""Attention scores: how well a query matches each position. One module per score, found by name."""

from seqattn_tf.attention.scores.additive import AdditiveScore
from seqattn_tf.attention.scores.average import AverageScore
from seqattn_tf.attention.scores.cosine import CosineScore
from seqattn_tf.attention.scores.coverage import CoverageScore
from seqattn_tf.attention.scores.dot import DotScore
from seqattn_tf.attention.scores.general import GeneralScore
from seqattn_tf.attention.scores.location import LocationScore
from seqattn_tf.attention.scores.scaled_dot import ScaledDotScore
from seqattn_tf.attention.scores.scaled_general import ScaledGeneralScore

__all__ = [
    "AdditiveScore",
    "AverageScore",
    "CosineScore",
    "CoverageScore",
    "DotScore",
    "GeneralScore",
    "LocationScore",
    "ScaledDotScore",
    "ScaledGeneralScore",
]
