"""Rearrangers: pointers and memories give the same results step by step, over time, saved and exported."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.edge import assert_same_on_the_edge

from seqattn_tf.export.comparison import difference
from seqattn_tf.export.package import export_model
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.lite.text.rules import BEGIN, END
from seqattn_tf.models import MemoryCellNetwork, PointerNetwork, Rearranger, load
from seqattn_tf.models.networks.guided import GuidedEncoderDecoder
from seqattn_tf.models.networks.pointing import places_of

RULES = SymbolRules(tuple("abcd"), tokenizer="spaces")
TEXTS = ["b a d", "a", "c c a c", "b ? a", "", "?"]
KINDS = {
    "pointer": lambda: PointerNetwork(RULES.size, units=6, embedding=4),
    "often": lambda: PointerNetwork(RULES.size, units=6, embedding=4, point_once=False, cell="gru", score="general"),
    "memory": lambda: MemoryCellNetwork(RULES.size, units=6, embedding=4, memory_slots=5, memory_width=3),
    "lstm": lambda: MemoryCellNetwork(RULES.size, units=6, embedding=4, cell="lstm"),
}


LIMIT = 8  # of inputs and outputs


def small(kind, limit=LIMIT):
    keras.utils.set_random_seed(5)
    network = KINDS[kind]()
    network.build()
    for weight in network.weights:
        weight.assign(3 * weight.numpy())  # large weights, so that rounding does not change a choice
    return Rearranger(network, {"text": Text(RULES, limit)}, Symbols(RULES, limit))


@pytest.fixture(scope="module", params=sorted(KINDS))
def teller(request):
    return small(request.param)


def test_the_score_is_the_likelihood_of_the_answer(teller):
    answers = teller.answer(TEXTS)
    found = teller.log_likelihood(tf.constant([a.text for a in answers]), text=tf.constant(TEXTS)).numpy()
    for answer, text, likelihood in zip(answers, TEXTS, found, strict=True):
        if len(answer.tokens) < min(
            np.count_nonzero(RULES.encode(text)) + 8, LIMIT
        ):  # an answer that was cut has no end
            assert answer.score == pytest.approx(likelihood, abs=1e-4)
    assert [answer.score for answer in answers[-2:]] == [-np.inf, -np.inf]
    assert [answer.text for answer in answers[-2:]] == ["", ""]


def test_likelihoods_of_all_answers_sum_to_one():
    """By enumeration, for a pointer that allows repeated symbols only as often as they occur."""
    model = small("pointer")
    said = ["", "a", "c", "a c", "c a", "c c", "a c c", "c a c", "c c a"]
    found = model.log_likelihood(tf.constant(said), text=tf.constant(["c a c"] * len(said))).numpy()
    assert np.exp(found.astype(float)).sum() == pytest.approx(1, abs=1e-5)
    never = ["b", "a a", "c c c", "z"]
    found = model.log_likelihood(tf.constant(never), text=tf.constant(["c a c"] * len(never))).numpy()
    assert found.tolist() == [-np.inf] * len(never)


def test_a_place_is_said_once_and_pointed_at():
    [answer] = small("pointer").answer(["c c a c"])
    look = answer.attention["text"]
    assert look.weights.shape == (len(answer.tokens), 4)
    for row, token in zip(look.weights, answer.tokens, strict=True):
        assert look.keys[row.argmax()] == token or sum(row[np.array(look.keys) == token]) >= row.max()
    assert len(answer.tokens) <= 4


def test_what_is_padded_changes_nothing(teller):
    alone, together = teller.answer(["b a d"])[0], teller.answer(["b a d", "c c a c c c"])[0]
    assert (alone.text, alone.score) == (together.text, pytest.approx(together.score, abs=1e-5))


def test_it_is_saved_and_read_again(teller, tmp_path):
    teller.save(tmp_path)
    again = load(tmp_path)
    assert type(again.network) is type(teller.network)
    assert again.network.settings == teller.network.settings
    for one, other in zip(teller.answer(TEXTS), again.answer(TEXTS), strict=True):
        assert (one.text, one.score) == (other.text, pytest.approx(other.score, abs=1e-5))


@pytest.mark.traced
def test_a_pointer_points_the_same_on_the_edge(tmp_path):
    assert_same_on_the_edge(small("pointer"), tmp_path, TEXTS)


@pytest.mark.slow
@pytest.mark.traced
@pytest.mark.parametrize("kind", ["pointer", "memory"])
def test_every_form_answers_alike(kind, tmp_path):
    model = small(kind)
    exported = export_model(model, tmp_path / "models/m", {})
    assert min(exported.agreeing.values()) == max(exported.agreeing.values()) > 50
    for here, edge in zip(model.answer(TEXTS), LiteModel(exported.lite).answer(TEXTS), strict=True):
        assert difference(here, edge, 1e-4) == ""


def test_faults_are_said():
    other = SymbolRules(tuple("abcde"), tokenizer="spaces")
    with pytest.raises(ValueError, match=r"inputs: expected one input named text\. Received: \['words'\]"):
        Rearranger(KINDS["lstm"](), {"words": Text(RULES)}, Symbols(RULES))
    with pytest.raises(ValueError, match=r"target: expected the symbols of the text .* Received: sizes \(7, 8, 7\)"):
        Rearranger(KINDS["lstm"](), {"text": Text(RULES)}, Symbols(other))
    with pytest.raises(ValueError, match="expected"):
        small("memory", limit=3).answer(["a b c d"])
    with pytest.raises(ValueError, match=r"attention_supervision: expected a number of at least 0\. Received: -1"):
        GuidedEncoderDecoder.of_symbols(9, 9, units=4, attention_supervision=-1)


def test_places_are_those_of_a_stable_sort():
    rng = np.random.default_rng(0)
    rows = rng.integers(3, 7, [20, 8])
    expected = np.argsort(rows, axis=1, kind="stable")
    said = np.take_along_axis(rows, expected, axis=1)
    found = places_of(tf.constant(said, tf.int32), tf.constant(rows, tf.int32)).numpy()
    assert found.tolist() == expected.tolist()


def test_the_heads_of_the_memory_are_those_of_its_gates():
    model = small("memory")
    heard, said, gates = model.heads("b ? a")
    [answer] = model.answer(["b ? a"])
    assert heard == ["b", "a"]  # unknown symbols are not read
    assert said == [*answer.tokens, "end"]
    assert gates["write"].shape == gates["read"].shape == (len(heard) + len(said), 5)
    np.testing.assert_allclose(gates["read"].sum(axis=1), 1, atol=1e-5)
    network, expected = model.network, []
    ids = [*RULES.encode("b a"), BEGIN, *(RULES.ids[token] for token in answer.tokens)]
    states = network.mind.cell.get_initial_state(1)
    for number in [one for one in ids if one]:
        step = network.embedding(tf.constant([number]))
        expected.append(network.mind.cell.gates(step, states)["write"][0].numpy())
        _, states = network.mind.cell(step, states)
    np.testing.assert_allclose(gates["write"], expected, atol=1e-5)
    assert END not in ids


@pytest.mark.parametrize(("kind", "panels"), [("memory", 2), ("lstm", 0)])
def test_its_heads_are_drawn_where_it_has_a_memory(kind, panels):
    assert len(small(kind).explain("b ? a").axes) >= panels


def test_only_training_is_told_where_to_look():
    network = GuidedEncoderDecoder.of_symbols(9, 9, units=6, embedding=4, attention_supervision=0.5)
    tensors = {"text_ids": tf.constant([[5, 7, 5, 0]]), "shifted": tf.constant([[1, 5, 5, 7, 2]])}
    places = network.true_places(tensors).numpy()[0]
    assert places.tolist() == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    network(tensors)
    assert not network.losses
    network(tensors, training=True)
    [lost] = network.losses
    weights = network.aligned(tensors, training=True)[1].numpy()[0]
    expected = -np.mean([np.log(weights[0, 0]), np.log(weights[1, 2]), np.log(weights[2, 1])])
    assert float(lost) == pytest.approx(0.5 * expected, rel=1e-5)
