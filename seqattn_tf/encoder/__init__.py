"""Encoders: what reads an input of a model, found by name."""

from seqattn_tf.encoder.base import Encoder, Read
from seqattn_tf.encoder.lines import LineEncoder
from seqattn_tf.encoder.summary import CONTEXTS, SummaryEncoder
from seqattn_tf.encoder.symbols import BidirectionalEncoder, ForwardEncoder, SymbolEncoder

__all__ = [
    "CONTEXTS",
    "BidirectionalEncoder",
    "Encoder",
    "ForwardEncoder",
    "LineEncoder",
    "Read",
    "SummaryEncoder",
    "SymbolEncoder",
]
