"""The settings of the encoder-decoder: each is built, differentiated, saved, loaded and used."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.slow import slow
from support.systems import seq2seq

from seqattn_tf.decoders import DecoderOptions
from seqattn_tf.lite.fields import Lines
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import EncoderDecoder, Seq2Seq, load

MARK = 9
SIZES = {"vocabulary": 10, "target_vocabulary": 8, "units": 6, "embedding": 4}
CHOICES = {
    "forward": {"encoder": "forward", "cell": "lstm"},
    "deep": {"depth": 2, "dropout": 0.1},
    "luong": {"decoder": "luong", "score": "general"},
    "gated crf": {"gate": True, "align": "crf"},
    "sampling": {"scheduled_sampling": 0.5},
    "input": {"conditioning": "input"},
    "state": {"conditioning": "state"},
    "hierarchical": {"encoder": "hierarchical", "mark": MARK, "max_lines": 3},
}
SOURCE = np.array([[3, 4, MARK, 5, 6, 0], [7, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]], "int32")
SHIFTED = np.array([[1, 3, 4], [1, 5, 0], [1, 0, 0]], "int32")


def tensors(source, shifted=SHIFTED):
    return {"text_ids": tf.constant(source), "shifted": tf.constant(shifted)}


def arguments(config):
    """Return a configuration without the shapes with which layers were built."""
    if isinstance(config, dict):
        return {name: arguments(value) for name, value in config.items() if name != "build_config"}
    return config


QUICK = ("luong", "gated crf", "hierarchical")


@pytest.mark.parametrize("choice", [name if name in QUICK else slow(name) for name in CHOICES])
def test_every_choice_has_gradients_saves_reloads_and_answers(choice, tmp_path):
    keras.utils.set_random_seed(0)
    network = EncoderDecoder.of_symbols(**SIZES, **CHOICES[choice])
    network.build()
    with tf.GradientTape() as tape:
        logits = network(tensors(SOURCE), training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(SHIFTED, logits))
    gradients = tape.gradient(loss, network.trainable_weights)
    assert all(np.isfinite(tf.convert_to_tensor(gradient)).all() for gradient in gradients if gradient is not None)
    unused = [w.path for w, g in zip(network.trainable_weights, gradients, strict=True) if g is None]
    assert not unused, unused
    lines = Lines(SymbolRules((*"abcdef", "\n")))
    target = Symbols(SymbolRules(tuple("ABCDE")), 5)
    model = Seq2Seq(network, {"text": lines}, target, beam_width=3, alternatives=1)
    model.save(tmp_path)
    loaded = load(tmp_path)
    assert arguments(loaded.network.get_config()) == arguments(network.get_config())
    texts = ["ab\ncd", "e", "a\nb\nc\nd\nb", ""]
    answers, again = model.answer(texts), loaded.answer(texts)
    for text, answer, other in zip(texts, answers, again, strict=True):
        assert answer.text == other.text
        assert len(answer.alternatives) == (text != "")
        if choice in ("input", "state"):
            assert not answer.attention
            continue
        look = answer.attention["text"]
        assert look.keys == tuple(text)
        assert look.weights.shape == (len(answer.tokens), len(text))
        if choice != "gated crf" and text in ("e", "ab\ncd"):
            np.testing.assert_allclose(look.weights.sum(-1), 1, atol=1e-5)
    if choice == "hierarchical":  # only the last three of five lines are read, and no marks
        assert (answers[2].attention["text"].weights[:, [0, 1, 2, 3, 5, 7]] == 0).all()
    assert answers[3].text == ""


def test_the_context_makes_the_difference():
    """Without attention, the source determines the initial state only; with `input`, it also affects every step."""
    inputs = tensors(SOURCE[:2], SHIFTED[:2])
    for context in ("state", "input"):
        network = EncoderDecoder.of_symbols(**SIZES, conditioning=context)
        before = network(inputs).numpy()
        for weight in (*network.decoder.first_kernels, *network.decoder.first_biases):
            weight.assign(tf.zeros_like(weight))  # now the initial state is the same for every source
        after = network(inputs).numpy()
        assert not np.allclose(before, after)
        same = np.allclose(after[0, 0], after[1, 0], atol=1e-6)
        assert same == (context == "state")


def test_answers_may_be_as_long_as_the_target_allows_or_as_the_source_does():
    letters = SymbolRules(tuple("ab"))
    network = EncoderDecoder.of_symbols(letters.size, letters.size, units=4)
    model = seq2seq(network, letters, letters, max_target_length=30)
    assert [model.max_answer_length(read) for read in (1, 5)] == [10, 18]
    assert model.with_settings(max_length_ratio=0).max_answer_length(tf.constant([1, 5])).numpy().tolist() == [30, 30]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"encoder": "sideways"}, "encoder: expected one of"),
        ({"conditioning": "nothing"}, "conditioning: expected one of"),
        ({"encoder": "hierarchical", "mark": 0}, "mark: expected a positive integer"),
        ({"depth": 0}, "depth: expected a positive integer"),
        ({"bridge": "second"}, r"bridge: expected one of \('all', 'first'\)\. Received: 'second'"),
        ({"align": "heads"}, "align: expected an alignment from a query to positions"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        EncoderDecoder.of_symbols(**{**SIZES, **arguments})


def test_how_symbols_begin_and_how_much_of_them_is_dropped_is_the_same_on_both_sides():
    sizes = {**SIZES, "embedding": 400, "dropout": 0.5}
    for stddev, expected in ((0.0, None), (1.0, 1.0), (0.1, 0.1)):
        network = EncoderDecoder.of_symbols(**sizes, embedding_stddev=stddev, embedding_dropout=0.25)
        network.build()
        for part in (network.encoder, network.decoder):
            begun, rows = part.embedding.embeddings.numpy(), part.embedding.input_dim
            assert begun.std() == pytest.approx(expected or (2 / (400 + rows)) ** 0.5, rel=0.1)
            assert (part.drop.rate, part.drop_symbols.rate) == (0.5, 0.25)


def test_what_is_set_of_symbols_layers_and_first_states_survives():
    chosen = {"embedding_stddev": 0.5, "embedding_dropout": 0.25, "residual": False, "bridge": "first"}
    network = EncoderDecoder.of_symbols(**SIZES, **chosen)
    again = EncoderDecoder.from_config(network.get_config())
    assert again.get_config() == network.get_config()
    assert (again.encoder.residual, again.decoder.bridge) == (False, "first")
    for part in (again.encoder, again.decoder):
        assert (part.embedding_dropout, part.embedding.embeddings_initializer.stddev) == (0.25, 0.5)


def test_every_option_of_the_decoder_reaches_it():
    """Catches an option that is declared and not passed on; conditioning is tried above."""
    chosen = {
        "decoder": "luong",
        "bridge": "first",
        "score": "dot",
        "align": "sigmoid",
        "gate": True,
        "scheduled_sampling": 0.25,
    }
    assert {*chosen, "conditioning"} == {option.name for option in dataclasses.fields(DecoderOptions)}
    decoder = EncoderDecoder.of_symbols(**SIZES, **chosen).decoder
    score, align, gate = decoder.attention.score, decoder.attention.align, decoder.attention.gate is not None
    assert (decoder.name_in_registry, decoder.bridge, decoder.scheduled_sampling, gate) == (
        "luong",
        "first",
        0.25,
        True,
    )
    assert (score.name_in_registry, align.name_in_registry) == ("dot", "sigmoid")


@pytest.mark.parametrize("residual", [True, False])
def test_the_layers_of_an_encoder_are_added_where_that_is_asked(residual):
    network = EncoderDecoder.of_symbols(**{**SIZES, "depth": 2}, residual=residual)
    network.build()
    stack = network.encoder.network
    for weight in stack.layers[1].weights:
        weight.assign(tf.zeros_like(weight))  # now the second layer has no output
    values = network.encoder(tensors(SOURCE[:2], SHIFTED[:2])).values.numpy()
    assert values.any() == residual
