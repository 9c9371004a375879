"""The files that describe the inputs and the target of a model, readable without TensorFlow."""

import json
from collections.abc import Mapping
from pathlib import Path

from seqattn_tf.core.atomic_io import write_json
from seqattn_tf.lite.fields.base import Field, load_fields, save_fields
from seqattn_tf.lite.targets.base import Target, load_target, save_target

INPUTS, TARGET = "inputs.json", "target.json"


def save_assets(folder: Path, inputs: Mapping[str, Field], target: Target) -> None:
    """Write the inputs and the target to their files."""
    write_json(folder / INPUTS, save_fields(inputs))
    write_json(folder / TARGET, save_target(target))


def load_assets(folder: Path) -> tuple[dict[str, Field], Target]:
    """Read the inputs and the target from their files.

    Raises:
        ValueError: If a file is damaged or missing, or names an unknown field or target.
    """
    try:
        inputs, target = (json.loads((folder / name).read_text(encoding="utf-8")) for name in (INPUTS, TARGET))
        return load_fields(inputs), load_target(target)
    except (OSError, TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{folder}: expected complete {INPUTS} and {TARGET}. Received: {error}") from None
