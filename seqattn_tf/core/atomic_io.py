"""Atomic writes of files and folders, through a temporary name, so that readers never get a partial result."""

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def write_atomically(path: str | os.PathLike[str], replace_folder: bool = False) -> Iterator[Path]:
    """Yield a temporary path next to `path`; afterwards rename it to `path`, or remove it after an error.

    An existing file is replaced. An existing folder is replaced only with `replace_folder`; otherwise the path must be
    free, and the second of two writers gets an `OSError`. Parent folders are created. The temporary name keeps the
    suffix and has a random part, so that concurrent writers do not interfere. It begins with a dot, so that it cannot
    be mistaken for a version number.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with write_atomically(target) as aside:
    ...     _ = aside.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside, old = (path.with_name(f".{uuid.uuid4().hex}-{path.name}") for _ in range(2))
    try:
        yield aside
        if replace_folder and path.exists():
            path.rename(old)
        os.replace(aside, path)
    finally:
        for left in (aside, old):
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink(missing_ok=True)


def user_cache() -> Path:
    """Return the folder for files that can be recreated: `seqattn_tf` in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seqattn_tf"


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write a value as indented JSON, atomically."""
    with write_atomically(path) as aside:
        aside.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
