"""Values on the command line, as rows."""

import subprocess
import sys

import pytest

from seqattn_tf.cli.values import forgotten_at, read_rows

PAIR = ("premise", "hypothesis")


@pytest.mark.parametrize(
    ("values", "names", "rows"),
    [
        (["a", "b"], ["text"], [{"text": "a"}, {"text": "b"}]),
        (["text=a", "text=b", "c"], ["text"], [{"text": "a"}, {"text": "b"}, {"text": "c"}]),
        (["", "text="], ["text"], [{"text": ""}, {"text": ""}]),
        (["other=a", "=a", "a=b=c"], ["text"], [{"text": "other=a"}, {"text": "=a"}, {"text": "a=b=c"}]),
        (["text=a=b"], ["text"], [{"text": "a=b"}]),
        (
            ["@@", "@@home", "text=@@x", "a@b"],
            ["text"],
            [{"text": "@"}, {"text": "@home"}, {"text": "@x"}, {"text": "a@b"}],
        ),
        (["c\udcffat"], ["text"], [{"text": "c?at"}]),
        (["premise=p", "hypothesis=h"], PAIR, [{"premise": "p", "hypothesis": "h"}]),
        (
            ["hypothesis=h", "premise=p", "premise=q", "hypothesis=i"],
            PAIR,
            [{"premise": "p", "hypothesis": "h"}, {"premise": "q", "hypothesis": "i"}],
        ),
        ([], ["text"], []),
    ],
)
def test_values_as_rows(values, names, rows):
    found = read_rows(values, names)
    assert found == rows
    assert all([*row] == list(names) for row in found)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["p"], "values: expected premise=..., hypothesis=.... Received: 'p'"),
        (["premise=p", "other=h"], "values: expected premise=..., hypothesis=.... Received: 'other=h'"),
        (["premise=p"], "values: expected premise, hypothesis for each row. Received: a row without hypothesis"),
        (
            ["premise=p", "premise=q", "hypothesis=h"],
            "values: expected premise, hypothesis for each row. Received: a row without hypothesis",
        ),
        (["x" * 500], f"values: expected premise=..., hypothesis=.... Received: '{'x' * 79}"),
    ],
)
def test_what_is_no_row_is_refused(values, message):
    with pytest.raises(ValueError, match=r"^values: ") as raised:
        read_rows(values, PAIR)
    assert str(raised.value) == message


def test_files_of_text_and_of_bytes(tmp_path):
    files = {"text": "naïve\nline".encode(), "bytes": b"\x89PNG\xff", "empty": b"", "a=b": b"odd"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    found = read_rows([f"@{tmp_path / name}" for name in files], ["value"])
    assert [row["value"] for row in found] == ["naïve\nline", b"\x89PNG\xff", "", "odd"]
    assert read_rows([f"value=@{tmp_path / 'bytes'}"], ["value"]) == [{"value": b"\x89PNG\xff"}]


@pytest.mark.parametrize(
    ("value", "reason"),
    [("nothing.png", "No such file"), ("", "Is a directory"), ("folder", "Is a directory"), ("a\0b", "null")],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, monkeypatch, value, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for typed in (f"@{value}", f"image=@{value}"):
        with pytest.raises(ValueError, match=f"^values: expected a readable file. Received: '@.*{reason}"):
            read_rows([typed], ["image"])


def test_values_load_nothing_heavy():
    code = "import sys, seqattn_tf.cli.values; assert not {'tensorflow', 'keras', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_forgotten_at_is_noticed(tmp_path):
    """Without the @, the name of a picture would be read as its contents or as a text."""
    (tmp_path / "blank.png").write_bytes(b"x")
    there = str(tmp_path / "blank.png")
    assert [forgotten_at(there, takes_text) for takes_text in (True, False)] == [f"@{there}"] * 2
    assert [forgotten_at("in/blank.png", takes_text) for takes_text in (True, False)] == ["", "@in/blank.png"]
    for value in ("hello", "two words", "", b"bytes.png", "3.", "x" * 5000 + ".png"):
        assert forgotten_at(value, takes_text=True) == ""
    assert forgotten_at("hello", takes_text=False) == ""
