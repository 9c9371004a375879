"""Tags: a name for each position of the input."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from seqattn_tf.lite.targets.base import Target, check_names

T = TypeVar("T")
AnyTags = TypeVar("AnyTags", bound="Tags")


class Tags(Target):
    """A tag for each position.

    The output is `tags [batch, answers, positions]`: 1 for the first tag, 0 after the last position.

    Args:
        tags: The names of the tags, without spaces, which separate the tags in the text of an answer.

    >>> import numpy as np
    >>> Tags(("D", "N")).format_row({"tags": np.array([[1, 2, 0]]), "scores": np.array([-0.5])})["text"]
    'D N'
    """

    name_in_registry = "tags"
    names = ("tags",)

    def __init__(self, tags: Sequence[str]) -> None:
        self.tags = check_names("tags", tags)
        if spaced := [tag for tag in self.tags if tag.split() != [tag]]:
            raise ValueError(f"tags: expected names without spaces. Received: {spaced}")
        self.numbers = {tag: number for number, tag in enumerate(self.tags, 1)}

    @classmethod
    def learn(cls: type[AnyTags], values: Iterable[str | Sequence[str]]) -> AnyTags:
        """Create the target whose tags are those of the values, sorted."""
        return cls(sorted({tag for value in values for tag in listed(value)}))

    @property
    def size(self) -> int:
        """The number of scores at a position."""
        return len(self.tags)

    def arrays(self, value: str | Sequence[str]) -> dict[str, np.ndarray]:
        """Return the numbers of the tags `[positions]`."""
        if unknown := [tag for tag in listed(value) if tag not in self.numbers]:
            raise ValueError(f"expected tags among {list(self.tags)[:20]}. Received: {unknown[0]!r}")
        return {"tags": np.array([self.numbers[tag] for tag in listed(value)], np.int32)}

    def tokens(self, found: Mapping[str, np.ndarray], answer: int) -> list[str]:
        names = ["", *self.tags]
        return without_end([names[number] for number in found["tags"][answer].tolist()])

    def normalize(self, value: str | Sequence[str]) -> str:
        """Return the tags separated by spaces."""
        return " ".join(listed(value))

    def get_config(self) -> dict[str, Any]:
        return {"tags": list(self.tags)}


GAP = "_"  # the tag of an inner position that was not read


def without_end(names: Sequence[str]) -> list[str]:
    """Return the names up to the last one that is not empty; empty names before it become gaps.

    >>> without_end(["D", "", "N", "", ""])
    ['D', '_', 'N']
    """
    last = max((place for place, name in enumerate(names) if name), default=-1)
    return [name or GAP for name in names[: last + 1]]


def listed(value: str | Sequence[T]) -> list[str] | list[T]:
    """Return the tags of a text, in which they are separated by spaces, or of a sequence as a list."""
    return value.split() if isinstance(value, str) else list(value)
