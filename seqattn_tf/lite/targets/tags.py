"""Tags: a name for each place of what was read."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from seqattn_tf.lite.targets.base import Target, check_names

T = TypeVar("T")
AnyTags = TypeVar("AnyTags", bound="Tags")


class Tags(Target):
    """A tag for each place; found are `tags [batch, answers, places]`: 1 for the first tag, 0 after the last place.

    Args:
        tags: their names, without spaces: the text of an answer has spaces between the tags.

    >>> import numpy as np
    >>> Tags(("D", "N")).say_row({"tags": np.array([[1, 2, 0]]), "scores": np.array([-0.5])})["text"]
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
        """The target whose tags are those of the values, in order."""
        return cls(sorted({tag for value in values for tag in listed(value)}))

    @property
    def size(self) -> int:
        """Numbers that a network gives for a place."""
        return len(self.tags)

    def arrays(self, value: str | Sequence[str]) -> dict[str, np.ndarray]:
        """The numbers of the tags: `[places]`."""
        if unknown := [tag for tag in listed(value) if tag not in self.numbers]:
            raise ValueError(f"expected tags among {list(self.tags)[:20]}. Received: {unknown[0]!r}")
        return {"tags": np.array([self.numbers[tag] for tag in listed(value)], np.int32)}

    def tokens(self, found: Mapping[str, np.ndarray], answer: int) -> list[str]:
        """The tags."""
        names = ["", *self.tags]
        return without_end([names[number] for number in found["tags"][answer].tolist()])

    def said(self, value: str | Sequence[str]) -> str:
        """The tags, spaces between them."""
        return " ".join(listed(value))

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {"tags": list(self.tags)}


GAP = "_"  # said of a place inside that was not read


def without_end(names: Sequence[str]) -> list[str]:
    """Names up to the last that is not empty; those before it that are, are gaps.

    >>> without_end(["D", "", "N", "", ""])
    ['D', '_', 'N']
    """
    last = max((place for place, name in enumerate(names) if name), default=-1)
    return [name or GAP for name in names[: last + 1]]


def listed(value: str | Sequence[T]) -> list[str] | list[T]:
    """Tags in a text with spaces between them, or in a list."""
    return value.split() if isinstance(value, str) else list(value)
