"""Decoders: a cell, an attention and an output head, teacher-forced over time or one step at a time."""

from seqattn_tf.decoder.bahdanau import AttentionDecoder
from seqattn_tf.decoder.base import Decoder, DecoderMemory, DecoderState
from seqattn_tf.decoder.luong import LuongDecoder
from seqattn_tf.decoder.pointer import PointerDecoder
from seqattn_tf.decoder.stacked import StackedDecoder
from seqattn_tf.decoder.symbols import Stepper, SymbolDecoder

__all__ = [
    "AttentionDecoder",
    "Decoder",
    "DecoderMemory",
    "DecoderState",
    "LuongDecoder",
    "PointerDecoder",
    "StackedDecoder",
    "Stepper",
    "SymbolDecoder",
]
