"""A label: one of a few names."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.lite.targets.base import Target, check_names


class Label(Target):
    """One of some labels; found are `labels [batch, answers]`, their places, and all others are alternatives.

    A right answer may also be a list: the label of the whole, then those of its parts, empty where one has none.

    Args:
        labels: their names.

    >>> import numpy as np
    >>> Label(("no", "yes")).say_row({"labels": np.array([1, 0]), "scores": np.array([-0.1, -2.3])})
    {'text': 'yes', 'score': -0.1, 'alternatives': (('no', -2.3),), 'tokens': ('yes',)}
    """

    name_in_registry = "label"
    names = ("labels",)

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = check_names("labels", labels)
        self.numbers = {label: number for number, label in enumerate(self.labels)}

    @classmethod
    def learn(cls, values: Iterable[str | Sequence[str]], first: Sequence[str] = ()) -> "Label":
        """The target whose labels are those given `first`, as they stand, and all others of the values, in order."""
        found = {label for value in values for label in _listed(value)} - {""}
        return cls([*first, *sorted(found.difference(first))])

    @property
    def size(self) -> int:
        """Numbers that a network gives for a row."""
        return len(self.labels)

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """The place of the label: `[]`; of a list, `[parts]` with -1 for none."""
        listed = _listed(value)
        known = {*self.labels, *([""] if isinstance(value, list | tuple) else [])}
        if not listed or any(label not in known for label in listed):
            wrong = next((label for label in listed if label not in known), value)
            raise ValueError(f"expected a label among {list(self.labels)[:20]}. Received: {wrong!r:.80}")
        places = [self.numbers.get(label, -1) for label in listed]
        return {"labels": np.array(places[0] if isinstance(value, str) else places, np.int32)}

    def said(self, value: str | Sequence[str]) -> str:
        """The label of the whole."""
        return _listed(value)[0]

    def tokens(self, found: Mapping[str, np.ndarray], answer: int) -> list[str]:
        """The label, as one token."""
        return [self.labels[int(found["labels"][answer])]]

    def text(self, tokens: Sequence[str]) -> str:
        """The label itself."""
        return "".join(tokens)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {"labels": list(self.labels)}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
