"""The description of a version for the page, from its manifest: what the model does, its inputs, and examples.

The manifest is optional and untrusted: one that is broken, very large or in another form counts as missing.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypedDict

from seqattn_tf.lite import manifest
from seqattn_tf.serving.api.json_values import is_base64
from seqattn_tf.serving.models.servable import type_name
from seqattn_tf.serving.protos import SignatureDef

LARGEST = 4_000_000  # maximum size of a manifest in bytes
_LONGEST = 500  # maximum length of a summary in characters
EXAMPLES, EXAMPLES_SIZE = 6, 300_000  # maximum number of examples, and their maximum length in total as JSON
_PLAIN = "text"  # the default widget of an input


class About(TypedDict):
    """The description of a version."""

    summary: str
    score_meaning: str  # the meaning of the scores that rank the best answers
    inputs: list[dict[str, Any]]  # name, type, widget, limit and canvas of each input, in the order of the form
    examples: list[dict[str, Any]]  # values by input name: strings or {"b64": ...}


NOTHING = About(summary="", score_meaning="", inputs=[], examples=[])


def about(folder: Path | None, signature: SignatureDef) -> About:
    """Return the description of a version, from its signature and the manifest in a folder, if there is one."""
    told = _read(folder)
    kinds = _mapping(told.get("inputs"))
    names = [name for name in kinds if name in signature.inputs]
    names += sorted(name for name in signature.inputs if name not in kinds)
    return About(
        summary=_line(told.get("summary")),
        score_meaning=_line(told.get("score_meaning")),
        inputs=[
            {"name": name, "type": type_name(signature.inputs[name].dtype), **_input(_mapping(kinds.get(name)))}
            for name in names
        ],
        examples=_examples(told.get("examples"), names),
    )


def _read(folder: Path | None) -> dict[str, Any]:
    try:
        if folder is None or (folder / manifest.FILE).stat().st_size > LARGEST:
            return {}
        return _mapping(manifest.read(folder))
    except (OSError, ValueError, RecursionError):
        return {}


def _line(told: Any) -> str:
    return " ".join(told.split())[:_LONGEST] if isinstance(told, str) else ""


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _input(told: dict[str, Any]) -> dict[str, Any]:
    widget, limit, canvas = told.get("widget"), told.get("limit"), told.get("canvas")
    return {
        "widget": widget if isinstance(widget, str) else _PLAIN,
        "limit": limit if _is_count(limit) else None,
        "canvas": canvas if isinstance(canvas, list) and len(canvas) == 2 and all(map(_is_count, canvas)) else None,
    }


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value is not True and value > 0


def _examples(told: Any, names: Iterable[str]) -> list[dict[str, Any]]:
    """Return the first examples that have a value for each input and whose total size is within the limit."""
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
