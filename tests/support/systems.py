"""Complete models from rules and networks, in one line each."""

from seqattn_tf.encoders import ForwardEncoder
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.targets import Label, Number, Symbols
from seqattn_tf.models import Classifier, ClassifierNetwork, EncoderDecoder, LanguageModel, Rearranger, Seq2Seq


def seq2seq(network, source, target, max_source_length=64, max_target_length=64, **settings):
    """Return a text-to-text model."""
    return Seq2Seq(network, {"text": Text(source, max_source_length)}, Symbols(target, max_target_length), **settings)


def small_seq2seq(source, target, max_target_length=64, settings=None, **network):
    """Return a text-to-text model with a network of symbols."""
    made = EncoderDecoder.of_symbols(source.size, target.size, **{"units": 8, **network})
    return seq2seq(made, source, target, max_target_length=max_target_length, **(settings or {}))


def text_network(vocabulary, outputs=1, dropout=0.0, **encoder):
    """Return a network from symbols to the logits of labels or to a number, by a recurrent network's last state."""
    reads = ForwardEncoder(vocabulary, dropout=dropout, **{"units": 4, "embedding": 16, **encoder})
    return ClassifierNetwork(reads, outputs, dropout=dropout, dtype=reads.dtype_policy)


def text_classifier(network, source, labels=(), max_source_length=400):
    """Return a model from a text to a label or a number."""
    return Classifier(network, {"text": Text(source, max_source_length)}, Label(labels) if labels else Number())


def language_model(network, rules, max_source_length=400, max_target_length=200, **settings):
    """Return a language model."""
    return LanguageModel(
        network, {"text": Text(rules, max_source_length)}, Symbols(rules, max_target_length), **settings
    )


def teller(network, rules, limit=24):
    """Return a model from a text to some of its symbols."""
    return Rearranger(network, {"text": Text(rules, limit)}, Symbols(rules, limit))
