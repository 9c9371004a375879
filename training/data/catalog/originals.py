"""The files of an original distribution: a folder, or an archive, or archives in a folder. Nothing is unpacked.

    snli_1.0.zip/snli_1.0/snli_1.0_dev.jsonl        a file in a zip archive
    data/task1/raw/train.de                         data/task1/raw/train.de.gz, decompressed

Sizes and numbers are bounded, so that a damaged or malicious archive cannot fill the memory or the disk.
"""

import bz2
import contextlib
import fnmatch
import gzip
import itertools
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

MOST_FILES = 100_000  # in a folder and its archives
LARGEST = 256 * 2**20  # bytes of a file that is read at once
LARGEST_MEMBER = 16 * 2**30  # bytes of a file in a tar archive, which reading its list of names must skip
LONGEST_LINE = 2**20  # bytes
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_TAR = re.compile(r".*\.(tar|tgz|txz|tbz2)(\.(gz|xz|bz2))?$", re.IGNORECASE)
_DAMAGED = (tarfile.TarError, zipfile.BadZipFile, EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)
_UNUSABLE = (*_DAMAGED, NotImplementedError, RuntimeError)  # the last two: unknown compression, or encrypted


class Entry(NamedTuple):
    """A file on disk, or a member of an archive."""

    path: Path
    member: str = ""


@contextlib.contextmanager
def complete(path: Path) -> Iterator[None]:
    """Raise a `ValueError` that names the file if it turns out to be damaged inside the `with` block."""
    try:
        yield
    except _UNUSABLE as error:
        reason = str(error) or type(error).__name__
        raise ValueError(
            f"{path}: expected a complete {''.join(path.suffixes[-2:])} file. Received: {reason}"
        ) from None
    except OSError as error:
        if error.errno is not None:  # a missing file or permission, which has a message of its own
            raise
        raise ValueError(f"{path}: expected a complete compressed file. Received: {error}") from None


def is_archive(path: Path) -> bool:
    """Return whether a file is a zip or tar archive, judging by its name.

    >>> is_archive(Path("a.tar.xz")), is_archive(Path("a.zip")), is_archive(Path("a.tsv.xz"))
    (True, True, False)
    """
    return path.suffix.lower() == ".zip" or bool(_TAR.match(path.name))


def checked_name(name: str, archive: Path) -> str:
    """Return the path of a member of an archive, checked to lie inside it."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
        raise ValueError(f"{archive}: expected names of files inside the archive. Received: {name!r}")
    return str(path)


def listed(path: Path) -> Iterator[str]:
    """Yield the names of the regular files in an archive, as stored."""
    with complete(path):
        if path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path) as archive:
                yield from (info.filename for info in archive.infolist() if not info.is_dir())
        else:
            with tarfile.open(path) as tar:
                for member in tar:
                    if member.size > LARGEST_MEMBER:
                        raise tarfile.ReadError(f"a member of {member.size} bytes")
                    if member.isreg():
                        yield member.name


def members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the name and an open file for each regular file in an archive, in the order of storage."""
    with complete(path):
        if path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path) as archive:
                for info in archive.infolist():
                    if not info.is_dir() and checked_name(info.filename, path):
                        with archive.open(info) as opened:
                            yield info.filename, opened
        else:
            with tarfile.open(path) as tar:
                for member in tar:
                    if member.isreg() and checked_name(member.name, path) and (file := tar.extractfile(member)):
                        yield member.name, file


def bare_name(name: str) -> str:
    """Return a file name without the suffix of compressed files.

    >>> bare_name("train.de.gz"), bare_name("train.de")
    ('train.de', 'train.de')
    """
    stem, suffix = os.path.splitext(name)
    return stem if suffix.lower() in _OPENERS else name


def _decompressed(member: str, file: Any) -> IO[bytes]:
    """Return an open member of an archive, decompressed if its own name says that it is compressed."""
    opener = _OPENERS.get(os.path.splitext(member)[1].lower())
    return opener(file) if opener else file


