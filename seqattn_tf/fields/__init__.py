"""What goes into a model: one raw input each, in plain Python here and inside a graph in `fields.graph`."""

from seqattn_tf.fields.base import Field
from seqattn_tf.fields.clip import Clip
from seqattn_tf.fields.image import Image
from seqattn_tf.fields.lines import Lines
from seqattn_tf.fields.map import Map
from seqattn_tf.fields.parsed import ParsedWords
from seqattn_tf.fields.sound import Sound
from seqattn_tf.fields.text import Text
from seqattn_tf.fields.tree import TreeText
from seqattn_tf.fields.words import Words

__all__ = ["Clip", "Field", "Image", "Lines", "Map", "ParsedWords", "Sound", "Text", "TreeText", "Words"]
