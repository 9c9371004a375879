"""Examples, and splits of them by a hash of their keys, so that no key is in two splits."""

import dataclasses
import functools
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, overload

from seqattn_tf.lite.text import Texts

DEV_SHARE, TEST_SHARE = 0.02, 0.10  # of the keys, where nobody has split them
TEST_START = 0.5  # of the hashes: away from the development split, which begins at 0
_DEV_LEAST = 50  # examples, where a fifth of all allows it


class DataWarning(UserWarning):
    """Something about the data that a user should know: lines passed over, examples left out, answers cut."""


class Example(NamedTuple):
    """What goes in and what should come out."""

    key: str  # what is split by its hash, and by which right answers belong together
    inputs: Mapping[str, Any]
    target: Any

    @property
    def line(self) -> str:
        """The example as one line of text; bytes, in memory or in a file, stand in it by the key."""
        return "\t".join(map(self._text, [*self.inputs.values(), self.target]))

    def _text(self, value: Any) -> str:
        if isinstance(value, bytes) or hasattr(value, "read"):
            return self.key
        return value if isinstance(value, str) else repr(value)


def from_text(text: str, target: Any) -> Example:
    """The example of one input named `text`, which is its own key.

    >>> from_text("cat", "K AE T")
    Example(key='cat', inputs={'text': 'cat'}, target='K AE T')
    """
    return Example(text, {"text": text}, target)


def example_of(inputs: Iterable[str], cells: Sequence[str]) -> Example:
    """The example of a row, whose last cell is the target; the others, named in order, together are its key."""
    *given, target = cells
    return Example("\t".join(given), dict(zip(inputs, given, strict=True)), target)


class Examples(Sequence[Example]):
    """Examples that also give a column of theirs, whose texts remember how they were cut."""

    def __init__(self, examples: Iterable[Example]) -> None:
        self.examples = examples if isinstance(examples, list) else list(examples)
        self._columns: dict[str | None, Sequence[Any]] = {}

    @classmethod
    def of(cls, examples: Iterable[Example]) -> "Examples":
        """The examples themselves where they remember already."""
        return examples if isinstance(examples, cls) else cls(examples)

    def inputs(self, name: str) -> Sequence[Any]:
        """One input of all."""
        if lacking := next((example for example in self.examples if name not in example.inputs), None):
            raise ValueError(f"examples: expected an input {name!r} in each. Received: {sorted(lacking.inputs)}")
        return self._column(name, lambda example: example.inputs[name])

    @property
    def targets(self) -> Sequence[Any]:
        """The targets of all."""
        return self._column(None, lambda example: example.target)

    def checksum(self, total: int = 0) -> int:
        """That of all examples, beginning with another."""
        for example in self.examples:
            total = zlib.crc32(example.line.encode(), total)
        return total

    def _column(self, name: str | None, value: Callable[[Example], Any]) -> Sequence[Any]:
        if name not in self._columns:
            values = [value(example) for example in self.examples]
            self._columns[name] = Texts(values) if all(isinstance(value, str) for value in values) else values
        return self._columns[name]

    @overload
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self, index: slice) -> list[Example]: ...
    def __getitem__(self, index: int | slice) -> Example | list[Example]:
        return self.examples[index]

    def __len__(self) -> int:
        return len(self.examples)


@dataclasses.dataclass(frozen=True)
class Splits:
    """Examples to learn from, to stop by, and to report on, and where they come from."""

    train: Sequence[Example]
    dev: Sequence[Example]
    test: Sequence[Example]
    origin: str
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)  # of what kind a key is, where that is known
    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)  # of a table, by the input or target they are
    labels: Sequence[str] = ()  # that targets are among, where their order means something

    @functools.cached_property
    def fingerprint(self) -> str:
        """A checksum of all examples and how they are split."""
        total = 0
        for part in (self.train, self.dev, self.test):
            total = zlib.crc32(b"\n\n", Examples.of(part).checksum(total))
        return f"{total:08x}"

    def at_most(self, examples: int) -> "Splits":
        """These splits with so many training examples at most, 0 for all; each part as `Examples`."""
        few = self.train[:examples] if examples else self.train
        train, dev, test = (Examples.of(part) for part in (few, self.dev, self.test))
        return dataclasses.replace(self, train=train, dev=dev, test=test)

    @property
    def summary(self) -> str:
        """One line: where the examples come from, which column is what, how many there are."""
        counts = f"{len(self.train)} to train, {len(self.dev)} for development, {len(self.test)} to test"
        mapped = ", ".join(f"{name} = {column}" for name, column in self.columns.items())
        return "; ".join(part for part in (f"data: {self.origin}", mapped, counts) if part)


def share(key: str) -> float:
    """A number in [0, 1) that depends on the text alone, the same on every machine.

    >>> 0 <= share("hello") < 1
    True
    """
    return zlib.crc32(key.encode()) / 2**32


def hold_out(examples: Iterable[Example], fraction: float, start: float = 0.0) -> tuple[list[Example], list[Example]]:
    """Part the examples by key: `(kept, held out)`, those whose `share` is in the given stretch held out."""
    kept: list[Example] = []
    held: list[Example] = []
    for example in examples:
        (held if start <= share(example.key) < start + fraction else kept).append(example)
    return kept, held


def hold_out_dev(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """`(train, dev)`: 2 % of the keys for development, up to a fifth of a small set."""
    return hold_out(examples, max(DEV_SHARE, min(0.2, _DEV_LEAST / max(len(examples), 1))))


def group_targets(examples: Iterable[Example]) -> dict[str, list[Any]]:
    """All targets of each key, in order: any of them is a right answer.

    >>> group_targets([from_text("a", "AH"), from_text("b", "B"), from_text("a", "EY")])
    {'a': ['AH', 'EY'], 'b': ['B']}
    """
    groups: dict[str, list[Any]] = {}
    for example in examples:
        groups.setdefault(example.key, []).append(example.target)
    return groups


def first_of_each(examples: Iterable[Example]) -> dict[str, Example]:
    """The first example of every key, in order.

    >>> first_of_each([from_text("a", "AH"), from_text("b", "B"), from_text("a", "EY")])["a"].target
    'AH'
    """
    first: dict[str, Example] = {}
    for example in examples:
        first.setdefault(example.key, example)
    return first
