"""The syntax of a model's inputs on the command line: values, NAME=VALUE, @FILE."""

import re
from collections.abc import Sequence
from pathlib import Path

_PATH = re.compile(r"[^\n\t]*(\.\w{1,5}|[/\\][^\n\t]+)")  # a name with a suffix, or in a folder


def read_rows(values: Sequence[str], names: Sequence[str]) -> list[dict[str, str | bytes]]:
    """Parse values into rows for a model with inputs of these names.

    `NAME=VALUE` is one input of a row; a name that the current row already contains starts the next row. For a model
    with one input, any other value is a row. `@FILE` is replaced by the content of the file: text if it is UTF-8,
    otherwise bytes; `@@` represents an `@`.

    Raises:
        ValueError: If there are several inputs and a value has no name, if a row is incomplete, or if a file cannot be
            read.

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
            raise ValueError(f"values: expected {', '.join(names)} for each row. Received: a row without {missing[0]}")
    return [{name: row[name] for name in names} for row in rows]


def forgotten_at(value: str | bytes, takes_text: bool) -> str:
    """Return the `@FILE` that was probably meant by a value, or an empty string.

    Args:
        value: The value on the command line.
        takes_text: Whether the input is a text, which may contain a file name like any other text.

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
        raise ValueError(f"values: expected a readable file. Received: {value!r:.80}, {reason}") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data
