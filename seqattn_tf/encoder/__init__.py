"""Encoders: what reads an input of a model, found by name."""

from seqattn_tf.encoder.base import Encoder, Read
from seqattn_tf.encoder.clip import ClipEncoder
from seqattn_tf.encoder.document import DocumentEncoder
from seqattn_tf.encoder.facts import FactsEncoder
from seqattn_tf.encoder.frames import PyramidEncoder
from seqattn_tf.encoder.grid import GridEncoder
from seqattn_tf.encoder.heads import HeadsEncoder
from seqattn_tf.encoder.lines import LineEncoder
from seqattn_tf.encoder.parents import ParentsEncoder
from seqattn_tf.encoder.rows import RowEncoder
from seqattn_tf.encoder.summary import CONTEXTS, SummaryEncoder
from seqattn_tf.encoder.symbols import BidirectionalEncoder, ForwardEncoder, SymbolEncoder
from seqattn_tf.encoder.tree import TreeEncoder
from seqattn_tf.encoder.words import WordEncoder

__all__ = [
    "CONTEXTS",
    "BidirectionalEncoder",
    "ClipEncoder",
    "DocumentEncoder",
    "Encoder",
    "FactsEncoder",
    "ForwardEncoder",
    "GridEncoder",
    "HeadsEncoder",
    "LineEncoder",
    "ParentsEncoder",
    "PyramidEncoder",
    "Read",
    "RowEncoder",
    "SummaryEncoder",
    "SymbolEncoder",
    "TreeEncoder",
    "WordEncoder",
]
