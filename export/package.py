"""A whole export: SavedModel and LiteRT of one model, verified."""

import dataclasses
import hashlib
import os
from pathlib import Path

from seqattn_tf.export.lite import export_lite
from seqattn_tf.export.saved_model import export_saved_model, versions
from seqattn_tf.export.verify import Agreement, fresh_texts, verify
from seqattn_tf.models import load
from seqattn_tf.models.base import read_config
from seqattn_tf.models.presets import find, presets

FRESH_TEXTS = 100


@dataclasses.dataclass(frozen=True)
class Exported:
    """Where the forms are and how they were verified."""

    saved_model: Path
    lite: Path
    agreement: Agreement


def export(source: Path, target: Path) -> Exported:
    """Export the model folder `source` as the next version of `target` (`models/NAME`) and to `lite/NAME` beside it.

    Raises:
        ValueError: an op cannot be served, or a form does not say what the Keras model says.
    """
    target = Path(target)
    model, record = load(source), read_config(source)["record"]
    lite = export_lite(model, target.parent.parent / "lite" / target.name, record)
    version = export_saved_model(model, target, record)
    agreement = verify(model, version, lite, fresh_texts(model.source.rules, FRESH_TEXTS))
    agreement.check()
    return Exported(version, lite, agreement)


def cache_folder() -> Path:
    """Where exported presets are kept: the user's cache."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "seqattn_tf"


def export_presets() -> Path:
    """The folder with every preset as a served model; exported on first use, and again when the package's change."""
    content = hashlib.sha256()
    for name in presets():
        for file in sorted(find(name).glob("*.*")):
            content.update(file.read_bytes())
    models = cache_folder() / content.hexdigest()[:16] / "models"
    for name in presets():
        if not versions(models / name):
            print(f"exporting {name} to {models / name} (once)", flush=True)
            export_saved_model(load(find(name)), models / name, read_config(find(name))["record"])
    return models
