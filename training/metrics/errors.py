"""Error rates per symbol and per answer."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from seqattn_tf.training.metrics.base import Answers, Metric, References, Tally, pair_up


def edit_distance(first: Sequence[Any], second: Sequence[Any]) -> int:
    """Return the minimum number of insertions, deletions and substitutions between two sequences.

    >>> edit_distance("kitten", "sitting")
    3
    """
    return Levenshtein.distance(first, second)


def symbol_and_word_errors(answers: Answers, references: References) -> dict[str, float]:
    """Compute `symbol_error_rate` and `answer_error_rate` of answers with one or more references each.

    The reference with the fewest errors in proportion to its length is used.

    >>> symbol_and_word_errors({"a": "EY", "b": "B IY"}, {"a": ["AH", "EY"], "b": ["B"]})
    {'symbol_error_rate': 0.5, 'answer_error_rate': 0.5}
    """
    return _errors_tally(answers, references).total


def _errors_tally(answers: Answers, references: References) -> Tally:
    """Count the errors, the symbols of the reference and the wrong answers, 0 or 1, of each key."""
    counts = []
    for answer, targets in pair_up(answers, references):
        symbols, choices = answer.split(), [target.split() for target in targets]
        nearest = choices[0] if len(choices) == 1 else min(choices, key=partial(_error_rate, symbols))
        counts.append((edit_distance(symbols, nearest), len(nearest), symbols != nearest, 1))
    if not any(length for _, length, _, _ in counts):
        raise ValueError("references: expected at least one token. Received: empty references only")

    def values(sums: np.ndarray) -> dict[str, float]:
        errors, symbols, wrong, answers = map(float, sums)
        return {"symbol_error_rate": errors / max(symbols, 1), "answer_error_rate": wrong / answers}

    return Tally(np.array(counts), values)


def _error_rate(said: Sequence[str], target: Sequence[str]) -> float:
    return edit_distance(said, target) / max(len(target), 1)


ERRORS = Metric(
    "errors", symbol_and_word_errors, figure="symbol_error_rate", higher_is_better=False, tally=_errors_tally
)
