"""Inputs of a model inside a TensorFlow graph: the twins of the fields in `lite.fields`, by the same names."""

from seqattn_tf.inputs.base import GraphField, Reading, graph_field
from seqattn_tf.inputs.clip import GraphClip
from seqattn_tf.inputs.image import GraphImage
from seqattn_tf.inputs.lines import GraphLines
from seqattn_tf.inputs.map import GraphMap
from seqattn_tf.inputs.parsed import GraphParsedWords
from seqattn_tf.inputs.sound import GraphSound
from seqattn_tf.inputs.text import GraphText
from seqattn_tf.inputs.tree import GraphTreeText
from seqattn_tf.inputs.words import GraphWords

__all__ = [
    "GraphClip",
    "GraphField",
    "GraphImage",
    "GraphLines",
    "GraphMap",
    "GraphParsedWords",
    "GraphSound",
    "GraphText",
    "GraphTreeText",
    "GraphWords",
    "Reading",
    "graph_field",
]
