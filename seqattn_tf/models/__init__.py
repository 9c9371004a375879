"""Whole systems: preprocessor + network + answer + explanation."""

from seqattn_tf.lite.answer import Answer
from seqattn_tf.models.answerer import MemoryAnswerer, MemoryNetwork
from seqattn_tf.models.base import Model, load
from seqattn_tf.models.captioner import Captioner, CaptionNetwork
from seqattn_tf.models.classifier import Classifier, ClassifierNetwork
from seqattn_tf.models.ensemble import Ensemble, EnsembleNetwork
from seqattn_tf.models.entailment import Entailment, EntailmentNetwork
from seqattn_tf.models.image_answerer import ImageAnswerer, ImageAnswerNetwork
from seqattn_tf.models.label_ensemble import LabelEnsemble
from seqattn_tf.models.language import LanguageModel
from seqattn_tf.models.language_network import LanguageNetwork
from seqattn_tf.models.network import EncoderDecoder
from seqattn_tf.models.parser import Parser, ParserNetwork
from seqattn_tf.models.pointing import PointerNetwork
from seqattn_tf.models.reader import Reader, ReaderNetwork
from seqattn_tf.models.retelling import RetellNetwork
from seqattn_tf.models.seq2seq import Seq2Seq
from seqattn_tf.models.tagger import Tagger, TaggerNetwork
from seqattn_tf.models.teller import Teller

__all__ = [
    "Answer",
    "CaptionNetwork",
    "Captioner",
    "Classifier",
    "ClassifierNetwork",
    "EncoderDecoder",
    "Ensemble",
    "EnsembleNetwork",
    "Entailment",
    "EntailmentNetwork",
    "ImageAnswerNetwork",
    "ImageAnswerer",
    "LabelEnsemble",
    "LanguageModel",
    "LanguageNetwork",
    "MemoryAnswerer",
    "MemoryNetwork",
    "Model",
    "Parser",
    "ParserNetwork",
    "PointerNetwork",
    "Reader",
    "ReaderNetwork",
    "RetellNetwork",
    "Seq2Seq",
    "Tagger",
    "TaggerNetwork",
    "Teller",
    "load",
]
