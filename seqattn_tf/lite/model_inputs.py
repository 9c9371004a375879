"""The rows that a model answers, in the form that users write: each is a value or a mapping by input name.

This module is plain Python, so that models, clients and devices without TensorFlow read rows in the same way.
"""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any


def columns(rows: Sequence[Any], names: Sequence[str]) -> dict[str, list[str | bytes]]:
    r"""Convert rows to one list for each input, with a value for each row.

    A value is a string, bytes, or a list of strings, which is a text with one line per string. Lone surrogates are
    replaced; bytes are not changed.

    Args:
        rows: Mappings from the name of an input to its value, or bare values if there is only one input.
        names: The inputs of the model.

    Raises:
        ValueError: If a row is incomplete, has an unknown input or a value of another type, or is a bare value although
            there are several inputs; or if the rows are of both forms.

    >>> columns(["hello", b"\xff"], ["text"])
    {'text': ['hello', b'\xff']}
    >>> columns([{"question": "Where is it?", "story": ["It fell.", "It rolled away."]}], ["story", "question"])
    {'story': ['It fell.\nIt rolled away.'], 'question': ['Where is it?']}
    >>> columns([{"premise": "It rains."}], ["premise", "hypothesis"])
    Traceback (most recent call last):
    ValueError: rows: expected premise, hypothesis in each. Received: no hypothesis in row 0
    """
    if not names:
        raise ValueError("names: expected at least one input. Received: none")
    rows = as_rows(rows)
    named = [isinstance(row, Mapping) for row in rows]
    if len(names) > 1 and not all(named):
        bare = rows[named.index(False)]
        raise ValueError(f"rows: expected mappings with {', '.join(names)}. Received: {bare!r:.80}")
    if any(named) and not all(named):
        raise ValueError(f"rows: expected either mappings or bare values throughout. Received: {rows!r:.80}")
    if not all(named):
        return {names[0]: [_value(row, names[0], place) for place, row in enumerate(rows)]}
    for place, row in enumerate(rows):
        _check_names(row, names, place)
    return {name: [_value(row[name], name, place) for place, row in enumerate(rows)] for name in names}


class RowError(ValueError):
    """A row that a model cannot answer.

    Attributes:
        row: The index of the row, from 0.
        reason: What is wrong with the row.
    """

    row: int = 0
    reason: str = ""

    @classmethod
    def of(cls, place: int, row: Any, reason: str, several: bool = True) -> "RowError":
        """Create the error for a row; it names the row if there are several.

        >>> str(RowError.of(3, {"text": "abc"}, "text: expected at most 2 symbols. Received: 3"))
        "row 3 ('abc'): text: expected at most 2 symbols. Received: 3"
        """
        values = row.values() if isinstance(row, Mapping) else [row]
        shown = ", ".join(f"{value!r:.60}" for value in values)
        error = cls(f"row {place} ({shown}): {reason}" if several else reason)
        error.row, error.reason = place, reason
        return error


def check_errors(errors: str) -> str:
    """Check how invalid rows are handled: `raise` an error, or `return` one in place of each answer."""
    if errors not in ("raise", "return"):
        raise ValueError(f"errors: expected 'raise' or 'return'. Received: {errors!r}")
    return errors


def answer_each(
    rows: Sequence[Any],
    names: Sequence[str],
    answer: Callable[[list[dict[str, Any]]], Sequence[Any]],
    fault: Callable[[dict[str, Any]], str],
) -> list[Any]:
    """Return the answer to each row, or a `RowError` in its place, so that an invalid row does not affect the others.

    Args:
        rows: Mappings by input, or bare values if there is only one input.
        names: The inputs of the model.
        answer: A function that returns the answers to valid rows, and raises a `ValueError` if any row is invalid.
        fault: A function that returns what is wrong with a row, as far as this can be checked without the model, or an
            empty string.
    """
    found: dict[int, Any] = {}
    good: dict[int, dict[str, Any]] = {}
    rows = as_rows(rows)
    for place, row in enumerate(rows):
        try:
            good[place] = {name: value for name, [value] in columns([row], names).items()}
        except ValueError as error:
            found[place] = RowError.of(place, row, str(error).removesuffix(" in row 0"))

    def ask(places: list[int]) -> None:
        try:
            found.update(zip(places, answer([good[place] for place in places]), strict=True))
        except ValueError as error:
            if len(places) == 1:
                found[places[0]] = RowError.of(places[0], rows[places[0]], getattr(error, "reason", "") or str(error))
                return
            bad = {place: reason for place in places if (reason := fault(good[place]))}
            found.update({place: RowError.of(place, rows[place], reason) for place, reason in bad.items()})
            left = [place for place in places if place not in bad]
            for part in [left] if bad and left else [[place] for place in left]:
                ask(part)

    if good:
        ask(list(good))
    return [found[place] for place in range(len(rows))]


def as_rows(rows: Iterable[Any]) -> list[Any]:
    """Return the rows as a list; raise an error for a single row or any other type.

    >>> as_rows(("hello", "world"))
    ['hello', 'world']
    """
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise ValueError(f"rows: expected a list of rows. Received: {rows!r:.80}")
    return list(rows)


def _check_names(row: Mapping[str, Any], names: Sequence[str], place: int) -> None:
    wanted = f"rows: expected {', '.join(names)} in each"
    if missing := [name for name in names if name not in row]:
        raise ValueError(f"{wanted}. Received: no {', '.join(missing)} in row {place}")
    if unknown := [str(name) for name in row if name not in names]:
        raise ValueError(f"{wanted}. Received: {', '.join(unknown)} in row {place}")


def _value(value: Any, name: str, place: int) -> str | bytes:
    if isinstance(value, bytes):
        return bytes(value)
    lines = [value] if isinstance(value, str) else value
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) for line in lines):
        raise ValueError(
            f"rows: expected a string, bytes or a list of strings for {name}. Received: {value!r:.80} in row {place}"
        )
    if not isinstance(value, str) and any("\n" in line for line in lines):
        raise ValueError(
            f"rows: expected strings without line breaks for {name}. Received: {value!r:.80} in row {place}"
        )
    text = "\n".join(lines) + ("\n" if lines is value and len(lines) == 1 else "")  # also marks a single line
    return text.encode("utf-8", "replace").decode("utf-8")


def to_json(row: Mapping[str, str | bytes]) -> dict[str, Any]:
    r"""Convert a row to JSON: text is stored as is, and bytes that are not text as in the REST API of TF Serving.

    >>> to_json({"text": b"caf\xc3\xa9", "image": b"\xff\xd8"})
    {'text': 'café', 'image': {'b64': '/9g='}}
    """
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, str):
            found[name] = value
            continue
        try:
            found[name] = value.decode()
        except UnicodeDecodeError:
            found[name] = {"b64": base64.b64encode(value).decode("ascii")}
    return found


def from_json(row: Mapping[str, Any]) -> dict[str, str | bytes]:
    r"""Restore a row that `to_json` converted.

    >>> from_json({"image": {"b64": "/9g="}})
    {'image': b'\xff\xd8'}
    """
    return {
        name: value if isinstance(value, str) else base64.b64decode(value["b64"], validate=True)
        for name, value in row.items()
    }
