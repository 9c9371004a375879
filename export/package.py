"""A whole export: SavedModel and LiteRT of one model, written aside, verified, and only then put in place."""

import dataclasses
import hashlib
import importlib.metadata
import os
from pathlib import Path

from seqattn_tf.aside import written_aside
from seqattn_tf.export import manifest
from seqattn_tf.export.lite import write_lite
from seqattn_tf.export.saved_model import versions, write_saved_model
from seqattn_tf.export.verify import Agreement, fresh_texts, verify
from seqattn_tf.export.warmup import write_warmup
from seqattn_tf.models import Model, load
from seqattn_tf.models.base import read_config
from seqattn_tf.models.presets import find, presets

FRESH_TEXTS = 100


@dataclasses.dataclass(frozen=True)
class Exported:
    """Where the forms are and how they were verified."""

    saved_model: Path
    lite: Path
    agreement: Agreement


def export(source: Path, target: Path, version: int | None = None) -> Exported:
    """Export a model folder as the next version of `target` (`models/NAME`) and to `lite/NAME` beside `models`.

    Both forms are verified before either is in its place: a version appears whole, or not at all.

    Raises:
        ValueError: an op cannot be served, a form does not say what the Keras model says, or the version exists.
    """
    return export_model(load(source), target, read_config(source)["record"], version)


def export_model(model: Model, target: Path, record: dict, version: int | None = None) -> Exported:
    """The same for a model in memory."""
    target = Path(target)
    number = version if version is not None else max(versions(target), default=0) + 1
    place, lite = target / str(number), target.parent.parent / "lite" / target.name
    if place.exists():
        raise _taken(target, number)
    try:
        with written_aside(place) as aside, written_aside(lite, replace_folder=True) as lite_aside:
            described = {**manifest.describe(model, record), "name": target.name, "version": number}
            graph = write_saved_model(model, aside)
            write_lite(model, lite_aside)
            manifest.write(lite_aside, described)  # a LiteRT folder is not usable without one
            texts = fresh_texts(model.source.rules, FRESH_TEXTS)
            agreement = verify(model, aside, lite_aside, texts)
            agreement.check()
            described["verified"] = {name: getattr(agreement, name) for name in ("texts", "saved_model", "lite")}
            manifest.write(lite_aside, described)
            (aside / "assets.extra").mkdir()
            manifest.write(aside / "assets.extra", {**described, **graph})
            write_warmup(aside / "assets.extra", target.name, texts)
    except OSError as error:
        if place.exists():  # another export was faster
            raise _taken(target, number) from error
        raise
    return Exported(place, lite, agreement)


def _taken(target: Path, number: int) -> ValueError:
    return ValueError(f"version: expected one that {target} does not hold. Received: {number}")


def cache_folder() -> Path:
    """Where exported presets are kept: the user's cache."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "seqattn_tf"


def export_presets() -> Path:
    """The folder with every preset as a served model; exported on first use, and again after an upgrade."""
    models = cache_folder() / _state_of_package() / "models"
    for name in presets():
        if not versions(models / name):
            print(f"exporting {name} to {models / name} (once)", flush=True)
            try:
                export(find(name), models / name, version=1)
            except ValueError:
                if not versions(models / name):  # else another process was faster, and its export is as good
                    raise
    return models


def _state_of_package() -> str:
    """A name that changes with whatever an export of the presets depends on."""
    content = hashlib.sha256()
    for package in ("seqattn-tf", "tensorflow", "keras"):
        content.update(importlib.metadata.version(package).encode())
    for folder in (Path(__file__).parent, *map(find, presets())):
        for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            content.update(file.read_bytes())
    return content.hexdigest()[:16]
