"""What comes out of a model: in plain Python here, inside a graph in `targets.graph`."""

from seqattn_tf.targets.base import Target
from seqattn_tf.targets.chain_tags import ChainTags
from seqattn_tf.targets.heads import Heads
from seqattn_tf.targets.label import Label
from seqattn_tf.targets.number import Number
from seqattn_tf.targets.symbols import Symbols
from seqattn_tf.targets.tags import Tags
from seqattn_tf.targets.tree import Tree

__all__ = ["ChainTags", "Heads", "Label", "Number", "Symbols", "Tags", "Target", "Tree"]
