"""The base class of metrics: a function of answers and references, and the name of its main value."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from seqattn_tf.core.registry import RegisteredObject, full_name

Said = TypeVar("Said")
Answers = Mapping[str, str]
References = Mapping[str, Sequence[str]]


@dataclasses.dataclass(frozen=True)
class Metric(RegisteredObject):
    """A measure of answers, registered under its name (`--metric exact`) when it is created.

    Args:
        name: The name of the metric.
        measure: A function from the answer to each key and the correct answers to values by name.
        figure: The name of the value that selects the best epoch.
        higher_is_better: Whether higher values of it are better.

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

    def __post_init__(self) -> None:
        held = full_name(self.made.get(self.name, self).measure)
        if held != full_name(self.measure):
            raise ValueError(f"name: {self.name!r} is already the name of the metric {held}. Choose another")
        self.remember()

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
