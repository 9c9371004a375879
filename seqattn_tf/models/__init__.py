"""Complete models: preprocessing, network, answer and explanation."""

from seqattn_tf.lite.answer import Answer
from seqattn_tf.models.answerer import MemoryAnswerer
from seqattn_tf.models.base import Model, load, only_where
from seqattn_tf.models.captioner import Captioner
from seqattn_tf.models.classifier import Classifier
from seqattn_tf.models.ensemble import Ensemble
from seqattn_tf.models.entailment import Entailment
from seqattn_tf.models.image_answerer import ImageAnswerer
from seqattn_tf.models.label_ensemble import LabelEnsemble
from seqattn_tf.models.language import LanguageModel
from seqattn_tf.models.networks.caption import CaptionNetwork
from seqattn_tf.models.networks.classifier import ClassifierNetwork
from seqattn_tf.models.networks.encoder_decoder import EncoderDecoder
from seqattn_tf.models.networks.ensemble import EnsembleNetwork
from seqattn_tf.models.networks.entailment import EntailmentNetwork
from seqattn_tf.models.networks.image_answer import ImageAnswerNetwork
from seqattn_tf.models.networks.language import LanguageNetwork
from seqattn_tf.models.networks.memory import MemoryNetwork
from seqattn_tf.models.networks.memory_cell import MemoryCellNetwork
from seqattn_tf.models.networks.parser import ParserNetwork
from seqattn_tf.models.networks.pointing import PointerNetwork
from seqattn_tf.models.networks.tagger import TaggerNetwork
from seqattn_tf.models.parser import Parser
from seqattn_tf.models.rearranger import Rearranger
from seqattn_tf.models.seq2seq import Seq2Seq
from seqattn_tf.models.tagger import Tagger

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
    "MemoryCellNetwork",
    "MemoryNetwork",
    "Model",
    "Parser",
    "ParserNetwork",
    "PointerNetwork",
    "Rearranger",
    "Seq2Seq",
    "Tagger",
    "TaggerNetwork",
    "load",
    "only_where",
]
