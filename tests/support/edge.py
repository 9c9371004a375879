"""A small model of every family that can be exported to LiteRT, with unambiguous choices."""

import keras

from seqattn_tf.export.comparison import difference
from seqattn_tf.export.describe import describe
from seqattn_tf.export.forms.lite import Lite
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import EncoderDecoder, LanguageNetwork, MemoryCellNetwork, PointerNetwork
from support import systems
from support.step_by_step import answering_eagerly

LETTERS, SOUNDS = SymbolRules(tuple("abc")), SymbolRules(("A", "B"), tokenizer="spaces")
TEXTS = ["", "a", "ab", "cab", "c?a", "abcabcabcabcabcabcabcab"]


def clear(network):
    """Set large weights, so that rounding does not change a choice."""
    network.build()
    for weight in network.weights:
        weight.assign(3 * weight.numpy())
    return network


def pairs(**settings):
    network = EncoderDecoder.of_symbols(LETTERS.size, SOUNDS.size, units=6, embedding=4, **settings)
    return systems.seq2seq(clear(network), LETTERS, SOUNDS, max_target_length=5, beam_width=4, alternatives=3)


def text_classifier(outputs, *labels):
    return systems.text_classifier(clear(systems.text_network(LETTERS.size, outputs)), LETTERS, *labels)


def language(**settings):
    return systems.language_model(
        clear(LanguageNetwork(LETTERS.size, units=6)), LETTERS, max_target_length=5, **settings
    )


def teller(kind, **settings):
    return systems.teller(clear(kind(LETTERS.size, units=6, embedding=4, **settings)), LETTERS)


FAMILIES = {
    "a pointer": lambda: teller(PointerNetwork),
    "a memory": lambda: teller(MemoryCellNetwork, memory_slots=5, memory_width=3),
    "a chain": lambda: pairs(align="crf"),
    "turns": lambda: pairs(encoder="hierarchical", mark=LETTERS.ids["c"], decoder="luong"),
    "labels": lambda: text_classifier(2, ("no", "yes")),
    "numbers": lambda: text_classifier(1),
    "sampling": language,
    "greedy": lambda: language(temperature=0.0),
    "beam": lambda: language(beam_width=3),
}


def small(family):
    keras.utils.set_random_seed(3)
    return FAMILIES[family]()


def on_the_edge(model, folder, rows):
    """Return the answers of a model's LiteRT file."""
    folder.mkdir(parents=True, exist_ok=True)
    Lite().write(model, folder, describe(model, {}))
    return LiteModel(folder).answer(rows)


def assert_same_on_the_edge(model, folder, rows, tolerance=1e-4):
    """Check that a LiteRT file gives the same answers as its model."""
    with answering_eagerly():
        answers = model.answer(rows)
    for here, edge in zip(answers, on_the_edge(model, folder, rows), strict=True):
        assert difference(here, edge, tolerance) == ""
