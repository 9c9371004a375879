"""Whole systems: preprocessor + network + answer + explanation."""

from seqattn_tf.answer import Answer
from seqattn_tf.models.base import Model, load
from seqattn_tf.models.language import LanguageModel
from seqattn_tf.models.language_network import LanguageNetwork
from seqattn_tf.models.network import EncoderDecoder
from seqattn_tf.models.reader import Reader, ReaderNetwork
from seqattn_tf.models.seq2seq import Seq2Seq

__all__ = [
    "Answer",
    "EncoderDecoder",
    "LanguageModel",
    "LanguageNetwork",
    "Model",
    "Reader",
    "ReaderNetwork",
    "Seq2Seq",
    "load",
]
