"""The record of a trained model: its recipe, settings, data, metrics and examples."""

import dataclasses
import platform
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.lite.model_inputs import to_json
from seqattn_tf.models.base import read_config
from seqattn_tf.plugins import needed_by
from seqattn_tf.training.data.finding import place
from seqattn_tf.training.feature_maps import given
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.tasks import Settings, Training

_SHOWN, _MOST_SHOWN = 6, 200_000  # the number of examples stored with a model, and the maximum bytes of their values


def describe(
    recipe: Recipe,
    training: Training,
    figures: Mapping[str, float],
    seconds: float,
    data: str | Path | None = None,
) -> dict[str, Any]:
    """Return the record of a trained model: its recipe, settings, data, metrics and examples."""
    splits = training.splits
    shown = list(_shown(training))
    return {
        "recipe": recipe.name,
        "plugins": plugins_of(recipe, training.settings),
        "summary": recipe.summary,
        "settings": dataclasses.asdict(training.settings),
        "data": splits.origin,
        "given": None if data is None else place(data),
        "fingerprint": splits.fingerprint,
        "counts": {part: len(getattr(splits, part)) for part in ("train", "dev", "test")},
        "examples": [example for example, _ in shown],
        "references": [references for _, references in shown],
        "metrics": {name: round(value, 5) for name, value in figures.items()},
        "seconds": round(seconds, 1),
        "revision": _revision(),
        "created_with": {"tensorflow": tf.__version__, "keras": keras.__version__, "machine": platform.machine()},
    }


def _revision() -> str:
    """Return the revision of the Git checkout, marked if files differ from it; empty outside of a checkout."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def plugins_of(recipe: Recipe, settings: Settings) -> dict[str, str]:
    """Return the modules outside the package that a training run uses, with their file names."""
    metrics = recipe.task.with_metric(settings.metric).metrics
    return {**recipe.plugins, **needed_by(metric.measure for metric in metrics)}


def _shown(training: Training) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield JSON inputs of a few small development examples, to demonstrate a model and to verify its exports.

    Each comes with the correct answers in the notation of the model.
    """
    dev, inputs = training.splits.dev, training.model.inputs
    left = _MOST_SHOWN
    chosen = dev[:: max(len(dev) // _SHOWN, 1)][:_SHOWN]
    keys = {example.key for example in chosen}
    right = training.task.references(training.model, [example for example in dev if example.key in keys])
    for example in chosen:
        asked = training.task.model_inputs(example)
        row = {name: field.display(given(asked[name])) for name, field in inputs.items()}
        size = sum(map(len, row.values()))
        if size <= left:
            left -= size
            yield to_json(row), right.get(example.key, [])


_RECORD: dict[str, tuple[type, ...]] = {  # the required entries of a record and their types
    "recipe": (str,),
    "settings": (dict,),
    "data": (str,),
    "fingerprint": (str,),
    "given": (str, type(None)),
    "plugins": (dict,),
}


def read_record(folder: Path) -> dict[str, Any]:
    """Read the record of a trained run.

    Raises:
        ValueError: If the folder contains no model, the model was not trained by a recipe, or its record is damaged.
    """
    record = {"given": None, "plugins": {}, **read_config(folder)["record"]}
    for name, kinds in _RECORD.items():
        if not isinstance(record.get(name), kinds):
            expected = f"{Path(folder) / 'config.json'}: expected a training record with {name!r}"
            raise ValueError(f"{expected}. Received: {record.get(name)!r:.80}")
    return record
