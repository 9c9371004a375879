"""What the verification of an export sees."""

import keras
import numpy as np
import pytest

from seqattn_tf.export import verify
from seqattn_tf.export.signatures import forms
from seqattn_tf.models import EncoderDecoder, Seq2Seq
from seqattn_tf.text import SymbolRules

LETTERS = SymbolRules(tuple("abc"))
TEXTS = ["abc", "b", "ca"]


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    network = EncoderDecoder(LETTERS.size, LETTERS.size, units=4, embedding=4)
    return Seq2Seq(network, LETTERS, LETTERS, max_target=4, beam=2, alternatives=1)


@pytest.fixture(scope="module")
def said(model):
    """What an export that is right says, by signature."""
    questions = verify.questions_about(model, TEXTS)
    return {name: verify._run(form, questions[name]) for name, form in forms(model).items()}


@pytest.fixture
def compared(model, said, monkeypatch):
    """What is found of an export that says something else under one name."""

    def compare(signature, alias, change):
        other = {name: dict(outputs) for name, outputs in said.items()}
        other[signature][alias] = change(other[signature][alias])
        monkeypatch.setattr(verify, "ask_signatures", lambda folder, questions: other)
        agreeing, fault = verify.compare_saved_model(model, None, TEXTS)
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
        ("serving_default", "attention", changed_at(1, 0.5)),
        ("serving_default", "alternatives", changed_at(1, b"?")),
        ("serving_default", "alternative_scores", changed_at(1, 7.0)),
        ("serving_default", "tokens_in", changed_at(1, b"z")),
        ("tensors", "tokens", changed_at(1, 9)),
        ("tensors", "attention", changed_at(1, 0.5)),
        ("log_likelihood", "log_likelihood", changed_at(1, -1e-3)),
    ],
)
def test_any_output_of_any_signature_that_differs_is_seen(compared, signature, alias, change):
    agreeing, fault = compared(signature, alias, change)
    assert agreeing == [True, False, True]
    assert fault == f"{signature} gives another {alias} for 'b'"


@pytest.mark.parametrize(
    "change", [lambda a: a.astype(np.float64), lambda a: a[:, :1], lambda a: a[..., None], lambda a: np.float32(a[:1])]
)
def test_another_shape_or_dtype_is_another_answer(compared, change):
    assert compared("serving_default", "attention", change)[0] == [False] * 3


def test_an_export_that_differs_is_refused_with_the_place(compared):
    fault = compared("serving_default", "attention", changed_at(2, 0.5))[1]
    with pytest.raises(ValueError, match=r"expected the Keras model's 3 answers\. Received: 2 of them; .*attention"):
        verify.Agreement(3, 2, 3, fault).check()
