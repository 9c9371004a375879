import doctest
import pickle
import subprocess
import sys

import numpy as np
import pytest

from seqattn_tf.lite import model_inputs
from seqattn_tf.lite.model_inputs import RowError, answer_each, check_errors, columns, from_json

PAIR = ("premise", "hypothesis")


def test_the_examples_hold():
    assert doctest.testmod(model_inputs).failed == 0


@pytest.mark.parametrize(
    ("asked", "names", "given"),
    [
        (["a", "b"], ["text"], {"text": ["a", "b"]}),
        (("a",), ["text"], {"text": ["a"]}),
        ([{"text": "a"}], ["text"], {"text": ["a"]}),
        ([b"\x89PNG\0", b""], ["image"], {"image": [b"\x89PNG\0", b""]}),
        ([{"premise": "p", "hypothesis": "h"}], PAIR, {"premise": ["p"], "hypothesis": ["h"]}),
        ([{"hypothesis": "h", "premise": "p"}], PAIR, {"premise": ["p"], "hypothesis": ["h"]}),
        ([["one", "two"], []], ["story"], {"story": ["one\ntwo", ""]}),
        ([{"story": ("one", "two"), "q": "why\nnot"}], ["story", "q"], {"story": ["one\ntwo"], "q": ["why\nnot"]}),
        (np.array(["a", "b"]), ["text"], {"text": ["a", "b"]}),
        ([], PAIR, {"premise": [], "hypothesis": []}),
        (["a\ud800b"], ["text"], {"text": ["a?b"]}),
        ([["a", "\udfff"]], ["text"], {"text": ["a\n?"]}),
    ],
)
def test_rows_as_columns(asked, names, given):
    found = columns(asked, names)
    assert found == given
    assert [*found] == list(names)


@pytest.mark.parametrize(
    ("asked", "names", "message"),
    [
        ("abc", ["text"], "rows: expected a list of rows. Received: 'abc'"),
        (b"abc", ["text"], "rows: expected a list of rows. Received: b'abc'"),
        ({"text": "a"}, ["text"], "rows: expected a list of rows. Received: {'text': 'a'}"),
        (None, ["text"], "rows: expected a list of rows. Received: None"),
        (["p"], PAIR, "rows: expected mappings with premise, hypothesis. Received: 'p'"),
        (
            ["a", {"text": "b"}],
            ["text"],
            "rows: expected either mappings or bare values throughout. Received: ['a', {'text': 'b'}]",
        ),
        ([{"premise": "p"}], PAIR, "rows: expected premise, hypothesis in each. Received: no hypothesis in row 0"),
        ([{"text": "a"}, {}], ["text"], "rows: expected text in each. Received: no text in row 1"),
        ([{"text": "a", "x": "b", 3: ""}], ["text"], "rows: expected text in each. Received: x, 3 in row 0"),
        ([1], ["text"], "rows: expected a string, bytes or a list of strings for text. Received: 1 in row 0"),
        (
            [{"text": "a"}, {"text": None}],
            ["text"],
            "rows: expected a string, bytes or a list of strings for text. Received: None in row 1",
        ),
        ([[b"a"]], ["text"], "rows: expected a string, bytes or a list of strings for text. Received: [b'a'] in row 0"),
        ([["a\nb"]], ["text"], "rows: expected strings without line breaks for text. Received: ['a\\nb'] in row 0"),
        (["a"], [], "names: expected at least one input. Received: none"),
    ],
)
def test_what_is_no_row_is_refused_by_name(asked, names, message):
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        columns(asked, names)
    assert str(raised.value) == message


def test_long_values_are_cut_in_messages():
    with pytest.raises(ValueError, match=r"Received: \[1, 1.{70,80} in row 0$"):
        columns([[1] * 10_000], ["text"])


@pytest.mark.parametrize("told", ["/9g", "/9g=\n", "-_g=", "ä"])
def test_bytes_that_are_no_base64_are_refused(told):
    assert from_json({"image": {"b64": "/9g="}}) == {"image": b"\xff\xd8"}
    with pytest.raises(ValueError, match=r"padding|base64|ASCII"):
        from_json({"image": {"b64": told}})


def test_rows_load_nothing_heavy():
    code = "import sys, seqattn_tf.lite.model_inputs; assert not {'tensorflow', 'keras', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_list_of_one_line_ends_with_a_line_break_and_a_string_does_not():
    """This lets a field distinguish a list of words from running text."""
    asked = [{"text": ["one"]}, {"text": ("one",)}, {"text": "one"}, {"text": ["one", "two"]}, {"text": []}]
    assert columns(asked, ["text"])["text"] == ["one\n", "one\n", "one", "one\ntwo", ""]


def reversed_texts(rows):
    """Reject all rows if one of them contains a z, without naming that row."""
    if any("z" in row["text"] for row in rows):
        raise ValueError("no z")
    return [row["text"][::-1] for row in rows]


def too_long(row):
    return "text: too long" if len(row["text"]) > 3 else ""


def test_each_row_has_an_answer_or_an_error_in_its_place():
    rows = ["ab", "abcd", 7, "az", "", "cd"]
    found = answer_each(rows, ["text"], reversed_texts, too_long)
    assert [found[place] for place in (0, 4, 5)] == ["ba", "", "dc"]
    wrong = {place: answer for place, answer in enumerate(found) if isinstance(answer, RowError)}
    assert {place: (error.row, error.reason) for place, error in wrong.items()} == {
        2: (2, "rows: expected a string, bytes or a list of strings for text. Received: 7"),
        3: (3, "no z"),
        1: (1, "text: too long"),
    }
    assert str(wrong[1]) == "row 1 ('abcd'): text: too long"
    assert pickle.loads(pickle.dumps(wrong[1])).reason == "text: too long"
    assert answer_each([], ["text"], reversed_texts, too_long) == []


def test_what_to_do_about_errors():
    with pytest.raises(ValueError, match=r"errors: expected 'raise' or 'return'. Received: 'ignore'"):
        check_errors("ignore")
