"""The manifest of an export: what it is, where it comes from, what it takes and gives, how it was verified."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqattn_tf.core.atomic_io import write_json

if TYPE_CHECKING:  # a device reads manifests without TensorFlow
    from seqattn_tf.models import Model

FILE = "manifest.json"


def describe(model: Model, record: dict[str, Any]) -> dict[str, Any]:
    """What is true of every form of an export."""
    return {
        "system": model.name_in_registry,
        "settings": model.settings,
        "summary": record.get("summary", ""),
        "inputs": {
            name: {"field": field.name_in_registry, "kind": field.kind, "limit": field.limit, "page": field.page}
            for name, field in model.inputs.items()
        },
        "target": model.target.name_in_registry,
        "looks": dict(model.looks),
        "looked_at": dict(model.looked_at),
        "parts": dict(model.parts),
        "answers": model.answers,
        "ranked_by": model.ranked_by,
        "examples": record.get("examples", []),
        "record": without_examples(record),
        "made": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "made_with": {name: importlib.metadata.version(name) for name in ("tensorflow", "keras")},
    }


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
