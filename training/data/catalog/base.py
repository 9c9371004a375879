"""The definition of a data set: its origin, its split, its checksums, and a converter for the original distribution."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from seqattn_tf.training.data.catalog.originals import Originals

Converter = Callable[[Originals], Iterator[tuple[str, bytes]]]
AnyValue = TypeVar("AnyValue")
UNCHECKED = "address not checked"


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a data set comes from.

    Args:
        project: Its name and its authors or maintainers.
        version: The release, tag or commit whose files equal ours, or what is known about it.
        license: The license, and where it is stated.
        address: The address of the project, only if somebody opened it; "" otherwise.
    """

    project: str
    version: str
    license: str
    address: str = ""


@dataclasses.dataclass(frozen=True)
class Expected:
    """A file as the recipes read it, or a group of small files.

    Args:
        size: The number of bytes, decompressed; the total of a group.
        sha256: The checksum of the decompressed content. That of a group is the checksum of what
            `LC_ALL=C sha256sum FILES` prints for its files, in the order of their names.
        pattern: A regular expression for the names of a group, and for their paths inside an archive; "" for one file.
        count: The number of files of a group.
    """

    size: int
    sha256: str
    pattern: str = ""
    count: int = 1


@dataclasses.dataclass(frozen=True)
class Dataset:
    """A data set that recipes read.

    Args:
        name: The name by which it is found.
        title: What it consists of, in a few words.
        recipes: The recipes that read it.
        source: Where it comes from.
        split: What the splits are and how they are made.
        files: The files of the reference copy, by name, in the form that the recipes read.
        license: The license in a word or two, for the table.
        convert: A function that yields the names and contents of `files`, from the original distribution. None if the
            recipes read the original as it is, or if its conversion is not known.
        originals: A pattern for each file of the original distribution that `convert` needs.
        status: Whether `convert` was run on the original, and what came out.
        archives: A regular expression for archives that the recipes read without unpacking.
        folders: Subfolders that the recipes read, too.
        versions: Names of other known versions, by the beginning of the checksum of one of their converted files.
    """

    name: str
    title: str
    recipes: tuple[str, ...]
    source: Source
    split: str
    files: Mapping[str, Expected]
    license: str
    convert: Converter | None = None
    originals: tuple[str, ...] = ()
    status: str = ""
    archives: str = ""
    folders: tuple[str, ...] = ()
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of bytes of all files, decompressed."""
        return sum(file.size for file in self.files.values())


def copied(places: Mapping[str, str]) -> Converter:
    """Return a converter for an original whose files are ours under other names or in other folders.

    Args:
        places: For each of our files, a pattern for the original one.
    """

    def convert(originals: Originals) -> Iterator[tuple[str, bytes]]:
        for name, pattern in places.items():
            yield name, originals.read(originals.one(pattern))

    return convert


def by_part(make: Callable[[str], AnyValue]) -> dict[str, AnyValue]:
    """Return a value for each of `train`, `dev` and `test`.

    >>> by_part(str.upper)
    {'train': 'TRAIN', 'dev': 'DEV', 'test': 'TEST'}
    """
    return {part: make(part) for part in ("train", "dev", "test")}
