"""Models that ship with the package, each with the record of its training, and names for all models."""

import os
from pathlib import Path

from seqattn_tf.core.registry import suggest
from seqattn_tf.models.base import Model, load

FOLDER = Path(__file__).resolve().parent.parent / "presets"


def presets() -> list[str]:
    """The names of the models that ship with the package."""
    return sorted(config.parent.name for config in FOLDER.glob("*/config.json"))


def find(name: str | os.PathLike[str]) -> Path:
    """The folder of a model: a preset's name, or the path of a run.

    >>> find("pronounce").name
    'pronounce'
    """
    if str(name) in presets():
        return FOLDER / str(name)
    if (Path(name) / "config.json").is_file():
        return Path(name)
    near = suggest(name, presets())
    raise ValueError(
        f"model: expected one of the presets {presets()} or the folder of a run. Received: {str(name)!r}{near}"
    )


def open_model(name: str | os.PathLike[str]) -> Model:
    """The model of a preset's name or of a run's folder."""
    return load(find(name))
