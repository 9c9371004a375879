"""The targets of models in plain Python; `outputs` contains the same targets inside a graph."""

from seqattn_tf.lite.targets.base import Target
from seqattn_tf.lite.targets.chain_tags import ChainTags
from seqattn_tf.lite.targets.heads import Heads
from seqattn_tf.lite.targets.label import Label
from seqattn_tf.lite.targets.number import Number
from seqattn_tf.lite.targets.symbols import Symbols
from seqattn_tf.lite.targets.tags import Tags
from seqattn_tf.lite.targets.tree import Tree

__all__ = ["ChainTags", "Heads", "Label", "Number", "Symbols", "Tags", "Target", "Tree"]
