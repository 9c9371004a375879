"""Error rates per symbol and per answer."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jiwer
from rapidfuzz.distance import Levenshtein

from seqattn_tf.training.metrics.base import Answers, Metric, References, pair_up


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
    said, right = [], []  # symbols separated by single spaces
    for answer, targets in pair_up(answers, references):
        symbols, choices = answer.split(), [target.split() for target in targets]
        nearest = choices[0] if len(choices) == 1 else min(choices, key=partial(_error_rate, symbols))
        said.append(" ".join(symbols))
        right.append(" ".join(nearest))
    if not any(right):
        raise ValueError("references: expected at least one token. Received: empty references only")
    wrong = sum(answer != target for answer, target in zip(said, right, strict=True))
    return {"symbol_error_rate": jiwer.wer(right, said), "answer_error_rate": wrong / len(right)}


def _error_rate(said: Sequence[str], target: Sequence[str]) -> float:
    return edit_distance(said, target) / max(len(target), 1)


ERRORS = Metric("errors", symbol_and_word_errors, figure="symbol_error_rate", higher_is_better=False)
