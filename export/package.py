"""A complete export: SavedModel and LiteRT of one model, written to a temporary folder, verified and then published."""

import dataclasses
import hashlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from pathlib import Path

import seqattn_tf
from seqattn_tf.core.atomic_io import user_cache, write_atomically
from seqattn_tf.export.comparison import rows_to_verify
from seqattn_tf.export.describe import describe
from seqattn_tf.export.forms import Form, Lite, SavedModel
from seqattn_tf.export.versions import EXTRA, versions
from seqattn_tf.export.warmup import write_warmup
from seqattn_tf.lite import manifest
from seqattn_tf.models import Model, load
from seqattn_tf.models.base import read_config
from seqattn_tf.presets import find, presets

FORMS = (SavedModel(), Lite())  # in the order in which they are written
MADE_UP = 100  # the number of random rows on which every form is verified, besides examples of the data


@dataclasses.dataclass(frozen=True)
class Exported:
    """An exported version, with the number of rows on which each form agrees with the Keras model."""

    version: Path
    rows: int
    agreeing: Mapping[str, int]  # by the title of the form

    @property
    def lite(self) -> Path:
        """The folder of the LiteRT form."""
        return self.version / Lite.place


def export(source: Path, target: Path, version: int | None = None, forms: Sequence[Form] = FORMS) -> Exported:
    """Export a model folder as the next version of `target` (`models/NAME`), in every form.

    All forms are verified before the version is published, so an incomplete version never appears.

    Args:
        source: The model folder.
        target: The folder that contains the versions.
        version: The number of the version; by default the next one.
        forms: The forms in the order in which they are written, with the SavedModel first.

    Raises:
        ValueError: If an op cannot be served, a form disagrees with the Keras model, or the version exists.
    """
    return export_model(load(source), target, read_config(source)["record"], version, forms)


def export_model(
    model: Model, target: Path, record: dict, version: int | None = None, forms: Sequence[Form] = FORMS
) -> Exported:
    """Export a model in memory as the next version of `target`, as `export` does."""
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
                form.require_agreement(same, fault)
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
    return ValueError(f"version: expected a number that {target} does not contain yet. Received: {number}")


def export_presets(names: Sequence[str] = ()) -> Path:
    """Return the folder with presets as served models; export them on first use, and again after an upgrade.

    Args:
        names: The names of the presets; empty for all.
    """
    models = user_cache() / _state_of_package() / "models"
    missing = [name for name in names or presets() if not versions(models / name)]
    for place, name in enumerate(missing, 1):
        print(f"exporting {name} to {models / name}, once ({place} of {len(missing)})", flush=True)
        try:
            export(find(name), models / name, version=1)
        except ValueError:
            if not versions(models / name):  # otherwise another process has exported the same model
                raise
    return models


def _state_of_package() -> str:
    """Return a cache key that changes with everything an export of the presets depends on."""
    content = hashlib.sha256()
    for package in ("seqattn-tf", "tensorflow", "keras"):
        content.update(importlib.metadata.version(package).encode())
    for module in (__file__, seqattn_tf.__file__):  # the code of exports and models, and the presets
        files = Path(module).parent.rglob("*")
        for file in sorted(path for path in files if path.is_file() and path.suffix != ".pyc"):
            content.update(file.read_bytes())
    return content.hexdigest()[:16]
