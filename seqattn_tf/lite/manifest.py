"""The manifest of an export: what it is, where it comes from, what it takes and gives, how it was verified."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqattn_tf.core.atomic_io import write_json

FILE = "manifest.json"


def without_examples(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what a manifest says elsewhere, and without the place of the data on somebody's machine."""
    return {name: value for name, value in record.items() if name not in ("summary", "examples", "given")}


def write(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest into a folder."""
    write_json(folder / FILE, manifest)


def read(folder: Path) -> dict[str, Any]:
    """The manifest of a folder."""
    path = Path(folder) / FILE
    if not path.is_file():
        raise ValueError(f"{folder}: expected an export with a {FILE}. Received: a folder without one")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON. Received: {error}") from None
