"""Examples, and splits of them by a hash of their keys, so that no key is in two splits."""

import dataclasses
import functools
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, overload

from seqattn_tf.lite.text import Texts

DEV_SHARE, TEST_SHARE = 0.02, 0.10  # shares of the keys, for data that come without splits
TEST_START = 0.5  # hashes are from 0 to 1; the development split begins at 0
_DEV_LEAST = 50  # examples, unless that is more than a fifth of all


class DataWarning(UserWarning):
    """A problem with the data that users should know about: lines skipped, examples left out, answers truncated."""


class Example(NamedTuple):
    """The inputs of a model and the target."""

    key: str  # decides the split by its hash, and groups the correct answers to one input
    inputs: Mapping[str, Any]
    target: Any

    @property
    def line(self) -> str:
        """The example as one line of text. Bytes, in memory or in a file, are represented by the key."""
        return "\t".join(map(self._text, [*self.inputs.values(), self.target]))

    def _text(self, value: Any) -> str:
        if isinstance(value, bytes) or hasattr(value, "read"):
            return self.key
        return value if isinstance(value, str) else repr(value)


def from_text(text: str, target: Any) -> Example:
    """Return an example with one input named `text`, which is its own key.

    >>> from_text("cat", "K AE T")
    Example(key='cat', inputs={'text': 'cat'}, target='K AE T')
    """
    return Example(text, {"text": text}, target)


def example_of(inputs: Iterable[str], cells: Sequence[str]) -> Example:
    """Return the example of a row whose last cell is the target.

    The other cells are the inputs, named in order; joined, they form the key.
    """
    *given, target = cells
    return Example("\t".join(given), dict(zip(inputs, given, strict=True)), target)


class Examples(Sequence[Example]):
    """A sequence of examples that also provides each input and the targets as a column. Text columns cache tokens."""

    def __init__(self, examples: Iterable[Example]) -> None:
        self.examples = examples if isinstance(examples, list) else list(examples)
        self._columns: dict[str | None, Sequence[Any]] = {}

    @classmethod
    def of(cls, examples: Iterable[Example]) -> "Examples":
        """Wrap examples, unless they are `Examples` already."""
        return examples if isinstance(examples, cls) else cls(examples)

    def inputs(self, name: str) -> Sequence[Any]:
        """Return one input of every example."""
        if lacking := next((example for example in self.examples if name not in example.inputs), None):
            raise ValueError(f"examples: expected an input {name!r} in each. Received: {sorted(lacking.inputs)}")
        return self._column(name, lambda example: example.inputs[name])

    @property
    def targets(self) -> Sequence[Any]:
        """The target of every example."""
        return self._column(None, lambda example: example.target)

    def checksum(self, total: int = 0) -> int:
        """Return a checksum of all examples that continues from `total`."""
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
    """Training, development and test examples, and their origin."""

    train: Sequence[Example]
    dev: Sequence[Example]
    test: Sequence[Example]
    origin: str
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)  # the category of a key, if known
    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)  # of a table: by input or target
    labels: Sequence[str] = ()  # the possible targets, if their order means something

    @functools.cached_property
    def fingerprint(self) -> str:
        """A checksum of all examples and of how they are split."""
        total = 0
        for part in (self.train, self.dev, self.test):
            total = zlib.crc32(b"\n\n", Examples.of(part).checksum(total))
        return f"{total:08x}"

    def at_most(self, examples: int) -> "Splits":
        """Return these splits with at most this many training examples (0 for all), each part as `Examples`."""
        few = self.train[:examples] if examples else self.train
        train, dev, test = (Examples.of(part) for part in (few, self.dev, self.test))
        return dataclasses.replace(self, train=train, dev=dev, test=test)

    @property
    def summary(self) -> str:
        """One line with the origin, the columns and the number of examples."""
        counts = f"{len(self.train)} training, {len(self.dev)} development and {len(self.test)} test examples"
        mapped = ", ".join(f"{name} = {column}" for name, column in self.columns.items())
        return "; ".join(part for part in (f"data: {self.origin}", mapped, counts) if part)


def share(key: str) -> float:
    """Return a number in [0, 1) that depends on the text alone and is the same on every machine.

    >>> 0 <= share("hello") < 1
    True
    """
    return zlib.crc32(key.encode()) / 2**32


def hold_out(examples: Iterable[Example], fraction: float, start: float = 0.0) -> tuple[list[Example], list[Example]]:
    """Split examples by key into `(kept, held out)`; a `share` in `[start, start + fraction)` is held out."""
    kept: list[Example] = []
    held: list[Example] = []
    for example in examples:
        (held if start <= share(example.key) < start + fraction else kept).append(example)
    return kept, held


def hold_out_dev(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Split examples into `(train, dev)`: 2 % of the keys are for development, but up to a fifth of a small set."""
    return hold_out(examples, max(DEV_SHARE, min(0.2, _DEV_LEAST / max(len(examples), 1))))


def group_targets(examples: Iterable[Example]) -> dict[str, list[Any]]:
    """Return all targets of each key, in order; each of them is a correct answer.

    >>> group_targets([from_text("a", "AH"), from_text("b", "B"), from_text("a", "EY")])
    {'a': ['AH', 'EY'], 'b': ['B']}
    """
    groups: dict[str, list[Any]] = {}
    for example in examples:
        groups.setdefault(example.key, []).append(example.target)
    return groups


def first_of_each(examples: Iterable[Example]) -> dict[str, Example]:
    """Return the first example of every key, in order.

    >>> first_of_each([from_text("a", "AH"), from_text("b", "B"), from_text("a", "EY")])["a"].target
    'AH'
    """
    first: dict[str, Example] = {}
    for example in examples:
        first.setdefault(example.key, example)
    return first
