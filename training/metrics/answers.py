"""What every metric takes: answers and the references they are held against, by source."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

Answer = TypeVar("Answer")
Answers = Mapping[str, str]
References = Mapping[str, Sequence[str]]


def pair_up(answers: Mapping[str, Answer], references: References) -> list[tuple[Answer, Sequence[str]]]:
    """Each source's answer with its references, in the order of the references.

    >>> pair_up({"a": "EY"}, {"a": ["AH", "EY"]})
    [('EY', ['AH', 'EY'])]
    """
    if not references:
        raise ValueError("references: expected at least one. Received: none")
    for source, targets in references.items():
        if source not in answers:
            raise ValueError(f"answers: expected one for every source. Received: none for {source!r}")
        if isinstance(targets, str) or not targets:
            raise ValueError(f"references: expected a list of texts for {source!r}. Received: {targets!r}")
    return [(answers[source], targets) for source, targets in references.items()]
