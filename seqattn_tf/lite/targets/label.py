"""A label: one of a fixed set of names."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.lite.targets.base import Target, check_names


class Label(Target):
    """One of several labels.

    The output is `labels [batch, answers]`, the indices of the labels; all labels but the best are alternatives. An
    expected answer may also be a list: the label of the whole, followed by those of its parts, empty for a part without
    a label.

    Args:
        labels: The names of the labels.

    >>> import numpy as np
    >>> Label(("no", "yes")).format_row({"labels": np.array([1, 0]), "scores": np.array([-0.1, -2.3])})
    {'text': 'yes', 'score': -0.1, 'alternatives': (('no', -2.3),), 'tokens': ('yes',)}
    """

    name_in_registry = "label"
    names = ("labels",)

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = check_names("labels", labels)
        self.numbers = {label: number for number, label in enumerate(self.labels)}

    @classmethod
    def learn(cls, values: Iterable[str | Sequence[str]], first: Sequence[str] = ()) -> "Label":
        """Create the target from values: the labels are those of `first` in their order, then all others, sorted."""
        found = {label for value in values for label in _listed(value)} - {""}
        return cls([*first, *sorted(found.difference(first))])

    @property
    def size(self) -> int:
        """The number of logits of a row."""
        return len(self.labels)

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """Return the index of the label, `[]`; for a list, the indices `[parts]`, -1 for a part without a label."""
        listed = _listed(value)
        known = {*self.labels, *([""] if isinstance(value, list | tuple) else [])}
        if not listed or any(label not in known for label in listed):
            wrong = next((label for label in listed if label not in known), value)
            raise ValueError(f"expected a label among {list(self.labels)[:20]}. Received: {wrong!r:.80}")
        places = [self.numbers.get(label, -1) for label in listed]
        return {"labels": np.array(places[0] if isinstance(value, str) else places, np.int32)}

    def normalize(self, value: str | Sequence[str]) -> str:
        """Return the label of the whole."""
        return _listed(value)[0]

    def tokens(self, found: Mapping[str, np.ndarray], answer: int) -> list[str]:
        """Return the label as the only token."""
        return [self.labels[int(found["labels"][answer])]]

    def text(self, tokens: Sequence[str]) -> str:
        return "".join(tokens)

    def get_config(self) -> dict[str, Any]:
        return {"labels": list(self.labels)}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
