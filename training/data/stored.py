"""Bytes that are read only when their batch is made: files of a folder, members of a tar, pictures of an array."""

import io
import tarfile
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Stored(NamedTuple):
    """A file, or a section of one."""

    path: Path
    start: int = 0
    size: int = -1  # -1: up to the end

    def read(self) -> bytes:
        """Return the bytes."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            return file.read(self.size)


class Pixels(NamedTuple):
    """A picture in an array `[pictures, y, x, 3]` of numbers from 0 to 255."""

    table: np.ndarray
    number: int

    def read(self) -> bytes:
        """Return the picture as a PNG file.

        >>> Pixels(np.zeros([1, 2, 3, 3], np.uint8), 0).read()[:4]
        b'\\x89PNG'
        """
        return png_of(self.table[self.number])

    def __hash__(self) -> int:
        return hash((id(self.table), self.number))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pixels) and self.table is other.table and self.number == other.number


def png_of(pixels: np.ndarray) -> bytes:
    """Encode a picture `[y, x, 3]` as a PNG file."""
    from PIL import Image as Pillow

    data = io.BytesIO()
    Pillow.fromarray(pixels).save(data, "PNG", compress_level=1)
    return data.getvalue()


def in_folder(folder: Path, suffixes: Collection[str]) -> dict[str, Stored]:
    """Return the files of a folder that have one of these suffixes, by name.

    >>> in_folder(Path("."), [".none"])
    {}
    """
    found = sorted(path for path in Path(folder).iterdir() if path.suffix.lower() in suffixes and path.is_file())
    return {path.name: Stored(path) for path in found}


def in_tar(path: Path) -> dict[str, Stored]:
    """Return the files of an uncompressed tar by their names without folders; nothing is unpacked.

    Raises:
        ValueError: If the file is no tar, is compressed or truncated, or contains two files of the same name in
            different folders.
    """
    path = Path(path)
    try:
        with tarfile.open(path, "r:") as tar:
            members, end = list(tar), tar.offset  # the first block that begins no member
    except (tarfile.TarError, EOFError) as error:
        raise ValueError(f"{path}: expected a plain .tar, not compressed. Received: {error}") from None
    if Stored(path, end, tarfile.BLOCKSIZE).read() != bytes(tarfile.BLOCKSIZE):
        last = members[-1].name if members else "its beginning"
        raise ValueError(
            f"{path}: expected a complete tar archive. Received: an archive that is truncated after {last}"
        )
    found: dict[str, tarfile.TarInfo] = {}
    if sparse := [member.name for member in members if member.issparse()]:
        raise ValueError(f"{path}: expected regular files. Received: the sparse file {sparse[0]}")
    for member in filter(tarfile.TarInfo.isfile, members):
        other = found.setdefault(Path(member.name).name, member)
        if other.name != member.name:
            raise ValueError(f"{path}: expected unique names. Received: {other.name} and {member.name}")
        found[Path(member.name).name] = member  # if a file was added again, the last one counts
    return {name: Stored(path, member.offset_data, member.size) for name, member in found.items()}