def read_at_most(file: IO[bytes], name: str, most: int = LARGEST) -> bytes:
    """Return the content of an open file, checked to be of a reasonable size."""
    data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{name}: expected at most {most} bytes. Received: more")
    return data


class Originals:
    """All files of a folder, of its subfolders, and of archives among them, by their paths below the folder.

    Hidden files and folders are left out.

    Args:
        folder: The folder, or a single archive.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not self.folder.exists():
            raise ValueError(f"from: expected a folder or an archive. Received: {folder}, which does not exist")
        if self.folder.is_file() and not is_archive(self.folder):
            raise ValueError(f"from: expected a folder or an archive (.zip, .tar, .tar.gz, ...). Received: {folder}")
        self._entries: dict[str, Entry] = {}
        for name, entry in itertools.chain.from_iterable(map(self._inside, self._paths())):
            if len(self._entries) == MOST_FILES:
                raise ValueError(f"{folder}: expected the files of one data set. Received: over {MOST_FILES} files")
            self._entries.setdefault(name, entry)

    def _paths(self) -> Iterator[Path]:
        if self.folder.is_file():
            yield self.folder
        for where, folders, files in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            yield from (Path(where, name) for name in sorted(files) if not name.startswith("."))

    def _inside(self, path: Path) -> Iterator[tuple[str, Entry]]:
        name = path.name if self.folder.is_file() else path.relative_to(self.folder).as_posix()
        if is_archive(path):
            for member in listed(path):
                yield f"{name}/{bare_name(checked_name(member, path))}", Entry(path, member)
        else:
            yield bare_name(name), Entry(path)

    @property
    def names(self) -> list[str]:
        """The paths of all files."""
        return list(self._entries)

    def find(self, pattern: str) -> list[str]:
        """Return the paths that end with a pattern: `neg/*.txt` finds `reviews.zip/reviews/neg/1.txt`."""
        exact = re.compile(fnmatch.translate(pattern))
        tail = re.compile(fnmatch.translate(f"*/{pattern}"))
        return [name for name in self._entries if exact.match(name) or tail.match(name)]

    def missing(self, patterns: Sequence[str]) -> list[str]:
        """Return the patterns without any file."""
        return [pattern for pattern in patterns if not self.find(pattern)]

    def one(self, pattern: str) -> str:
        """Return the only path that ends with a pattern."""
        found = self.find(pattern)
        if len(found) != 1:
            shown = ", ".join(found[:3]) if found else "none"
            raise ValueError(f"{self.folder}: expected one file {pattern}. Received: {shown}")
        return found[0]

    def read(self, name: str) -> bytes:
        """Return the decompressed content of a file."""
        with self._open(name) as file:
            return read_at_most(file, name)

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a file of any size, without their endings."""
        with self._open(name) as file:
            while line := file.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    raise ValueError(f"{name}: expected lines of at most {LONGEST_LINE} bytes. Received: a longer one")
                yield line.removesuffix(b"\n").removesuffix(b"\r")

    def contents(self, pattern: str) -> Iterator[tuple[str, bytes]]:
        """Yield the paths and contents of all files that end with a pattern, each archive in the order of storage."""
        wanted: dict[Path, dict[str, str]] = {}
        for name in self.find(pattern):
            entry = self._entries[name]
            wanted.setdefault(entry.path, {})[entry.member] = name
        for path, names in wanted.items():
            if "" in names:
                yield names[""], self.read(names[""])
                continue
            for member, file in members(path):
                if member in names:
                    with complete(path):
                        data = read_at_most(_decompressed(member, file), names[member])
                    yield names[member], data

    @contextlib.contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        entry = self._entries[name]
        with complete(entry.path):
            if not entry.member:
                with _OPENERS.get(entry.path.suffix.lower(), open)(entry.path, "rb") as file:
                    yield file
            elif entry.path.suffix.lower() == ".zip":
                with zipfile.ZipFile(entry.path) as archive, archive.open(entry.member) as file:
                    yield _decompressed(entry.member, file)
            else:
                with tarfile.open(entry.path) as tar:
                    yield _decompressed(entry.member, tar.extractfile(entry.member))
