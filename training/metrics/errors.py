"""Error rates by symbol and by whole answer."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jiwer
from rapidfuzz.distance import Levenshtein

from seqattn_tf.training.metrics.base import Answers, Metric, References, pair_up


def edit_distance(first: Sequence[Any], second: Sequence[Any]) -> int:
    """The least number of insertions, deletions and substitutions between two sequences.

    >>> edit_distance("kitten", "sitting")
    3
    """
    return Levenshtein.distance(first, second)


def symbol_and_word_errors(answers: Answers, references: References) -> dict[str, float]:
    """Error rates of answers where any of several references is right: `per` by symbol, `wer` by whole answer.

    The reference with the fewest errors (in proportion to its length) is the one that counts.

    >>> symbol_and_word_errors({"a": "EY", "b": "B IY"}, {"a": ["AH", "EY"], "b": ["B"]})
    {'per': 0.5, 'wer': 0.5}
    """
    said, right = [], []  # symbols between single spaces
    for answer, targets in pair_up(answers, references):
        symbols, choices = answer.split(), [target.split() for target in targets]
        nearest = choices[0] if len(choices) == 1 else min(choices, key=partial(_error_rate, symbols))
        said.append(" ".join(symbols))
        right.append(" ".join(nearest))
    if not any(right):
        raise ValueError("references: expected symbols. Received: empty ones alone")
    wrong = sum(answer != target for answer, target in zip(said, right, strict=True))
    return {"per": jiwer.wer(right, said), "wer": wrong / len(right)}


def _error_rate(said: Sequence[str], target: Sequence[str]) -> float:
    return edit_distance(said, target) / max(len(target), 1)


ERRORS = Metric("errors", symbol_and_word_errors, figure="per", higher_is_better=False)
