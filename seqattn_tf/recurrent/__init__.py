"""Cells over time, in one direction or both, on top of each other, inside each other, and over trees."""

from seqattn_tf.recurrent.base import Network, Reading
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
    "Reading",
    "Recurrent",
    "Stack",
    "TreeRecurrent",
    "balanced_tree",
    "watch_gates",
]
