"""Whole systems: preprocessor + network + answer + explanation."""

from seqattn_tf.answer import Answer
from seqattn_tf.models.base import Model, load
from seqattn_tf.models.classifier import Classifier, ClassifierNetwork
from seqattn_tf.models.language import LanguageModel
from seqattn_tf.models.language_network import LanguageNetwork
from seqattn_tf.models.network import EncoderDecoder
from seqattn_tf.models.parser import Parser, ParserNetwork
from seqattn_tf.models.reader import Reader, ReaderNetwork
from seqattn_tf.models.seq2seq import Seq2Seq
from seqattn_tf.models.tagger import Tagger, TaggerNetwork

__all__ = [
    "Answer",
    "Classifier",
    "ClassifierNetwork",
    "EncoderDecoder",
    "LanguageModel",
    "LanguageNetwork",
    "Model",
    "Parser",
    "ParserNetwork",
    "Reader",
    "ReaderNetwork",
    "Seq2Seq",
    "Tagger",
    "TaggerNetwork",
    "load",
]
