"""Hashes of files, to detect changes of their contents."""

import hashlib
from collections.abc import Sequence
from pathlib import Path


def digest_files(folder: Path, names: Sequence[str]) -> str:
    """Return a hash of the contents of some files and folders below a folder."""
    found = hashlib.sha256()
    for name in names:
        for path in sorted([folder / name, *(folder / name).rglob("*")]):
            if path.is_file():
                data = path.read_bytes()
                found.update(f"{path.relative_to(folder).as_posix()} {len(data)}\n".encode() + data)
    return found.hexdigest()[:32]
