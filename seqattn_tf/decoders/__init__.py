"""Decoders: a cell, an attention and an output head, run by teacher forcing over time or one step at a time."""

from seqattn_tf.decoders.bahdanau import AttentionDecoder
from seqattn_tf.decoders.base import Decoder, DecoderMemory, DecoderState
from seqattn_tf.decoders.luong import LuongDecoder
from seqattn_tf.decoders.options import DecoderOptions
from seqattn_tf.decoders.pointer import PointerDecoder
from seqattn_tf.decoders.stacked import StackedDecoder
from seqattn_tf.decoders.symbols import Stepper, SymbolDecoder

__all__ = [
    "AttentionDecoder",
    "Decoder",
    "DecoderMemory",
    "DecoderOptions",
    "DecoderState",
    "LuongDecoder",
    "PointerDecoder",
    "StackedDecoder",
    "Stepper",
    "SymbolDecoder",
]
