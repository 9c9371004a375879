"""Reading of files that may be compressed: plain, gzip or xz."""

import contextlib
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed, judging by its suffix."""
    return path.suffix.lower() in _OPENERS


def bare(path: Path) -> Path:
    """Return a path without the suffix of compressed files.

    >>> bare(Path("words.tsv.GZ")).name, bare(Path("words.tsv")).name
    ('words.tsv', 'words.tsv')
    """
    return path.with_suffix("") if is_compressed(path) else path


@contextlib.contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a plain, gzip or xz file for reading bytes.

    Raises:
        ValueError: If the file is truncated or corrupt.
    """
    try:
        with _OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            yield file
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: expected a complete {path.suffix} file. Received: {error}") from None
