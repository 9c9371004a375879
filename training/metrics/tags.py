"""How many tags are right, and how many segments: F1 as `seqeval` and CoNLL's script count it."""

from collections.abc import Iterator, Sequence

from seqattn_tf.training.metrics.base import Answers, Metric, References, pair_up


def _pairs(answers: Answers, references: References) -> Iterator[tuple[list[str], list[str]]]:
    """Tags said and right, of every time that a text stands in the data."""
    for answer, targets in pair_up(answers, references):
        for target in targets:
            said, right = answer.split(), target.split()
            if len(said) != len(right):
                raise ValueError(f"answers: expected {len(right)} tags. Received: {len(said)}, {answer!r:.80}")
            yield said, right


def tag_accuracy(answers: Answers, references: References) -> dict[str, float]:
    """The share of tags that are right.

    >>> tag_accuracy({"a b": "D N"}, {"a b": ["D V"]})
    {'accuracy': 0.5}
    """
    right = [one == other for pair in _pairs(answers, references) for one, other in zip(*pair, strict=True)]
    return {"accuracy": sum(right) / max(len(right), 1)}


def segments(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """The segments of tags as `B-X I-X` (or with `E` and `S`): label, first place, place after the last.

    What goes on without having begun, or with another label, begins; as `seqeval` has it.

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
    """Precision, recall and F1 of segments: label and both ends must be right.

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
