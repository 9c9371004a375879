"""Bytes that stay where they are until their batch comes: files of a folder, and members of a tar."""

import tarfile
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple


class Stored(NamedTuple):
    """A file, or a stretch of one."""

    path: Path
    start: int = 0
    size: int = -1  # all that there is

    def read(self) -> bytes:
        """The bytes themselves."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            return file.read(self.size)


def in_folder(folder: Path, suffixes: Collection[str]) -> dict[str, Stored]:
    """The files of a folder with these suffixes, by their names.

    >>> in_folder(Path("."), [".none"])
    {}
    """
    found = sorted(path for path in Path(folder).iterdir() if path.suffix.lower() in suffixes and path.is_file())
    return {path.name: Stored(path) for path in found}


def in_tar(path: Path) -> dict[str, Stored]:
    """The files of a plain tar, by their names without folders; nothing is unpacked.

    Raises:
        ValueError: it is no tar, a compressed one, one that breaks off, or one with two files of the same name.
    """
    path = Path(path)
    try:
        with tarfile.open(path, "r:") as tar:
            members, end = list(tar), tar.offset  # of the first block that begins no member
    except (tarfile.TarError, EOFError) as error:
        raise ValueError(f"{path}: expected a plain .tar, not compressed. Received: {error}") from None
    if Stored(path, end, tarfile.BLOCKSIZE).read() != bytes(tarfile.BLOCKSIZE):
        last = members[-1].name if members else "its beginning"
        raise ValueError(f"{path}: expected a whole tar. Received: one that breaks off after {last}")
    found: dict[str, tarfile.TarInfo] = {}
    if sparse := [member.name for member in members if member.issparse()]:
        raise ValueError(f"{path}: expected files as they are. Received: {sparse[0]} with holes")
    for member in filter(tarfile.TarInfo.isfile, members):
        other = found.setdefault(Path(member.name).name, member)
        if other.name != member.name:
            raise ValueError(f"{path}: expected each name once. Received: {other.name} and {member.name}")
        found[Path(member.name).name] = member  # of a file that was added anew, the last counts
    return {name: Stored(path, member.offset_data, member.size) for name, member in found.items()}
