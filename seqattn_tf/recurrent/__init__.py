"""Recurrent layers: cells over time in one or both directions, stacked, nested, and over trees."""

from seqattn_tf.recurrent.base import Network, RecurrentOutput
from seqattn_tf.recurrent.bidirectional import Bidirectional
from seqattn_tf.recurrent.compositions import Composition
from seqattn_tf.recurrent.hierarchical import HierarchicalEncoder, Hierarchy
from seqattn_tf.recurrent.recurrent import Recurrent
from seqattn_tf.recurrent.stack import Stack
from seqattn_tf.recurrent.tree import TreeRecurrent, balanced_tree
from seqattn_tf.recurrent.watch import watch_gates

__all__ = [
    "Bidirectional",
    "Composition",
    "HierarchicalEncoder",
    "Hierarchy",
    "Network",
    "Recurrent",
    "RecurrentOutput",
    "Stack",
    "TreeRecurrent",
    "balanced_tree",
    "watch_gates",
]
