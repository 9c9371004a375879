import re

import pytest
import tensorflow as tf
from support.systems import small_seq2seq

from seqattn_tf.lite.model_inputs import RowError
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models.base import Model, only_where

LETTERS = SymbolRules(tuple("abc"))


def test_other_settings_leave_the_rest_as_it_was():
    model = small_seq2seq(LETTERS, LETTERS, settings={"beam_width": 3, "length_penalty": 0.5}, units=4)
    other = model.with_settings(alternatives=2)
    assert other.settings == {**model.settings, "alternatives": 2}
    assert (other.beam_width, other.length_penalty) == (3, 0.5)
    assert other.network is model.network
    assert model.alternatives == 0


def test_an_axis_of_a_part_ends_with_its_last_name_gaps_included():
    names = tf.constant([["a", "", "c", ""], ["", "", "", ""], ["a", "b", "c", "d"]])
    part = tf.zeros([3, 4, 7])
    assert Model._size(None, "text", {}, {"text": names}, part, 1).numpy().tolist() == [3, 0, 4]
    assert Model._size(None, "tokens", {"tokens": names}, {}, part, 1).numpy().tolist() == [3, 0, 4]
    assert Model._size(None, "", {}, {}, part, 2).numpy().tolist() == [7, 7, 7]


def test_rows_with_nothing_to_read_have_nothing_found():
    found = {"tokens": tf.constant([[3], [4]]), "scores": tf.constant([[-1.0], [-2.0]])}
    held = only_where(tf.constant([True, False]), found)
    assert held["tokens"].numpy().tolist() == [[3], [0]]
    assert held["scores"].numpy().tolist() == [[-1.0], [-float("inf")]]


def test_rows_that_are_too_large_together_are_answered_in_parts():
    """For example a folder of photographs in `map` and `evaluate`, to which the limit of a request does not apply."""
    model = small_seq2seq(LETTERS, LETTERS, units=4)
    rows, sizes, answer = ["a", "b", "ab", "ba", "c"], [], model._answer

    def at_most_two(raw):
        sizes.append(len(raw["text"]))
        tf.debugging.Assert(len(raw["text"]) <= 2, ["text: expected texts of at most 2 rows in one batch"])
        return answer(raw)

    expected = [answer.text for answer in model.answer(rows)]
    model._answer = at_most_two
    assert [answer.text for answer in model.answer(rows)] == expected
    assert sizes == [5, 2, 3, 1, 2]
    with pytest.raises(RowError, match=r"^row 3 \('aaaa") as caught:  # not row 0 of the last part
        model.answer([*rows[:3], "a" * 10_000])
    assert caught.value.row == 3


def test_one_bad_row_costs_no_other_its_answer():
    """The exception of a batch must name the bad row, and `errors="return"` must return the other answers."""
    model = small_seq2seq(LETTERS, LETTERS, units=4)
    limit = model.inputs["text"].limit
    rows = ["ab", "a" * (limit + 1), "c"]
    reason = f"text: expected at most {limit} symbols. Received: {limit + 1}"
    with pytest.raises(RowError, match=re.escape(reason)) as caught:
        model.answer(rows)
    assert (caught.value.row, str(caught.value)[:12]) == (1, "row 1 ('aaaa")
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        model.answer(rows[1:2])
    first, wrong, last = model.answer(rows, errors="return")
    assert [first.text, last.text] == [answer.text for answer in model.answer(["ab", "c"])]
    assert (type(wrong), wrong.row, wrong.reason) == (RowError, 1, reason)
