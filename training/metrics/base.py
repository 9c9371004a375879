"""The base class of metrics: a function of answers and references, and the name of its main value.

A metric that is computed from sums of counts also provides these counts for each key, so that it can be evaluated on
any sample of the keys at once. Intervals need a thousand of them (see `intervals`).
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from seqattn_tf.core.registry import RegisteredObject, full_name

Said = TypeVar("Said")
Answers = Mapping[str, str]
References = Mapping[str, Sequence[str]]


class Sampled(Protocol):
    """Results that can be computed for any sample of the keys."""

    @property
    def keys(self) -> int:
        """The number of keys."""

    def of(self, weights: np.ndarray) -> dict[str, float]:
        """Return the values for a sample in which key `i` occurs `weights[i]` times."""


@dataclasses.dataclass(frozen=True, eq=False)
class Tally:
    """Counts for each key whose sums determine the values of a metric.

    Args:
        counts: The counts, `[keys, counts]`, in the order of the references.
        values: A function from their sums, `[counts]`, to the values by name.

    >>> right = Tally(np.array([[1, 1], [0, 1]]), lambda sums: {"accuracy": float(sums[0] / sums[1])})
    >>> right.total, right.of(np.array([3, 1]))
    ({'accuracy': 0.5}, {'accuracy': 0.75})
    """

    counts: np.ndarray
    values: Callable[[np.ndarray], dict[str, float]]

    @property
    def keys(self) -> int:
        """The number of keys."""
        return len(self.counts)

    @property
    def total(self) -> dict[str, float]:
        """The values for all keys."""
        return self.values(self.counts.sum(axis=0))

    def of(self, weights: np.ndarray) -> dict[str, float]:
        """Return the values for a sample in which key `i` occurs `weights[i]` times."""
        return self.values(weights @ self.counts)


def mean_tally(columns: Mapping[str, Sequence[float]], factor: float = 1.0) -> Tally:
    """Return the tally of means over keys, by name.

    >>> mean_tally({"accuracy": [True, False], "length": [3, 5]}).total
    {'accuracy': 0.5, 'length': 4.0}
    """
    counts = np.array([*columns.values(), [1] * len(next(iter(columns.values())))], float).T
    return Tally(
        counts, lambda sums: {name: float(factor * s / sums[-1]) for name, s in zip(columns, sums, strict=False)}
    )


def joined(tallies: Sequence[Tally]) -> Tally:
    """Return a tally with the values of several ones over the same keys."""
    ends = np.cumsum([tally.counts.shape[1] for tally in tallies])[:-1]

    def values(sums: np.ndarray) -> dict[str, float]:
        parts = zip(tallies, np.split(sums, ends), strict=True)
        return {name: value for tally, part in parts for name, value in tally.values(part).items()}

    return Tally(np.concatenate([tally.counts for tally in tallies], axis=1), values)


@dataclasses.dataclass(frozen=True, eq=False)
class Remeasured:
    """The results of a metric without a tally, which is computed anew for every sample."""

    measure: Callable[[Answers, References], dict[str, float]]
    answers: Answers
    references: References

    @property
    def keys(self) -> int:
        """The number of keys."""
        return len(self.references)

    def of(self, weights: np.ndarray) -> dict[str, float]:
        """Return the values for a sample in which key `i` occurs `weights[i]` times."""
        chosen = np.repeat(np.array(list(self.references), object), weights)
        names = {f"{number}": key for number, key in enumerate(chosen)}
        answers = {name: self.answers[key] for name, key in names.items()}
        return dict(self.measure(answers, {name: self.references[key] for name, key in names.items()}))


@dataclasses.dataclass(frozen=True, eq=False)
class Suffixed:
    """Results with a suffix in the name of each value."""

    sampled: Sampled
    suffix: str

    @property
    def keys(self) -> int:
        """The number of keys."""
        return self.sampled.keys

    def of(self, weights: np.ndarray) -> dict[str, float]:
        """Return the values for a sample in which key `i` occurs `weights[i]` times."""
        return {f"{name}_{self.suffix}": value for name, value in self.sampled.of(weights).items()}


@dataclasses.dataclass(frozen=True)
class Metric(RegisteredObject):
    """A measure of answers, registered under its name (`--metric exact`) when it is created.

    Args:
        name: The name of the metric.
        measure: A function from the answer to each key and the correct answers to values by name.
        figure: The name of the value that selects the best epoch.
        higher_is_better: Whether higher values of it are better.
        tally: A function from the same arguments to counts for each key, if the values depend on their sums only.
            Without it, intervals take as long as two hundred measurements.

    >>> def vowels(answers, references):
    ...     return {"vowels": sum(letter in "aeiou" for answer in answers.values() for letter in answer)}
    >>> Metric("vowels", vowels, figure="vowels").measure({"a": "tea"}, {"a": ["tea"]})
    {'vowels': 2}
    """

    made: ClassVar[dict[str, Any]] = {}
    name: str
    measure: Callable[[Answers, References], dict[str, float]]
    figure: str
    higher_is_better: bool = True
    tally: Callable[[Answers, References], Tally] | None = None

    def __post_init__(self) -> None:
        held = full_name(self.made.get(self.name, self).measure)
        if held != full_name(self.measure):
            raise ValueError(f"name: {self.name!r} is already the name of the metric {held}. Choose another")
        self.remember()

    def evaluate(self, answers: Answers, references: References) -> tuple[dict[str, float], Sampled]:
        """Return the values by name, and the results for any sample of the keys."""
        if self.tally is None:
            return dict(self.measure(answers, references)), Remeasured(self.measure, answers, references)
        tally = self.tally(answers, references)
        return tally.total, tally

    def check(self, right: References) -> None:
        """Raise an error if the function does not return its main value, before a training run relies on it."""
        found = self.measure({key: texts[0] for key, texts in right.items()}, right)
        if not isinstance(found, Mapping) or self.figure not in found:
            raise ValueError(f"metric {self.name}: expected a result named {self.figure!r}. Received: {found!r:.80}")


def pair_up(answers: Mapping[str, Said], references: References) -> list[tuple[Said, Sequence[str]]]:
    """Return each key's answer with its references, in the order of the references.

    >>> pair_up({"a": "EY"}, {"a": ["AH", "EY"]})
    [('EY', ['AH', 'EY'])]
    """
    if not references:
        raise ValueError("references: expected at least one. Received: none")
    for key, targets in references.items():
        if key not in answers:
            raise ValueError(f"answers: expected an answer for every source. Received: none for {key!r}")
        if isinstance(targets, str) or not targets:
            raise ValueError(f"references: expected a list of texts for {key!r}. Received: {targets!r}")
    return [(answers[key], targets) for key, targets in references.items()]
