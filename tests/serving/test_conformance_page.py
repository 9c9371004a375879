"""docs/conformance.md names tests that are there, in tables that add up."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "conformance.md").read_text()
NAMED = re.compile(r"`([\w/.]+\.py)::(\w+)(?:\[(.*?)\])?`")
ROWS = re.findall(r"^\| (\w+) \| (.+) \|$", PAGE, re.MULTILINE)
ROWS = [row for row in ROWS if row[0] != "case"]


@cache
def read(path: Path) -> tuple[set[str], set[str]]:
    """The functions and the strings of a file; an f-string counts with its plain parts."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return functions, {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


@pytest.mark.parametrize(("file", "test", "row"), sorted(set(NAMED.findall(PAGE))))
def test_a_test_that_is_named_is_there(file, test, row):
    functions, strings = read((HERE / file).resolve())
    assert test in functions
    assert test.startswith("test_")
    assert not row or row in strings


def test_every_case_is_restated_or_says_why_not():
    for case, told in ROWS:
        assert told.startswith("no: ") or NAMED.sub("", told).strip(", ") == "", case


def test_the_numbers_at_the_head_are_those_of_the_tables():
    not_restated = sum(told.startswith("no: ") for _, told in ROWS)
    cases, restated, rest = map(int, re.search(r"(\d+) cases, (\d+) restated,\s(\d+) not", PAGE).groups())
    assert (cases, restated, rest) == (len(ROWS), len(ROWS) - not_restated, not_restated)


def test_no_case_stands_twice_in_a_table():
    for table in PAGE.split("\n## ")[1:]:
        cases = re.findall(r"^\| (\w+) \|", table, re.MULTILINE)
        assert len(cases) == len(set(cases)), table.splitlines()[0]
