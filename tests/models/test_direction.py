"""Answers that are generated from right to left: the same network in both directions, with the same interface."""

import json

import numpy as np
import pytest
import tensorflow as tf
from support.edge import assert_same_on_the_edge
from support.systems import language_model, teller
from support.varied import LETTERS, SOUNDS, TEXTS, varied

from seqattn_tf.export.package import export_model
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.lite.text.rules import END
from seqattn_tf.models import LanguageModel, LanguageNetwork, PointerNetwork, Rearranger, Seq2Seq, load
from seqattn_tf.outputs import graph_target
from seqattn_tf.training.data import Examples, from_text
from seqattn_tf.training.metrics import EXACT
from seqattn_tf.training.tasks import PairSettings, PairTask

BACKWARDS = "right_to_left"
WIDE = {"beam_width": 4, "alternatives": 3}


@pytest.fixture(scope="module")
def pair():
    """A network that generates from left to right, and the same network from right to left."""
    network = varied()
    inputs = {"text": Text(LETTERS)}
    return [
        Seq2Seq(network, inputs, Symbols(SOUNDS, 5, **direction), **WIDE)
        for direction in ({}, {"direction": BACKWARDS})
    ]


def reverse(text):
    return " ".join(reversed(text.split()))


@pytest.mark.parametrize("settings", [WIDE, {"beam_width": 1, "alternatives": 0}, {**WIDE, "length_penalty": 2.0}])
def test_what_is_said_from_its_end_is_read_from_its_beginning(pair, settings):
    answers = [model.with_settings(**settings).answer(TEXTS) for model in pair]
    assert len({len(answer.tokens) for answer in answers[0]}) > 2  # includes empty and padded answers
    for forwards, backwards in zip(*answers, strict=True):
        assert backwards.tokens == forwards.tokens[::-1]
        assert (backwards.text, backwards.score) == (reverse(forwards.text), forwards.score)
        assert backwards.alternatives == tuple((reverse(text), score) for text, score in forwards.alternatives)
        look = backwards.attention["text"]
        assert (look.queries, look.keys) == (backwards.tokens, forwards.attention["text"].keys)
        np.testing.assert_array_equal(look.weights, forwards.attention["text"].weights[::-1])


def test_an_answer_that_is_cut_has_lost_its_beginning():
    network = varied(8)
    network.decoder.output_bias.assign(tf.one_hot(END, SOUNDS.size, -99.0))  # the network never ends an answer
    shorter, longer = (
        Seq2Seq(network, {"text": Text(LETTERS)}, Symbols(SOUNDS, limit, BACKWARDS)).answer(["a"])[0]
        for limit in (3, 6)
    )
    assert (len(shorter.tokens), len(longer.tokens)) == (3, 6)
    assert shorter.tokens == longer.tokens[3:]
    assert len(set(longer.tokens)) > 2
    np.testing.assert_allclose(shorter.attention["text"].weights, longer.attention["text"].weights[3:], atol=1e-6)


def test_the_likelihood_is_of_the_answer_as_it_is_read(pair):
    forwards, backwards = pair
    answers = ["", "A", "A B", "B B A", "A A A A B", "A X B", "D C A"]
    asked = {"text": tf.constant(["cab"] * len(answers))}
    found = backwards.log_likelihood(tf.constant(answers), **asked).numpy()
    expected = forwards.log_likelihood(tf.constant([reverse(answer) for answer in answers]), **asked).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found[-2] == -np.inf
    ids, tensors = SOUNDS.encode("A B"), forwards.read({"text": tf.constant(["cab"])})[0]
    by_hand, before = 0.0, [1]
    for symbol in [*reversed(ids), END]:
        logits = backwards.network({**tensors, "shifted": tf.constant([before])})[0, -1]
        by_hand, before = by_hand + float(tf.nn.log_softmax(logits)[symbol]), [*before, symbol]
    np.testing.assert_allclose(found[2], by_hand, atol=1e-5)
    answered = backwards.answer(["cab", "ab"])
    scores = backwards.log_likelihood(tf.constant([one.text for one in answered]), text=tf.constant(["cab", "ab"]))
    np.testing.assert_allclose(scores, [one.score for one in answered], atol=1e-4)


