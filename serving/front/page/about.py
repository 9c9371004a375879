"""What the page tells of a version: what the model does, what it takes, and examples, as its manifest says.

The manifest is optional, and may be anybody's: what is broken, very large or of another form counts as not there.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypedDict

from tensorflow.core.protobuf import meta_graph_pb2

from seqattn_tf.lite import manifest
from seqattn_tf.serving.api.json_values import is_base64
from seqattn_tf.serving.models.servable import type_name

EXTRA = "assets.extra"  # below the folder of a version
LARGEST = 4_000_000  # bytes of a manifest that is read
_LONGEST = 500  # characters of a summary
EXAMPLES, EXAMPLES_SIZE = 6, 300_000  # how many are sent, and how many characters of JSON they are together
_PLAIN = "text"  # the kind of an input of which nothing is said


class About(TypedDict):
    """What is told of a version."""

    summary: str
    ranked_by: str  # what orders the best answers
    inputs: list[dict[str, Any]]  # name, type, kind, limit and page of each, in the order in which they are asked for
    examples: list[dict[str, Any]]  # values by input: strings or {"b64": ...}


NOTHING = About(summary="", ranked_by="", inputs=[], examples=[])


def about(folder: Path | None, signature: meta_graph_pb2.SignatureDef) -> About:
    """What is known of a version from its signature and, where there is one, its manifest."""
    told = _read(folder)
    kinds = _mapping(told.get("inputs"))
    names = [name for name in kinds if name in signature.inputs]
    names += sorted(name for name in signature.inputs if name not in kinds)
    return About(
        summary=_line(told.get("summary")),
        ranked_by=_line(told.get("ranked_by")),
        inputs=[
            {"name": name, "type": type_name(signature.inputs[name].dtype), **_input(_mapping(kinds.get(name)))}
            for name in names
        ],
        examples=_examples(told.get("examples"), names),
    )


def _read(folder: Path | None) -> dict[str, Any]:
    try:
        path = folder / EXTRA if folder else None
        if path is None or (path / manifest.FILE).stat().st_size > LARGEST:
            return {}
        return _mapping(manifest.read(path))
    except (OSError, ValueError, RecursionError):
        return {}


def _line(told: Any) -> str:
    return " ".join(told.split())[:_LONGEST] if isinstance(told, str) else ""


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _input(told: dict[str, Any]) -> dict[str, Any]:
    kind, limit, page = told.get("kind"), told.get("limit"), told.get("page")
    return {
        "kind": kind if isinstance(kind, str) else _PLAIN,
        "limit": limit if _is_count(limit) else None,
        "page": page if isinstance(page, list) and len(page) == 2 and all(map(_is_count, page)) else None,
    }


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value is not True and value > 0


def _examples(told: Any, names: Iterable[str]) -> list[dict[str, Any]]:
    """The first examples that have a value for each input and fit together into what is sent."""
    kept: list[dict[str, Any]] = []
    left = EXAMPLES_SIZE
    for example in told if isinstance(told, list) else []:
        values = _mapping(example)
        if values.keys() != set(names) or not all(map(_is_value, values.values())):
            continue
        size = len(json.dumps(values))
        if size <= left and len(kept) < EXAMPLES:
            kept.append(values)
            left -= size
    return kept


def _is_value(value: Any) -> bool:
    if not is_base64(value):
        return isinstance(value, str)
    try:
        return bool(base64.b64decode(value["b64"], validate=True))
    except ValueError:
        return False
