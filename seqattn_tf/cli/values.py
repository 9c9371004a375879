"""What a model is asked, as it is typed on a command line: values, NAME=VALUE, @FILE."""

import re
from collections.abc import Sequence
from pathlib import Path

_PATH = re.compile(r"[^\n\t]*(\.\w{1,5}|[/\\][^\n\t]+)")  # a name with an ending, or in a folder


def read_rows(values: Sequence[str], names: Sequence[str]) -> list[dict[str, str | bytes]]:
    """The rows that are meant by some values, for a model with inputs of these names.

    `NAME=VALUE` is one input of a row; a name that the row already has begins the next row. For a model with one input,
    anything else is a row by itself. `@FILE` stands for what the file holds: text where it is UTF-8, else bytes; `@@`
    for an `@` itself.

    Raises:
        ValueError: a value without a name where there are several inputs, a row that lacks one, or a file that cannot
            be read.

    >>> read_rows(["a=b", "c"], ["text"])
    [{'text': 'a=b'}, {'text': 'c'}]
    >>> read_rows(["premise=It rains.", "hypothesis=It is wet."], ["premise", "hypothesis"])
    [{'premise': 'It rains.', 'hypothesis': 'It is wet.'}]
    """
    rows: list[dict[str, str | bytes]] = []
    for value in values:
        name, equals, rest = value.partition("=")
        if not (equals and name in names):
            if len(names) != 1:
                expected = ", ".join(f"{name}=..." for name in names)
                raise ValueError(f"values: expected {expected}. Received: {value!r:.80}")
            name, rest = names[0], value
            rows.append({})
        elif not rows or name in rows[-1]:
            rows.append({})
        rows[-1][name] = _read(rest)
    for row in rows:
        if missing := [name for name in names if name not in row]:
            raise ValueError(f"values: expected {', '.join(names)} for each question. Received: no {missing[0]}")
    return [{name: row[name] for name in names} for row in rows]


def forgotten_at(value: str | bytes, takes_text: bool) -> str:
    """Return the `@FILE` that was probably meant by a value; an empty text where it is none.

    Args:
        value: that was typed.
        takes_text: whether the input is a text, for which the name of a file is a value like any other.

    >>> forgotten_at("in/blank.png", takes_text=False), forgotten_at("in/blank.png", takes_text=True)
    ('@in/blank.png', '')
    """
    if not isinstance(value, str) or not _PATH.fullmatch(value):
        return ""
    try:
        exists = Path(value).is_file()
    except (OSError, ValueError):
        exists = False
    return f"@{value}" if exists or not takes_text else ""


def _read(value: str) -> str | bytes:
    if not value.startswith("@"):
        return value.encode("utf-8", "replace").decode("utf-8")
    if value.startswith("@@"):
        return value[1:]
    try:
        data = Path(value[1:]).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"values: expected a file that can be read. Received: {value!r:.80}, {reason}") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data
