"""The input fields of models in plain Python, one raw input each; `inputs` contains the same fields inside a graph."""

from seqattn_tf.lite.fields.base import Field
from seqattn_tf.lite.fields.clip import Clip
from seqattn_tf.lite.fields.feature_map import Map
from seqattn_tf.lite.fields.image import Image
from seqattn_tf.lite.fields.lines import Lines
from seqattn_tf.lite.fields.parsed import ParsedWords
from seqattn_tf.lite.fields.sound import Sound
from seqattn_tf.lite.fields.text import Text
from seqattn_tf.lite.fields.tree import TreeText
from seqattn_tf.lite.fields.words import Words

__all__ = ["Clip", "Field", "Image", "Lines", "Map", "ParsedWords", "Sound", "Text", "TreeText", "Words"]
