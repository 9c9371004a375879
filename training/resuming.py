"""The identity of a run: a folder contains one run and can only resume that one."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from seqattn_tf.lite.formats import COMPACT, WHOLE
from seqattn_tf.models import Model, load
from seqattn_tf.presets import find
from seqattn_tf.training.checkpoints import Checkpoint, digest
from seqattn_tf.training.data import Splits
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.record import read_record
from seqattn_tf.training.tasks import Settings, Task
from seqattn_tf.training.xla import remembered

_READING = ("encoding", "max_bad_rows")  # settings that matter only if they change the fingerprint of the data


def identity(
    recipe: Recipe,
    settings: Settings,
    splits: Splits,
    init_from: str | Path | None,
    xla: str = "off",
    soft_targets: str = "",
) -> dict[str, Any]:
    """Return a JSON value that identifies a run, including whether its steps are compiled."""
    begins = "" if init_from is None else digest(weights_file(find(init_from)).read_bytes())
    about = {"recipe": recipe.name, "settings": dataclasses.asdict(settings), "data": splits.fingerprint}
    return {**json.loads(json.dumps(about)), "init_from": begins, "xla": xla, "soft_targets": soft_targets}


def check_same_run(folder: Path, held: Checkpoint | None, about: Mapping[str, Any], task: Task) -> None:
    """Raise an error if a folder contains another run; more epochs or more patience are allowed.

    Raises:
        ValueError: If the recipe, the settings or the data differ.
    """
    if held is None and not (folder / "config.json").is_file():
        return
    if held is not None:
        was = {**held.about, "xla": remembered(held.about)}
    else:
        record = read_record(folder)
        own = {"init_from": record.get("init_from", ""), "xla": remembered(record)}
        was = {**record, **own, "data": record["fingerprint"]}
    was = {"soft_targets": "", **was}
    pairs = {name: (was.get(name), about[name]) for name in ("recipe", "data", "init_from", "xla", "soft_targets")}
    pairs |= {
        name: (was["settings"].get(name), value) for name, value in about["settings"].items() if name not in _READING
    }
    other = {name: (before, now) for name, (before, now) in pairs.items() if before != now}
    for name in () if task.ordered else ("epochs", "patience"):
        if name in other and other[name][0] is not None and other[name][0] < other[name][1]:
            del other[name]
    if other:
        raise ValueError(f"{folder} contains a run with other settings (stored, given): {other}. Choose another --run")


def begin_from(folder: Path, recipe: Recipe, settings: Settings, splits: Splits) -> Model:
    """Return the model of another run as a starting point for training.

    Raises:
        ValueError: If it has another recipe, or if the settings imply another network.
    """
    record = read_record(folder)
    if record["recipe"] != recipe.name:
        raise ValueError(f"init_from: expected a run of {recipe.name}. Received: a run of {record['recipe']}, {folder}")
    before = settings_of(recipe, record["settings"])
    here, there = (_shape(recipe.task.create_model(chosen, splits).network) for chosen in (settings, before))
    if here != there:
        now = dataclasses.asdict(settings)
        other = {name: (value, now[name]) for name, value in dataclasses.asdict(before).items() if value != now[name]}
        raise ValueError(f"init_from: expected settings that do not change the network (stored, given): {other}")
    return load(folder)


def settings_of(recipe: Recipe, held: Mapping[str, Any]) -> Settings:
    """Return the settings in a record, with defaults for those that it lacks."""
    known = {field.name for field in dataclasses.fields(recipe.settings)}
    return dataclasses.replace(recipe.settings, **{name: value for name, value in held.items() if name in known})


def _shape(network: keras.Model) -> Any:
    """Return the configuration of a network without the names that Keras numbers."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if key not in ("name", "shared_object_id")}
        return [plain(item) for item in value] if isinstance(value, list | tuple) else value

    return plain(keras.saving.serialize_keras_object(network))


def weights_file(folder: Path) -> Path:
    """Return the path of a model's weights."""
    return folder / WHOLE if (folder / WHOLE).is_file() else folder / COMPACT
