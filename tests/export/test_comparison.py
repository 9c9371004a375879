"""The differences that the verification of an export detects."""

import dataclasses

import keras
import numpy as np
import pytest
from support.systems import small_seq2seq

from seqattn_tf.export.comparison import difference
from seqattn_tf.export.forms import Lite, SavedModel, saved_model
from seqattn_tf.export.signatures import concrete
from seqattn_tf.lite.answer import Answer, AttentionMap
from seqattn_tf.lite.text import SymbolRules

LETTERS = SymbolRules(tuple("abc"))
ROWS = [{"text": text} for text in ("abc", "b", "ca")]


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    found = {"beam_width": 2, "alternatives": 1}
    return small_seq2seq(LETTERS, LETTERS, max_target_length=4, units=4, embedding=4, settings=found)


@pytest.fixture(scope="module")
def said(model):
    """The outputs of a correct export by signature."""
    questions = saved_model.questions_about(model, ROWS)
    return {name: saved_model._run(function, questions[name]) for name, function in concrete(model).items()}


@pytest.fixture
def compared(model, said, monkeypatch):
    """A function that compares the model with a SavedModel in which one output was changed."""

    def compare(signature, alias, change):
        other = {name: dict(outputs) for name, outputs in said.items()}
        other[signature][alias] = change(other[signature][alias])
        monkeypatch.setattr(saved_model, "ask_signatures", lambda folder, questions: [other])
        agreeing, fault = SavedModel().compare(model, None, ROWS)
        return agreeing.tolist(), fault

    return compare


def changed_at(row, value):
    def change(array):
        array = array.copy()
        array[row] = value
        return array

    return change


def test_the_same_is_the_same(compared):
    assert compared("serving_default", "score", lambda array: array + 1e-6) == ([True] * 3, "")


@pytest.mark.parametrize(
    ("signature", "alias", "change"),
    [
        ("serving_default", "text", changed_at(1, b"aaaa")),
        ("serving_default", "score", changed_at(1, -99.0)),
        ("serving_default", "score", changed_at(1, np.nan)),
        ("serving_default", "text_attention", changed_at(1, 0.5)),
        ("serving_default", "alternatives", changed_at(1, b"?")),
        ("serving_default", "alternative_scores", changed_at(1, 7.0)),
        ("serving_default", "text_keys", changed_at(1, b"z")),
        ("serving_default", "text_queries", changed_at(1, b"z")),
        ("tensors", "tokens", changed_at(1, 9)),
        ("tensors", "text_attention", changed_at(1, 0.5)),
        ("log_likelihood", "log_likelihood", changed_at(1, -1e-3)),
    ],
)
def test_any_output_of_any_signature_that_differs_is_seen(compared, signature, alias, change):
    agreeing, fault = compared(signature, alias, change)
    assert agreeing == [True, False, True]
    assert fault == f"{signature} returns a different {alias} for {{'text': 'b'}}"


def test_a_long_row_is_asked_apart_and_seen_in_its_place(model, monkeypatch):
    rows = [{"text": "abc" * 4}, {"text": "b"}, {"text": "ca"}]
    asked = []

    def told(folder, *questions):
        asked.extend(batch["serving_default"]["text"].tolist() for batch in questions)
        right = [
            {name: saved_model._run(function, batch[name]) for name, function in concrete(model).items()}
            for batch in questions
        ]
        right[1]["serving_default"]["score"] = right[1]["serving_default"]["score"] + 1
        return right

    monkeypatch.setattr(saved_model, "ask_signatures", told)
    agreeing, fault = SavedModel().compare(model, None, rows)
    assert asked == [[b"b", b"ca"], [b"abcabcabcabc"]]
    assert agreeing.tolist() == [False, True, True]
    assert fault == "serving_default returns a different score for {'text': 'abcabcabcabc'}"


@pytest.mark.parametrize(
    "change", [lambda a: a.astype(np.float64), lambda a: a[:, :1], lambda a: a[..., None], lambda a: np.float32(a[:1])]
)
def test_another_shape_or_dtype_is_another_answer(compared, change):
    assert compared("serving_default", "text_attention", change)[0] == [False] * 3


def test_an_export_that_differs_is_refused_with_the_place(compared):
    agreeing, fault = compared("serving_default", "text_attention", changed_at(2, 0.5))
    with pytest.raises(ValueError, match=r"on 3 rows, numbers within .* Received: agreement on 2; .*attention"):
        SavedModel().require_agreement(np.array(agreeing), fault)


LOOK = AttentionMap(np.float32([[0.25, 0.75]]), ("A",), ("a", "b"))
ANSWER = Answer("A", -1.0, (("B", -2.0), ("C", -2.0)), ("A",), {"text": LOOK}, {"heads": np.array([0, 1])})


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"text": "B"}, "text"),
        ({"score": -1.1}, "score"),
        ({"score": -np.inf}, "score"),
        ({"score": np.nan}, "score"),
        ({"alternatives": ()}, "alternatives"),
        ({"alternatives": (("B", -2.0),)}, "alternatives"),
        ({"alternatives": (("B", -2.0), ("D", -2.0))}, "alternatives"),
        ({"alternatives": (("B", -2.0), ("C", -2.1))}, "alternatives"),
        ({"tokens": ("B",)}, "tokens"),
        ({"attention": {}}, "attention map text"),
        ({"attention": {"text": LOOK, "more": LOOK}}, "attention map more"),
        ({"attention": {"text": dataclasses.replace(LOOK, weights=0 * LOOK.weights)}}, "attention map text"),
        ({"attention": {"text": dataclasses.replace(LOOK, weights=LOOK.weights[:, :1])}}, "attention map text"),
        ({"attention": {"text": dataclasses.replace(LOOK, keys=("a", "c"))}}, "attention map text"),
        ({"attention": {"text": dataclasses.replace(LOOK, queries=("B",))}}, "attention map text"),
        ({"extra": {}}, "extra output heads"),
        ({"extra": {"heads": np.array([1, 0])}}, "extra output heads"),
        ({"extra": {"heads": np.array([0])}}, "extra output heads"),
    ],
)
def test_answers_differ_by_anything_in_them(change, where):
    other = dataclasses.replace(ANSWER, **change)
    assert difference(ANSWER, other, 1e-3) == where
    assert difference(other, ANSWER, 1e-3) == where


def test_answers_are_the_same_within_the_tolerance_and_whatever_the_order_of_ties():
    near = dataclasses.replace(ANSWER, score=-1.0004, alternatives=(("C", -2.0), ("B", -2.0004)))
    assert difference(ANSWER, near, 1e-3) == ""
    nothing = Answer("", -np.inf)
    assert difference(nothing, nothing, 1e-3) == ""


def test_a_lite_file_that_says_anything_else_is_seen(model, monkeypatch):
    answers = model.answer(ROWS)
    answers[1] = dataclasses.replace(answers[1], score=-99.0)
    monkeypatch.setattr(Lite, "open", lambda form, folder: lambda rows: answers)
    agreeing, fault = Lite().compare(model, None, ROWS)
    assert agreeing.tolist() == [True, False, True]
    assert fault == "a different score for {'text': 'b'}"
