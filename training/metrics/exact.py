"""The share of answers that match a reference exactly."""

from collections.abc import Hashable, Mapping, Sequence

from seqattn_tf.training.metrics.base import Answers, Metric, References, Tally, mean_tally, pair_up


def _exact_tally(answers: Answers, references: References) -> Tally:
    return mean_tally({"accuracy": [answer in targets for answer, targets in pair_up(answers, references)]})


def exact_match(answers: Answers, references: References) -> dict[str, float]:
    """Return the share of answers that equal one of their references.

    >>> exact_match({"1+1": "2", "2+2": "5"}, {"1+1": ["2"], "2+2": ["4"]})
    {'accuracy': 0.5}
    """
    return _exact_tally(answers, references).total


def nbest_accuracy(
    ranked: Mapping[str, Sequence[str]], references: References, ns: Sequence[int] = (1, 2, 3)
) -> dict[str, float]:
    """Return, for each `n`, the share of sources with a correct answer among the `n` best; arguments of `nbest_tally`.

    >>> nbest_accuracy({"kent": ["kento", "kent"]}, {"kent": ["kent"]}, ns=(1, 2))
    {'accuracy': 0.0, 'accuracy_2': 1.0}
    """
    return nbest_tally(ranked, references, ns).total


def nbest_tally(ranked: Mapping[str, Sequence[str]], references: References, ns: Sequence[int]) -> Tally:
    """Return, for each source, whether a correct answer is among its `n` best ones.

    Args:
        ranked: The answers to each source, best first. If there are fewer than `n`, all of them count.
        references: The correct answers to each source.
        ns: The values of `n`.
    """
    if not ns or min(ns) < 1:
        raise ValueError(f"ns: expected positive numbers. Received: {tuple(ns)}")
    pairs = pair_up(ranked, references)
    for source, best in ranked.items():
        if isinstance(best, str):
            raise ValueError(f"ranked: expected a list of answers to {source!r}. Received: {best!r}")
    ranks = [next((i for i, answer in enumerate(best, 1) if answer in targets), None) for best, targets in pairs]
    return mean_tally(
        {"accuracy" if n == 1 else f"accuracy_{n}": [rank is not None and rank <= n for rank in ranks] for n in ns}
    )


def accuracy_by(
    keys: Mapping[str, Hashable], answers: Answers, references: References
) -> dict[Hashable, tuple[int, float]]:
    """Return `(count, accuracy)` of the sources of each key (a length, a nesting, both), with the keys in order.

    >>> accuracy_by({"1": 1, "23": 2, "45": 2}, {"1": "1", "23": "5", "45": "8"}, {s: [s] for s in ["1", "23", "45"]})
    {1: (1, 1.0), 2: (2, 0.0)}
    """
    right: dict[Hashable, list[bool]] = {}
    for source, (answer, targets) in zip(references, pair_up(answers, references), strict=True):
        if source not in keys:
            raise ValueError(f"keys: expected one for every source. Received: none for {source!r}")
        right.setdefault(keys[source], []).append(answer in targets)
    return {key: (len(hits), sum(hits) / len(hits)) for key, hits in sorted(right.items())}


EXACT = Metric("exact", exact_match, figure="accuracy", tally=_exact_tally)
