"""What a training is of: a folder holds one, and goes on with no other."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from seqattn_tf.models import Model, load
from seqattn_tf.models.base import COMPACT, WHOLE
from seqattn_tf.models.presets import find
from seqattn_tf.training.checkpoints import Checkpoint, digest
from seqattn_tf.training.data import Splits
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.record import read_record
from seqattn_tf.training.tasks import Settings, Task
from seqattn_tf.training.xla import remembered

_READING = ("encoding", "max_bad_rows")  # settings of which the fingerprint of the data tells whether they matter


def identity(
    recipe: Recipe,
    settings: Settings,
    splits: Splits,
    init_from: str | Path | None,
    xla: str = "off",
    lessons: str = "",
) -> dict[str, Any]:
    """What a training is of, as JSON holds it, and how its steps are made."""
    begins = "" if init_from is None else digest(weights_file(find(init_from)).read_bytes())
    about = {"recipe": recipe.name, "settings": dataclasses.asdict(settings), "data": splits.fingerprint}
    return {**json.loads(json.dumps(about)), "init_from": begins, "xla": xla, "lessons": lessons}


def refuse_another(folder: Path, held: Checkpoint | None, about: Mapping[str, Any], task: Task) -> None:
    """Refuse another recipe, other settings or other data than those of a folder; more epochs or patience go on.

    Raises:
        ValueError: it is another training.
    """
    if held is None and not (folder / "config.json").is_file():
        return
    if held is not None:
        was = {**held.about, "xla": remembered(held.about)}
    else:
        record = read_record(folder)
        own = {"init_from": record.get("init_from", ""), "xla": remembered(record)}
        was = {**record, **own, "data": record["fingerprint"]}
    was = {"lessons": "", **was}
    pairs = {name: (was.get(name), about[name]) for name in ("recipe", "data", "init_from", "xla", "lessons")}
    pairs |= {
        name: (was["settings"].get(name), value) for name, value in about["settings"].items() if name not in _READING
    }
    other = {name: (before, now) for name, (before, now) in pairs.items() if before != now}
    for name in () if task.ordered else ("epochs", "patience"):
        if name in other and other[name][0] is not None and other[name][0] < other[name][1]:
            del other[name]
    if other:
        raise ValueError(f"{folder} holds a run with other settings (held, asked): {other}. Choose another --run")


def begin_from(folder: Path, recipe: Recipe, settings: Settings, splits: Splits) -> Model:
    """The model of another run, to be trained on.

    Raises:
        ValueError: it is of another recipe, or the settings ask for another network.
    """
    record = read_record(folder)
    if record["recipe"] != recipe.name:
        raise ValueError(f"init_from: expected a run of {recipe.name}. Received: one of {record['recipe']}, {folder}")
    before = settings_of(recipe, record["settings"])
    here, there = (_shape(recipe.task.begin(chosen, splits).network) for chosen in (settings, before))
    if here != there:
        now = dataclasses.asdict(settings)
        other = {name: (value, now[name]) for name, value in dataclasses.asdict(before).items() if value != now[name]}
        raise ValueError(f"init_from: expected settings that leave the network as it is (held, asked): {other}")
    return load(folder)


def settings_of(recipe: Recipe, held: Mapping[str, Any]) -> Settings:
    """The settings that a record holds; those that are new since then as they are by default."""
    known = {field.name for field in dataclasses.fields(recipe.settings)}
    return dataclasses.replace(recipe.settings, **{name: value for name, value in held.items() if name in known})


def _shape(network: keras.Model) -> Any:
    """What a network is made of, without the names that Keras numbers."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if key not in ("name", "shared_object_id")}
        return [plain(item) for item in value] if isinstance(value, list | tuple) else value

    return plain(keras.saving.serialize_keras_object(network))


def weights_file(folder: Path) -> Path:
    """Where a model's weights are."""
    return folder / WHOLE if (folder / WHOLE).is_file() else folder / COMPACT
