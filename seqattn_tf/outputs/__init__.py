"""Targets inside a TensorFlow graph, the counterparts of those in `lite.targets`, and their losses."""

from seqattn_tf.outputs.base import GraphTarget, graph_target
from seqattn_tf.outputs.chain_tags import GraphChainTags
from seqattn_tf.outputs.heads import GraphHeads
from seqattn_tf.outputs.label import GraphLabel
from seqattn_tf.outputs.loss import MaskedCrossEntropy
from seqattn_tf.outputs.number import GraphNumber
from seqattn_tf.outputs.symbols import GraphSymbols
from seqattn_tf.outputs.tags import GraphTags
from seqattn_tf.outputs.tree import GraphTree

__all__ = [
    "GraphChainTags",
    "GraphHeads",
    "GraphLabel",
    "GraphNumber",
    "GraphSymbols",
    "GraphTags",
    "GraphTarget",
    "GraphTree",
    "MaskedCrossEntropy",
    "graph_target",
]
