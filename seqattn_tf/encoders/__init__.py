"""Encoders: layers that read an input of a model, found by name."""

from seqattn_tf.encoders.base import Encoder, EncoderOutput
from seqattn_tf.encoders.clip import ClipEncoder
from seqattn_tf.encoders.document import DocumentEncoder
from seqattn_tf.encoders.facts import FactsEncoder
from seqattn_tf.encoders.frames import PyramidEncoder
from seqattn_tf.encoders.grid import GridEncoder
from seqattn_tf.encoders.heads import HeadsEncoder
from seqattn_tf.encoders.lines import LineEncoder
from seqattn_tf.encoders.parents import ParentsEncoder
from seqattn_tf.encoders.rows import RowEncoder
from seqattn_tf.encoders.summary import CONTEXTS, SummaryEncoder
from seqattn_tf.encoders.symbols import BidirectionalEncoder, ForwardEncoder, SymbolEncoder
from seqattn_tf.encoders.tree import TreeEncoder
from seqattn_tf.encoders.words import WordEncoder

__all__ = [
    "CONTEXTS",
    "BidirectionalEncoder",
    "ClipEncoder",
    "DocumentEncoder",
    "Encoder",
    "EncoderOutput",
    "FactsEncoder",
    "ForwardEncoder",
    "GridEncoder",
    "HeadsEncoder",
    "LineEncoder",
    "ParentsEncoder",
    "PyramidEncoder",
    "RowEncoder",
    "SummaryEncoder",
    "SymbolEncoder",
    "TreeEncoder",
    "WordEncoder",
]
