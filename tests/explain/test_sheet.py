"""Labels and titles: on one line where they fit, cut where they must be, never inside a symbol."""

import pytest

from seqattn_tf.explain.sheet import LONGEST_TITLE, make_legible, running, title_lines


def test_a_short_title_is_whole():
    assert title_lines("hello → HH AH L OW", 8.0) == ["hello → HH AH L OW"]
    assert title_lines("", 8.0) == title_lines(None, 8.0) == []


def test_a_long_title_ends_after_a_symbol():
    said = " ".join(["I_TURN_LEFT", "I_JUMP"] * 20)
    shown = " ".join(title_lines(said, 6.0))
    assert shown.endswith(" …")
    assert len(shown) <= LONGEST_TITLE + 2
    assert set(shown.removesuffix(" …").split()) == {"I_TURN_LEFT", "I_JUMP"}
    assert said.startswith(shown.removesuffix(" …"))


@pytest.mark.parametrize("width", [1.0, 3.0, 8.0])
def test_lines_break_between_symbols(width):
    lines = title_lines("I_TURN-LEFT I_JUMP " * 4, width)
    assert {word for line in lines for word in line.split()} == {"I_TURN-LEFT", "I_JUMP"}


def test_one_endless_symbol_is_cut():
    [*_, last] = lines = title_lines("x" * 500, 3.0)
    assert sum(map(len, lines)) <= LONGEST_TITLE
    assert last.endswith("…")


def test_what_no_font_shows_is_named_whole():
    assert make_legible("a\x00b") == "a<0000>b"
    assert title_lines("a\x00b", 8.0) == ["a<0000>b"]


def test_a_text_runs_in_lines():
    assert running([*"ab\n\nc"], [1.0] * 5, room=9.0) == [(0, 0), (1, 0), (2, 0), (0, 1), (0, 2)]
    assert running([*"abc\n"], [2.0] * 4, room=4.0) == [(0, 0), (2, 0), (0, 1), (2, 1)]
    assert running([], [], room=4.0) == []
