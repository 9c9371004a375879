"""Whole models from rules and networks, in one line each."""

from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.targets import Label, Number, Symbols
from seqattn_tf.models import EncoderDecoder, LanguageModel, Reader, Seq2Seq, Teller


def seq2seq(network, source, target, max_source=64, max_target=64, **settings):
    """Text to text."""
    return Seq2Seq(network, {"text": Text(source, max_source)}, Symbols(target, max_target), **settings)


def small_seq2seq(source, target, max_target=64, settings=None, **network):
    """Text to text with a network of symbols."""
    made = EncoderDecoder.of_symbols(source.size, target.size, **{"units": 8, **network})
    return seq2seq(made, source, target, max_target=max_target, **(settings or {}))


def reader(network, source, labels=(), max_source=400):
    """Text to a label, or to a number."""
    return Reader(network, {"text": Text(source, max_source)}, Label(labels) if labels else Number())


def language_model(network, rules, max_source=400, max_target=200, **settings):
    """Text that goes on."""
    return LanguageModel(network, {"text": Text(rules, max_source)}, Symbols(rules, max_target), **settings)


def teller(network, rules, limit=24):
    """Text to symbols of it."""
    return Teller(network, {"text": Text(rules, limit)}, Symbols(rules, limit))
