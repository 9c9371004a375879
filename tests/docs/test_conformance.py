"""The conformance pages name existing tests, in tables that add up."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]
DOCS = HERE.parent / "docs"
PAGE = "\n".join((DOCS / name).read_text() for name in ("conformance.md", "conformance_addons.md"))
FOLDERS = {"TensorFlow Serving": HERE / "serving", "TensorFlow Addons": HERE}  # where the files of a part are
PARTS = {part.splitlines()[0]: part for part in re.split(r"(?m)^##? ", PAGE)[1:] if part.splitlines()[0] in FOLDERS}
NAMED = re.compile(r"`([\w/.]+\.py)::(\w+)(?:\[(.*?)\])?`")
TESTS = sorted({(part, *named) for part, text in PARTS.items() for named in NAMED.findall(text)})


def rows(text: str) -> list[tuple[str, str]]:
    """Return the cases in the tables of a text, and the description of each."""
    found = re.findall(r"^\| (\w+) \| (.+) \|$", text, re.MULTILINE)
    return [row for row in found if row[0] != "case"]


@cache
def read(path: Path) -> tuple[set[str], set[str]]:
    """Return the functions and the strings of a file; only the constant parts of an f-string count."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return functions, {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_the_page_has_its_parts():
    assert list(PARTS) == list(FOLDERS)


@pytest.mark.parametrize(("part", "file", "test", "row"), TESTS)
def test_a_test_that_is_named_is_there(part, file, test, row):
    functions, strings = read((FOLDERS[part] / file).resolve())
    assert test in functions
    assert test.startswith("test_")
    assert not row or row in strings


@pytest.mark.parametrize("part", PARTS)
def test_every_case_is_restated_or_says_why_not(part):
    for line in re.findall(r"^\| (?!case \||--- \|)(.+) \|$", PARTS[part], re.MULTILINE):
        case, told = line.split(" | ", 1)
        assert re.fullmatch(r"\w+", case), line
        assert told.startswith("no: ") or NAMED.sub("", told).strip(", ") == "", case


@pytest.mark.parametrize("part", PARTS)
def test_the_numbers_at_the_head_are_those_of_the_tables(part):
    head, text = PARTS[part].split("\n### ")[0], PARTS[part]
    not_restated = sum(told.startswith("no: ") for _, told in rows(text))
    cases, restated, rest = map(
        int, re.search(r"(\d+) cases,\s(\d+) are restated here\sand (\d+) are not", head).groups()
    )
    assert (cases, restated, rest) == (len(rows(text)), len(rows(text)) - not_restated, not_restated)


@pytest.mark.parametrize("part", PARTS)
def test_no_case_stands_twice_in_a_table(part):
    tables = PARTS[part].split("\n### ")[1:]
    names = [table.splitlines()[0] for table in tables]
    assert len(names) == len(set(names))
    for name, table in zip(names, tables, strict=True):
        cases = [case for case, _ in rows(table)]
        assert cases, name
        assert len(cases) == len(set(cases)), name