def test_it_stays_when_saved_and_set_anew(pair, tmp_path):
    _, model = pair
    assert model.with_settings(beam_width=5).target.direction == BACKWARDS
    expected = [(answer.text, answer.alternatives) for answer in model.answer(TEXTS)]
    model.save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.target.direction == BACKWARDS
    assert [(answer.text, answer.alternatives) for answer in again.answer(TEXTS)] == expected
    saved = json.loads((tmp_path / "run/assets/target.json").read_text())
    assert saved["config"].pop("direction") == BACKWARDS
    (tmp_path / "run/assets/target.json").write_text(json.dumps(saved))
    assert load(tmp_path / "run").target.direction == "left_to_right"


def test_a_model_of_the_usual_direction_is_saved_as_before(pair):
    assert sorted(pair[0].target.get_config()) == ["limit", "rules"]


@pytest.mark.traced
def test_what_is_said_from_its_end_is_the_same_on_the_edge(tmp_path):
    target = Symbols(SOUNDS, 5, direction=BACKWARDS)
    model = Seq2Seq(varied(encoder="forward"), {"text": Text(LETTERS)}, target, beam_width=2, alternatives=1)
    assert_same_on_the_edge(model, tmp_path, TEXTS[:4], 1e-3)


@pytest.mark.slow
@pytest.mark.traced
def test_every_form_says_the_same(pair, tmp_path):
    """Before they are published, both exports are compared with the Keras model in texts, scores and attention."""
    done = export_model(pair[1], tmp_path / "models/m", {"examples": [{"text": text} for text in TEXTS]})
    assert done.agreeing["SavedModel"] == done.rows
    assert done.agreeing["LiteRT"] >= done.rows - 1


def test_what_is_learned_is_turned_round_in_each_answer():
    letters, texts = SymbolRules(tuple("abc")), ["abc", "", "b", "ac"]
    target = Symbols(letters, direction=BACKWARDS)
    graph = graph_target(target)
    rows = graph.column(texts).rows(tf.range(4))
    turned = [letters.encode(text)[::-1] for text in texts]
    assert rows["tokens"].numpy().tolist() == [[*ids, END, 0, 0, 0][:4] for ids in turned]
    assert [target.arrays(text)["tokens"].tolist() for text in texts] == turned
    assert graph.teacher_inputs(rows)["shifted"].numpy().tolist()[0] == [1, *turned[0]]


def test_the_setting_changes_the_direction_and_no_vocabulary():
    examples = Examples([from_text("ab", "ba"), from_text("b", "a")])
    for task in (PairTask(), PairTask([EXACT])):
        one, other = (
            task.build(PairSettings(units=4, **chosen), examples) for chosen in ({}, {"direction": BACKWARDS})
        )
        assert (one.target.direction, other.target.direction) == ("left_to_right", BACKWARDS)
        assert one.target.rules == other.target.rules
        assert one.target.limit == other.target.limit
    with pytest.raises(ValueError, match=r"direction: expected one of \['left_to_right', .*\]\. Received: 'up'"):
        PairTask().build(PairSettings(direction="up"), examples)


def test_what_goes_on_from_a_beginning_refuses_it():
    target, inputs = Symbols(LETTERS, direction=BACKWARDS), {"text": Text(LETTERS)}
    with pytest.raises(
        ValueError,
        match=r"target: expected the direction left_to_right for a pointer or memory network\. Received: right",
    ):
        Rearranger(PointerNetwork(LETTERS.size, units=4), inputs, target)
    with pytest.raises(ValueError, match="target: expected the direction left_to_right for a language model"):
        LanguageModel(LanguageNetwork(LETTERS.size, units=4), inputs, target)
    teller(PointerNetwork(LETTERS.size, units=4), LETTERS)
    language_model(LanguageNetwork(LETTERS.size, units=4), LETTERS)
