"""The record of a trained model: what it is, from which data, how good, and what it may be asked."""

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
from seqattn_tf.training.maps import given
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.tasks import Settings, Training

_SHOWN, _MOST_SHOWN = 6, 200_000  # examples that a model carries, and the most bytes of all their values


def describe(
    recipe: Recipe,
    training: Training,
    figures: Mapping[str, float],
    seconds: float,
    data: str | Path | None = None,
) -> dict[str, Any]:
    """The record of a trained model: what it is, from which data, how good, and what it may be asked."""
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
        "figures": {name: round(value, 5) for name, value in figures.items()},
        "seconds": round(seconds, 1),
        "revision": _revision(),
        "made_with": {"tensorflow": tf.__version__, "keras": keras.__version__, "machine": platform.machine()},
    }


def _revision() -> str:
    """That of the Git checkout one works in, with a mark where files differ from it; empty outside of one."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def plugins_of(recipe: Recipe, settings: Settings) -> dict[str, str]:
    """The modules from outside the package that a training is made of, with the names of their files."""
    metrics = recipe.task.measured_by(settings.metric).metrics
    return {**recipe.plugins, **needed_by(metric.measure for metric in metrics)}


def _shown(training: Training) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Inputs of a few development examples as JSON holds them, small together: to show, and to verify exports with.

    With each come its right answers, as the model would write them.
    """
    dev, inputs = training.splits.dev, training.model.inputs
    left = _MOST_SHOWN
    chosen = dev[:: max(len(dev) // _SHOWN, 1)][:_SHOWN]
    keys = {example.key for example in chosen}
    right = training.task.references(training.model, [example for example in dev if example.key in keys])
    for example in chosen:
        asked = training.task.asked(example)
        row = {name: field.shown(given(asked[name])) for name, field in inputs.items()}
        size = sum(map(len, row.values()))
        if size <= left:
            left -= size
            yield to_json(row), right.get(example.key, [])


_RECORD: dict[str, tuple[type, ...]] = {  # what a run remembers of itself, of which types
    "recipe": (str,),
    "settings": (dict,),
    "data": (str,),
    "fingerprint": (str,),
    "given": (str, type(None)),
    "plugins": (dict,),
}


def read_record(folder: Path) -> dict[str, Any]:
    """The record of a trained run.

    Raises:
        ValueError: the folder is no model's, or no recipe trained it, or its record is damaged.
    """
    record = {"given": None, "plugins": {}, **read_config(folder)["record"]}
    for name, kinds in _RECORD.items():
        if not isinstance(record.get(name), kinds):
            expected = f"{Path(folder) / 'config.json'}: expected the record of a training with {name!r}"
            raise ValueError(f"{expected}. Received: {record.get(name)!r:.80}")
    return record
