"""What the manifest of an export says of its model, whatever the form."""

import datetime
import importlib.metadata
from typing import Any

from seqattn_tf.lite.manifest import without_examples
from seqattn_tf.models import Model


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
