"""Whether two answers are the same: text, score, alternatives, tokens, looks and parts. And rows to ask for them."""

import contextlib
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.model_inputs import from_json

_LONG = 3  # times the usual size


def difference(expected: Answer, found: Answer, tolerance: float) -> str:
    """The name of the first thing in which two answers differ, numbers within the tolerance; empty for none.

    >>> difference(Answer("a", -1.0), Answer("a", -99.0), 1e-3)
    'score'
    """

    def near(one: Any, other: Any) -> bool:
        one, other = np.asarray(one), np.asarray(other)
        if one.shape != other.shape or one.dtype.kind not in "fiub":
            return one.shape == other.shape and bool((one == other).all())
        return np.allclose(other, one, rtol=tolerance, atol=tolerance)

    if expected.text != found.text:
        return "text"
    if not near(expected.score, found.score):
        return "score"
    if not near([score for _, score in expected.alternatives], [score for _, score in found.alternatives]):
        return "alternatives"
    ties = dict(expected.alternatives)  # two of the same score may change places
    if any(text not in ties or not near(ties[text], score) for text, score in found.alternatives):
        return "alternatives"
    if expected.tokens != found.tokens:
        return "tokens"
    for name in {**expected.looks, **found.looks}:
        one, other = expected.looks.get(name), found.looks.get(name)
        if one is None or other is None or (one.rows, one.places) != (other.rows, other.places):
            return f"look {name}"
        if not near(one.weights, other.weights):
            return f"look {name}"
    for name in {**expected.parts, **found.parts}:
        if name not in expected.parts or name not in found.parts or not near(expected.parts[name], found.parts[name]):
            return f"part {name}"
    return ""


def rows_to_verify(inputs: Mapping[str, Field], record: Mapping[str, Any], count: int) -> list[dict[str, str | bytes]]:
    """Rows to ask every form: so many made-up ones, odd ones, and the examples of the data that a record holds."""
    made = {name: field.made_up(count, seed) for seed, (name, field) in enumerate(inputs.items())}
    rows = [dict(zip(made, values, strict=True)) for values in zip(*made.values(), strict=True)]
    odd = [{**rows[0], name: value} for name, field in inputs.items() for value in field.odd()]
    return rows + odd + list(_examples(record.get("examples"), inputs))


def _examples(told: Any, inputs: Mapping[str, Field]) -> Iterator[dict[str, str | bytes]]:
    """Those examples that have a value for each input; what else a record may hold is passed over."""
    for example in told if isinstance(told, list) else []:
        if isinstance(example, dict) and example.keys() == inputs.keys():
            with contextlib.suppress(ValueError, TypeError, KeyError):
                yield from_json(example)


def batches_by_size(rows: Sequence[Mapping[str, str | bytes]]) -> list[list[int]]:
    """The places of rows of usual size, then of those that are far longer: as one batch, all would grow to their size.

    >>> batches_by_size([{"text": "abc"}, {"text": "abcd"}, {"text": "a" * 80}, {"text": ""}])
    [[0, 1, 3], [2]]
    """
    sizes = [sum(map(len, row.values())) for row in rows]
    most = _LONG * max(statistics.median(sizes), 1)
    usual = [i for i, size in enumerate(sizes) if size <= most]
    longer = [i for i, size in enumerate(sizes) if size > most]
    return [batch for batch in (usual, longer) if batch]


def least_agreeing(share: float, count: int, of_hundred: int = 1) -> int:
    """How many of so many rows must agree for this share; a part of a row is one.

    Whatever the share, no more than so many of every whole hundred may differ.

    >>> least_agreeing(0.996, 100), least_agreeing(0.996, 500), least_agreeing(0.996, 50), least_agreeing(1.0, 700)
    (99, 498, 50, 700)
    >>> least_agreeing(0.95, 111), least_agreeing(0.95, 111, 5), least_agreeing(0.95, 10, 5)
    (110, 106, 10)
    """
    return count - min(math.ceil(round((1 - share) * count, 9)), of_hundred * count // 100)
