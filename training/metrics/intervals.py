"""Confidence intervals of metrics, and comparisons of two models on the same test set, by the bootstrap.

A sample draws as many keys as there are, with replacement; a metric is computed for each of many samples. The interval
lies between the 2.5 and 97.5 percentiles of these values (Efron and Tibshirani, 1993). To compare two models, both are
evaluated on the same samples (Koehn, 2004): `p` is the probability, if there were no difference, of one as large as the
observed one, computed as twice the share of samples in which the difference has the other sign.

Both describe the variation over test sets, not over training runs: they say nothing about other seeds.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from seqattn_tf.training.metrics.base import Remeasured, Sampled

_SAMPLES, _FEW = 1000, 200  # the number of samples; of metrics without a tally
_PERCENTILES = (2.5, 97.5)


class Interval(NamedTuple):
    """A 95 % interval."""

    low: float
    high: float


class Difference(NamedTuple):
    """The difference between two models on the same keys, with its 95 % interval, and the probability of no effect."""

    value: float
    low: float
    high: float
    p: float


def intervals(sampled: Sampled, seed: int = 0) -> dict[str, Interval]:
    """Return the 95 % interval of each value of a metric.

    >>> from seqattn_tf.training.metrics.base import mean_tally
    >>> low, high = intervals(mean_tally({"accuracy": [True] * 80 + [False] * 20}))["accuracy"]
    >>> round(low, 2), round(high, 2)
    (0.72, 0.88)
    """
    found = [sampled.of(weights) for weights in _samples(sampled, seed)]
    return {
        name: Interval(*map(float, np.percentile(values, _PERCENTILES))) for name, values in _columns(found).items()
    }


def differences(first: Sampled, second: Sampled, seed: int = 0) -> dict[str, Difference]:
    """Compare the values of two models for the same keys: the first minus the second.

    Raises:
        ValueError: If the numbers of keys differ.

    >>> from seqattn_tf.training.metrics.base import mean_tally
    >>> good, bad = [True] * 90 + [False] * 10, [True] * 70 + [False] * 30
    >>> found = differences(mean_tally({"accuracy": good}), mean_tally({"accuracy": bad}))["accuracy"]
    >>> round(found.value, 2), found.low > 0, found.p < 0.01
    (0.2, True, True)
    """
    if first.keys != second.keys:
        raise ValueError(f"differences: expected the same test examples. Received: {first.keys} and {second.keys} keys")
    whole = np.ones(first.keys, int)
    observed = _difference(first.of(whole), second.of(whole))
    found = [_difference(first.of(weights), second.of(weights)) for weights in _samples(first, seed)]
    result = {}
    for name, values in _columns(found).items():
        if name in observed:
            low, high = map(float, np.percentile(values, _PERCENTILES))
            result[name] = Difference(observed[name], low, high, _p(np.array(values)))
    return result


def _difference(first: dict[str, float], second: dict[str, float]) -> dict[str, float]:
    return {name: value - second[name] for name, value in first.items() if name in second}


def _p(values: np.ndarray) -> float:
    """Return the two-sided probability; ties with 0 count for both sides, and it is never below one in all samples."""
    tail = min((values <= 0).sum(), (values >= 0).sum())
    return min(1.0, 2 * (float(tail) + 1) / (len(values) + 1))


def _samples(sampled: Sampled, seed: int) -> Iterator[np.ndarray]:
    """Yield how often each key occurs in a sample, `[keys]`, for every sample."""
    draw, keys = np.random.default_rng(seed), sampled.keys
    for _ in range(_FEW if isinstance(sampled, Remeasured) else _SAMPLES):
        yield np.bincount(draw.integers(keys, size=keys), minlength=keys)


def _columns(found: list[dict[str, float]]) -> dict[str, list[float]]:
    """Return the values of all samples by name; a value that some samples lack is computed from the others."""
    names = dict.fromkeys(name for values in found for name in values)
    return {name: [values[name] for values in found if name in values] for name in names}
