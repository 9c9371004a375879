"""The comparison of two answers (text, score, alternatives, tokens, attention maps, extra outputs), and rows for it."""

import contextlib
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.model_inputs import from_json

_LONG = 3  # rows above this multiple of the median size are long


def difference(expected: Answer, found: Answer, tolerance: float) -> str:
    """Return the name of the first difference between two answers beyond the numerical tolerance, or an empty string.

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
    ties = dict(expected.alternatives)  # answers with equal scores may be swapped
    if any(text not in ties or not near(ties[text], score) for text, score in found.alternatives):
        return "alternatives"
    if expected.tokens != found.tokens:
        return "tokens"
    for name in {**expected.attention, **found.attention}:
        one, other = expected.attention.get(name), found.attention.get(name)
        if one is None or other is None or (one.queries, one.keys) != (other.queries, other.keys):
            return f"attention map {name}"
        if not near(one.weights, other.weights):
            return f"attention map {name}"
    for name in {**expected.extra, **found.extra}:
        if name not in expected.extra or name not in found.extra or not near(expected.extra[name], found.extra[name]):
            return f"extra output {name}"
    return ""


def rows_to_verify(inputs: Mapping[str, Field], record: Mapping[str, Any], count: int) -> list[dict[str, str | bytes]]:
    """Return rows for verification: `count` random rows, edge cases, and the examples of the data in a record."""
    made = {name: field.sample_inputs(count, seed) for seed, (name, field) in enumerate(inputs.items())}
    rows = [dict(zip(made, values, strict=True)) for values in zip(*made.values(), strict=True)]
    odd = [{**rows[0], name: value} for name, field in inputs.items() for value in field.edge_cases()]
    return rows + odd + list(_examples(record.get("examples"), inputs))


def _examples(stored: Any, inputs: Mapping[str, Field]) -> Iterator[dict[str, str | bytes]]:
    """Yield the examples that have a value for each input; skip any others in a record."""
    for example in stored if isinstance(stored, list) else []:
        if isinstance(example, dict) and example.keys() == inputs.keys():
            with contextlib.suppress(ValueError, TypeError, KeyError):
                yield from_json(example)


def batches_by_size(rows: Sequence[Mapping[str, str | bytes]]) -> list[list[int]]:
    """Return the indices of rows of usual size, and those of much longer ones, to which a single batch would be padded.

    >>> batches_by_size([{"text": "abc"}, {"text": "abcd"}, {"text": "a" * 80}, {"text": ""}])
    [[0, 1, 3], [2]]
    """
    sizes = [sum(map(len, row.values())) for row in rows]
    most = _LONG * max(statistics.median(sizes), 1)
    usual = [i for i, size in enumerate(sizes) if size <= most]
    longer = [i for i, size in enumerate(sizes) if size > most]
    return [batch for batch in (usual, longer) if batch]


def least_agreeing(share: float, count: int, max_differing_percent: int = 1) -> int:
    """Return the minimum number of rows that must agree for this share; a fraction of a differing row counts as one.

    Independent of the share, at most `max_differing_percent` of the rows, rounded down, may differ.

    >>> least_agreeing(0.996, 100), least_agreeing(0.996, 500), least_agreeing(0.996, 50), least_agreeing(1.0, 700)
    (99, 498, 50, 700)
    >>> least_agreeing(0.95, 111), least_agreeing(0.95, 111, 5), least_agreeing(0.95, 10, 5)
    (110, 106, 10)
    """
    return count - min(math.ceil(round((1 - share) * count, 9)), max_differing_percent * count // 100)
