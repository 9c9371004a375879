"""The manifest of an export: its contents, origin, inputs, outputs and verification."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqattn_tf.core.atomic_io import write_json

FILE = "manifest.json"


def without_examples(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record without the entries that a manifest stores elsewhere, and without the local path of the data."""
    return {name: value for name, value in record.items() if name not in ("summary", "examples", "given")}


def write(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest to a folder."""
    write_json(folder / FILE, manifest)


def read(folder: Path) -> dict[str, Any]:
    """Read the manifest of a folder."""
    path = Path(folder) / FILE
    if not path.is_file():
        raise ValueError(f"{folder}: expected an exported model with {FILE}. Received: a folder without it")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON. Received: {error}") from None
