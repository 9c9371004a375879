"""The settings of the encoder-decoder: each is built, differentiated, saved, reloaded and asked."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.models import EncoderDecoder, Seq2Seq, load
from seqattn_tf.models.turns import fold, unfold
from seqattn_tf.text import SymbolRules

MARK = 9
SIZES = {"source_size": 10, "target_size": 8, "units": 6, "embedding": 4}
CHOICES = {
    "forward": {"encoder": "forward", "cell": "lstm"},
    "deep": {"depth": 2, "dropout": 0.1},
    "luong": {"decoder": "luong", "score": "general"},
    "gated crf": {"gate": True, "align": "crf"},
    "sampling": {"sampling": 0.5},
    "input": {"context": "input"},
    "state": {"context": "state"},
    "hierarchical": {"encoder": "hierarchical", "turn_mark": MARK, "turns": 3},
}
SOURCE = np.array([[3, 4, MARK, 5, 6, 0], [7, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]], "int32")
SHIFTED = np.array([[1, 3, 4], [1, 5, 0], [1, 0, 0]], "int32")


@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_has_gradients_saves_reloads_and_answers(choice, tmp_path):
    keras.utils.set_random_seed(0)
    network = EncoderDecoder(**SIZES, **CHOICES[choice])
    network.build()
    with tf.GradientTape() as tape:
        logits = network((tf.constant(SOURCE), tf.constant(SHIFTED)), training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(SHIFTED, logits))
    gradients = tape.gradient(loss, network.trainable_weights)
    assert all(np.isfinite(tf.convert_to_tensor(gradient)).all() for gradient in gradients if gradient is not None)
    unused = [w.path for w, g in zip(network.trainable_weights, gradients, strict=True) if g is None]
    assert not unused, unused
    letters = SymbolRules(tuple("abcdef\u00b6"))
    model = Seq2Seq(network, letters, SymbolRules(tuple("ABCDE")), beam=3, alternatives=1)
    model.save(tmp_path)
    loaded = load(tmp_path)
    assert loaded.network.settings == network.settings
    texts = ["ab\u00b6cd", "e", "a\u00b6\u00b6\u00b6\u00b6b", ""]
    answers, again = model.answer(texts), loaded.answer(texts)
    for text, answer, other in zip(texts, answers, again, strict=True):
        assert answer.text == other.text
        assert len(answer.alternatives) == (text != "")
        assert answer.attention.shape == (len(answer.tokens_out), len(text))
        if network.context != "attention":
            assert (answer.attention == 0).all()
        elif choice not in ("gated crf",) and text in ("e", "ab\u00b6cd"):
            np.testing.assert_allclose(answer.attention.sum(-1), 1, atol=1e-5)
    assert answers[3].text == ""


def test_the_context_makes_the_difference():
    """Without attention the source is seen in the first state alone; with `input`, at every step."""
    inputs = tf.constant(SOURCE[:2]), tf.constant(SHIFTED[:2])
    for context in ("state", "input"):
        network = EncoderDecoder(**SIZES, context=context)
        before = network(inputs).numpy()
        for weight in (*network.decoder.first_kernels, *network.decoder.first_biases):
            weight.assign(tf.zeros_like(weight))  # now the first state is the same for every source
        after = network(inputs).numpy()
        assert not np.allclose(before, after)
        same = np.allclose(after[0, 0], after[1, 0], atol=1e-6)
        assert same == (context == "state")


def test_turns_are_folded_and_weights_find_their_way_back():
    turns = fold(tf.constant(SOURCE), MARK, turns=2)
    assert turns.ids.numpy().tolist() == [[[3, 4], [5, 6]], [[0, 0], [7, 0]], [[0, 0], [0, 0]]]
    weights = tf.reshape(tf.range(12.0), [3, 1, 4])
    assert unfold(weights, turns.places).numpy()[0, 0].tolist() == [0, 1, 0, 2, 3, 0]
    assert unfold(weights, turns.places).numpy()[1, 0].tolist() == [6, 0, 0, 0, 0, 0]
    cut = fold(tf.constant(SOURCE), MARK, turns=1, symbols=1)  # the last turn, its first symbol
    assert cut.ids.numpy().tolist() == [[[5]], [[7]], [[0]]]
    assert fold(tf.zeros([0, 4], tf.int32), MARK, turns=2).ids.shape == (0, 2, 1)
    assert fold(tf.zeros([2, 0], tf.int32), MARK, turns=2).ids.shape == (2, 2, 1)


def test_a_hierarchical_encoder_reads_turn_by_turn():
    """What stands in one turn does not change how the words of an earlier one are read by the inner network."""
    network = EncoderDecoder(**SIZES, **CHOICES["hierarchical"])
    network.build()
    one, other = (network._read(tf.constant([[3, 4, MARK, *end]]), False)[0] for end in ([5, 6], [7, 8]))
    np.testing.assert_allclose(one[0, 2:4, :12], other[0, 2:4, :12], atol=1e-6)
    assert not np.allclose(one[0, 4:6, :12], other[0, 4:6, :12])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"encoder": "sideways"}, "encoder: expected one of"),
        ({"context": "nothing"}, "context: expected one of"),
        ({"encoder": "hierarchical"}, "turn_mark: expected the id between two turns"),
        ({"depth": 0}, "depth: expected a positive integer"),
    ],
)
def test_bad_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        EncoderDecoder(**{**SIZES, **arguments})
