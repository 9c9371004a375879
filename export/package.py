"""A whole export: SavedModel and LiteRT of one model, written aside, verified, and only then put in place."""

import dataclasses
import hashlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from pathlib import Path

import seqattn_tf
from seqattn_tf.core.atomic_io import user_cache, write_atomically
from seqattn_tf.export.describe import describe
from seqattn_tf.export.forms import Form, Lite, SavedModel
from seqattn_tf.export.verify import rows_to_verify
from seqattn_tf.export.versions import versions
from seqattn_tf.export.warmup import write_warmup
from seqattn_tf.lite import manifest
from seqattn_tf.models import Model, load
from seqattn_tf.models.base import read_config
from seqattn_tf.models.presets import find, presets

FORMS = (SavedModel(), Lite())  # in the order in which they are written
EXTRA = "assets.extra"
MADE_UP = 100  # rows that every form is asked, beside examples of the data


@dataclasses.dataclass(frozen=True)
class Exported:
    """A version, where each form of it is, and on how many of the rows asked it agreed with the Keras model."""

    version: Path
    rows: int
    agreeing: Mapping[str, int]  # by the title of the form

    @property
    def lite(self) -> Path:
        """The folder of the LiteRT form."""
        return self.version / Lite.place


def export(source: Path, target: Path, version: int | None = None, forms: Sequence[Form] = FORMS) -> Exported:
    """Export a model folder as the next version of `target` (`models/NAME`), in every form.

    All forms are verified before the version is in its place: it appears whole, or not at all.

    Args:
        source: the model folder.
        target: what gets a version.
        version: its number; the next one otherwise.
        forms: in which it is written, in their order, the SavedModel first.

    Raises:
        ValueError: an op cannot be served, a form does not say what the Keras model says, or the version exists.
    """
    return export_model(load(source), target, read_config(source)["record"], version, forms)


def export_model(
    model: Model, target: Path, record: dict, version: int | None = None, forms: Sequence[Form] = FORMS
) -> Exported:
    """The same for a model in memory."""
    target = Path(target)
    number = version if version is not None else max(versions(target), default=0) + 1
    place = target / str(number)
    if place.exists():
        raise _taken(target, number)
    for form in forms:
        form.refuse(model)
    try:
        with write_atomically(place) as made:
            described = {**describe(model, record), "name": target.name, "version": number}
            rows = rows_to_verify(model.inputs, record, MADE_UP)
            agreeing = {}
            for form in forms:
                folder = made / form.place
                folder.mkdir(parents=True, exist_ok=True)
                described |= form.write(model, folder, described)
                same, fault = form.compare(model, folder, rows)
                form.check(same, fault)
                agreeing[form.title] = int(same.sum())
            described["verified"] = {"rows": len(rows), **agreeing}
            for form in forms:
                form.describe(made / form.place, described)
            manifest.write(made / EXTRA, described)
            write_warmup(made / EXTRA, target.name, rows)
    except OSError as error:
        if place.exists():  # another export was faster
            raise _taken(target, number) from error
        raise
    return Exported(place, len(rows), agreeing)


def _taken(target: Path, number: int) -> ValueError:
    return ValueError(f"version: expected one that {target} does not hold. Received: {number}")


def export_presets() -> Path:
    """The folder with every preset as a served model; exported on first use, and again after an upgrade."""
    models = user_cache() / _state_of_package() / "models"
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
    for module in (__file__, seqattn_tf.__file__):  # the code of exports, of models, and presets
        files = Path(module).parent.rglob("*")
        for file in sorted(path for path in files if path.is_file() and path.suffix != ".pyc"):
            content.update(file.read_bytes())
    return content.hexdigest()[:16]
