"""The accuracy of tags, and the F1 score of segments as `seqeval` and the CoNLL script compute it."""

from collections.abc import Iterator, Sequence

from seqattn_tf.training.metrics.base import Answers, Metric, References, pair_up


def _pairs(answers: Answers, references: References) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the predicted and the correct tags of every occurrence of a text in the data."""
    for answer, targets in pair_up(answers, references):
        for target in targets:
            said, right = answer.split(), target.split()
            if len(said) != len(right):
                raise ValueError(f"answers: expected {len(right)} tags. Received: {len(said)}, {answer!r:.80}")
            yield said, right


def tag_accuracy(answers: Answers, references: References) -> dict[str, float]:
    """Return the share of correct tags.

    >>> tag_accuracy({"a b": "D N"}, {"a b": ["D V"]})
    {'accuracy': 0.5}
    """
    right = [one == other for pair in _pairs(answers, references) for one, other in zip(*pair, strict=True)]
    return {"accuracy": sum(right) / max(len(right), 1)}


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
    said = right = both = 0
    for pair in _pairs(answers, references):
        one, other = (set(segments(tags)) for tags in pair)
        said, right, both = said + len(one), right + len(other), both + len(one & other)
    precision, recall = both / max(said, 1), both / max(right, 1)
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    return {"f1": f1, "precision": precision, "recall": recall, **tag_accuracy(answers, references)}


TAGS = Metric("tags", tag_accuracy, figure="accuracy")
SEGMENTS = Metric("segments", segment_f1, figure="f1")
