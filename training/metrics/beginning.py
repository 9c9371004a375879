"""How far answers are right: up to their first mistake."""

from collections.abc import Hashable, Mapping, Sequence

from seqattn_tf.training.metrics.base import Answers, Metric, References, pair_up


def _share_begun(answer: str, target: str) -> float:
    """The share of the target's symbols, parted by blanks, that an answer says before its first mistake.

    >>> _share_begun("a b x d", "a b c d")
    0.5
    """
    said, right = answer.split(), target.split()
    wrong = next((i for i, symbol in enumerate(right) if said[i : i + 1] != [symbol]), len(right))
    return wrong / len(right) if right else float(not said)


def beginnings(answers: Answers, references: References) -> dict[str, float]:
    """The mean of that share, and the share of answers that are right throughout.

    >>> beginnings({"1": "a b"}, {"1": ["a c"]})
    {'begun': 0.5, 'accuracy': 0.0}
    """
    pairs = pair_up(answers, references)
    begun = [max(_share_begun(answer, target) for target in targets) for answer, targets in pairs]
    right = [answer in targets for answer, targets in pairs]
    return {"begun": sum(begun) / len(begun), "accuracy": sum(right) / len(right)}


def begun_by(keys: Mapping[str, Hashable], answers: Answers, references: References) -> list[tuple[str, int, float]]:
    """`(key, count, begun)` of the sources of each key, keys in order."""
    of: dict[Hashable, list[str]] = {}
    for source in references:
        of.setdefault(keys[source], []).append(source)
    return [(str(key), len(chosen), _mean(answers, references, chosen)) for key, chosen in sorted(of.items())]


def _mean(answers: Answers, references: References, chosen: Sequence[str]) -> float:
    return beginnings({key: answers[key] for key in chosen}, {key: references[key] for key in chosen})["begun"]


BEGUN = Metric("begun", beginnings, figure="begun")
