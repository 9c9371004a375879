"""The common behavior of export forms, tested with a form that has given answers."""

from types import SimpleNamespace

import numpy as np
import pytest

from seqattn_tf.export.forms.base import Form
from seqattn_tf.lite.answer import Answer

ROWS = [{"text": "a"}, {"text": "b"}, {"text": "c"}]


class Echo(Form):
    """A form whose answers are given."""

    title, min_agreement = "Echo", 0.5

    def __init__(self, said):
        self.said = said

    def open(self, folder):
        return lambda rows: self.said


def model_saying(*texts):
    return SimpleNamespace(answer=lambda rows: [Answer(text, -1.0) for text in texts])


def test_answers_are_compared_row_by_row_and_the_first_difference_is_told():
    form = Echo([Answer("a", -1.0), Answer("x", -1.0), Answer("c", -9.0)])
    agreeing, fault = form.compare(model_saying("a", "b", "c"), None, ROWS)
    assert agreeing.tolist() == [True, False, False]
    assert fault == "a different text for {'text': 'b'}"


def test_numbers_may_differ_by_the_tolerance():
    for score, same in ((-1.00005, True), (-1.01, False)):
        agreeing, fault = Echo([Answer("a", score)]).compare(model_saying("a"), None, ROWS[:1])
        assert (agreeing.tolist(), fault == "") == ([same], same)


def test_as_many_answers_as_rows_are_expected():
    with pytest.raises(ValueError, match="zip"):
        Echo([Answer("a", -1.0)]).compare(model_saying("a", "b", "c"), None, ROWS)


def test_a_form_that_agrees_too_rarely_is_refused():
    Echo([]).require_agreement(np.array([True] * 199 + [False]), "")
    with pytest.raises(
        ValueError, match=r"^Echo: expected agreement .* on 200 rows.*\. Received: agreement on 197; why$"
    ):
        Echo([]).require_agreement(np.array([True] * 197 + [False] * 3), "why")


def test_a_form_says_how_it_is_written_and_opened():
    with pytest.raises(NotImplementedError):
        Form().write(None, None, {})
    with pytest.raises(NotImplementedError):
        Form().open(None)
    assert Form().describe(None, {}) is None
