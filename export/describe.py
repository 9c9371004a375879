"""The part of an export's manifest that describes the model, independent of the form."""

import datetime
import importlib.metadata
from typing import Any

from seqattn_tf.lite.formats import FORMAT
from seqattn_tf.lite.manifest import without_examples
from seqattn_tf.models import Model


def describe(model: Model, record: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest entries that are the same for every form of an export."""
    return {
        "format": FORMAT,
        "system": model.name_in_registry,
        "settings": model.settings,
        "summary": record.get("summary", ""),
        "inputs": {
            name: {
                "field": field.name_in_registry,
                "widget": field.widget,
                "limit": field.limit,
                "canvas": field.canvas,
            }
            for name, field in model.inputs.items()
        },
        "target": model.target.name_in_registry,
        "attention_maps": dict(model.attention_maps),
        "attention_sources": dict(model.attention_sources),
        "extra_outputs": dict(model.extra_outputs),
        "answer_count": model.answer_count,
        "score_meaning": model.score_meaning,
        "examples": record.get("examples", []),
        "record": without_examples(record),
        "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "created_with": {name: importlib.metadata.version(name) for name in ("tensorflow", "keras")},
    }
