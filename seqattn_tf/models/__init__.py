"""Whole systems: preprocessor + network + answer + explanation."""

from seqattn_tf.answer import Answer
from seqattn_tf.models.base import Model, load
from seqattn_tf.models.network import EncoderDecoder
from seqattn_tf.models.seq2seq import Seq2Seq

__all__ = ["Answer", "EncoderDecoder", "Model", "Seq2Seq", "load"]
