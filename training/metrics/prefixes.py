"""Metrics of how much of an answer is correct before the first mistake."""

from collections.abc import Hashable, Mapping, Sequence

from seqattn_tf.training.metrics.base import Answers, Metric, References, Tally, mean_tally, pair_up


def _share_begun(answer: str, target: str) -> float:
    """Return the share of the target's symbols, separated by spaces, that an answer contains before its first mistake.

    >>> _share_begun("a b x d", "a b c d")
    0.5
    """
    said, right = answer.split(), target.split()
    wrong = next((i for i, symbol in enumerate(right) if said[i : i + 1] != [symbol]), len(right))
    return wrong / len(right) if right else float(not said)


def prefix_accuracy(answers: Answers, references: References) -> dict[str, float]:
    """Return the mean share of each target before the first mistake, and the share of answers without a mistake.

    >>> prefix_accuracy({"1": "a b"}, {"1": ["a c"]})
    {'prefix_accuracy': 0.5, 'accuracy': 0.0}
    """
    return _prefix_tally(answers, references).total


def _prefix_tally(answers: Answers, references: References) -> Tally:
    pairs = pair_up(answers, references)
    shares = [max(_share_begun(answer, target) for target in targets) for answer, targets in pairs]
    return mean_tally({"prefix_accuracy": shares, "accuracy": [answer in targets for answer, targets in pairs]})


def prefix_accuracy_by(
    keys: Mapping[str, Hashable], answers: Answers, references: References
) -> list[tuple[str, int, float]]:
    """Return `(key, count, prefix_accuracy)` of the sources of each key, with the keys in order."""
    of: dict[Hashable, list[str]] = {}
    for source in references:
        of.setdefault(keys[source], []).append(source)
    return [(str(key), len(chosen), _mean(answers, references, chosen)) for key, chosen in sorted(of.items())]


def _mean(answers: Answers, references: References, chosen: Sequence[str]) -> float:
    return prefix_accuracy({key: answers[key] for key in chosen}, {key: references[key] for key in chosen})[
        "prefix_accuracy"
    ]


PREFIX_ACCURACY = Metric("prefix_accuracy", prefix_accuracy, figure="prefix_accuracy", tally=_prefix_tally)
