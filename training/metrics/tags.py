"""The accuracy of tags, and the F1 score of segments as `seqeval` and the CoNLL script compute it."""

from collections.abc import Callable, Sequence

import numpy as np

from seqattn_tf.training.metrics.base import Answers, Metric, References, Tally, pair_up


def count_pairs(
    answers: Answers, references: References, unit: str, count: Callable[[list[str], list[str]], Sequence[int]]
) -> np.ndarray:
    """Return the sums of counts over all occurrences of each key in the data, `[keys, counts]`.

    Args:
        answers, references: As in a metric.
        unit: What an answer consists of, such as tags, for messages.
        count: A function from the predicted and the correct units of one occurrence, of equal number, to counts.
    """
    rows = []
    for answer, targets in pair_up(answers, references):
        predicted, counts = answer.split(), []
        for target in targets:
            right = target.split()
            if len(predicted) != len(right):
                raise ValueError(f"answers: expected {len(right)} {unit}. Received: {len(predicted)}, {answer!r:.80}")
            counts.append(count(predicted, right))
        rows.append(np.sum(counts, axis=0))
    return np.array(rows)


def _count_right(predicted: list[str], right: list[str]) -> tuple[int, int]:
    return sum(one == other for one, other in zip(predicted, right, strict=True)), len(right)


def _accuracy(sums: np.ndarray) -> dict[str, float]:
    return {"accuracy": float(sums[0] / max(sums[1], 1))}


def _tags_tally(answers: Answers, references: References) -> Tally:
    return Tally(count_pairs(answers, references, "tags", _count_right), _accuracy)


def tag_accuracy(answers: Answers, references: References) -> dict[str, float]:
    """Return the share of correct tags.

    >>> tag_accuracy({"a b": "D N"}, {"a b": ["D V"]})
    {'accuracy': 0.5}
    """
    return _tags_tally(answers, references).total


def segments(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return the segments of tags such as `B-X I-X` (or with `E` and `S`): label, first position, end position.

    As in `seqeval`, a tag that continues no segment, or one with another label, begins a new segment.

    >>> segments(["B-NP", "I-NP", "O", "I-VP"])
    [('NP', 0, 2), ('VP', 3, 4)]
    """
    found, start, before, kind = [], 0, "O", ""
    for place, tag in enumerate([*tags, "O"]):
        letter, _, label = tag.partition("-")
        label = label or "_"
        ends = before in ("E", "S") or letter in ("B", "S", "O") or label != kind
        if before != "O" and ends:
            found.append((kind, start, place))
        if letter != "O" and (before == "O" or ends):
            start = place
        before, kind = letter, label
    return found


def segment_f1(answers: Answers, references: References) -> dict[str, float]:
    """Return precision, recall and F1 of segments, which are correct if their label and both ends are.

    >>> segment_f1({"a b": "B-NP I-NP"}, {"a b": ["B-NP I-NP"]})["f1"]
    1.0
    """
    return _segments_tally(answers, references).total


def _segments_tally(answers: Answers, references: References) -> Tally:
    def count(predicted: list[str], right: list[str]) -> tuple[int, ...]:
        one, other = set(segments(predicted)), set(segments(right))
        return (*_count_right(predicted, right), len(one), len(other), len(one & other))

    def values(sums: np.ndarray) -> dict[str, float]:
        predicted, right, both = map(float, sums[2:])
        precision, recall = both / max(predicted, 1), both / max(right, 1)
        f1 = 2 * precision * recall / (precision + recall) if both else 0.0
        return {"f1": f1, "precision": precision, "recall": recall, **_accuracy(sums)}

    return Tally(count_pairs(answers, references, "tags", count), values)


TAGS = Metric("tags", tag_accuracy, figure="accuracy", tally=_tags_tally)
SEGMENTS = Metric("segments", segment_f1, figure="f1", tally=_segments_tally)
