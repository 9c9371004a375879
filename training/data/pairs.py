"""Pairs of texts, and splits of them by a hash of the source, so that no source is in two splits."""

import dataclasses
import functools
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

DEV_SHARE, TEST_SHARE = 0.02, 0.10  # of the sources, where nobody has split them
DEV_LEAST = 50  # pairs, where a fifth of all allows it


TURN = " \u00b6 "  # between the turns of a source that has several


class Pair(NamedTuple):
    """One example: what goes in and what should come out."""

    source: str
    target: str


@dataclasses.dataclass(frozen=True)
class Splits:
    """Pairs to learn from, to stop by, and to report on, and where they come from."""

    train: Sequence[Pair]
    dev: Sequence[Pair]
    test: Sequence[Pair]
    origin: str
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)  # what kind of source it is, where that is known

    @functools.cached_property
    def fingerprint(self) -> str:
        """A checksum of all pairs and how they are split."""
        total = 0
        for part in (self.train, self.dev, self.test):
            for pair in part:
                total = zlib.crc32("\t".join(pair).encode(), total)
            total = zlib.crc32(b"\n\n", total)
        return f"{total:08x}"


def share(source: str) -> float:
    """A number in [0, 1) that depends on the text alone, the same on every machine.

    >>> 0 <= share("hello") < 1
    True
    """
    return zlib.crc32(source.encode()) / 2**32


def hold_out(pairs: Iterable[Pair], fraction: float, start: float = 0.0) -> tuple[list[Pair], list[Pair]]:
    """Part the pairs by source: `(kept, held out)`, the sources whose `share` is in the given stretch held out."""
    kept, held = [], []
    for pair in pairs:
        (held if start <= share(pair.source) < start + fraction else kept).append(pair)
    return kept, held


def hold_out_dev(pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """`(train, dev)`: 2 % of the sources for development, up to a fifth of a small set."""
    return hold_out(pairs, max(DEV_SHARE, min(0.2, DEV_LEAST / max(len(pairs), 1))))


def group_targets(pairs: Iterable[Pair]) -> dict[str, list[str]]:
    """All targets of each source, in order: any of them is a right answer.

    >>> group_targets([Pair("a", "AH"), Pair("b", "B"), Pair("a", "EY")])
    {'a': ['AH', 'EY'], 'b': ['B']}
    """
    groups: dict[str, list[str]] = {}
    for pair in pairs:
        groups.setdefault(pair.source, []).append(pair.target)
    return groups
