"""The inputs of models inside a TensorFlow graph: the counterparts of the fields in `lite.fields`, by the same name."""

from seqattn_tf.inputs.base import FieldTensors, GraphField, graph_field
from seqattn_tf.inputs.clip import GraphClip
from seqattn_tf.inputs.feature_map import GraphMap
from seqattn_tf.inputs.image import GraphImage
from seqattn_tf.inputs.lines import GraphLines
from seqattn_tf.inputs.parsed import GraphParsedWords
from seqattn_tf.inputs.sound import GraphSound
from seqattn_tf.inputs.text import GraphText
from seqattn_tf.inputs.tree import GraphTreeText
from seqattn_tf.inputs.words import GraphWords

__all__ = [
    "FieldTensors",
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
    "graph_field",
]
