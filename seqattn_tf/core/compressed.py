"""Files that may be packed: plain, gzip or xz."""

import contextlib
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}


def is_compressed(path: Path) -> bool:
    """Whether the name of a file says so."""
    return path.suffix.lower() in _OPENERS


def bare(path: Path) -> Path:
    """A path without the ending of packed files.

    >>> bare(Path("words.tsv.GZ")).name, bare(Path("words.tsv")).name
    ('words.tsv', 'words.tsv')
    """
    return path.with_suffix("") if is_compressed(path) else path


@contextlib.contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a plain, gzip or xz file; one that breaks off is a `ValueError`."""
    try:
        with _OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            yield file
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: expected a whole {path.suffix} file. Received: {error}") from None
