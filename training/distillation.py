"""A student that learns from teachers: smaller than they are, and nearly as good."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqattn_tf.lite.targets.base import save_target
from seqattn_tf.models import Model, load
from seqattn_tf.models.presets import find
from seqattn_tf.training.checkpoints import digest
from seqattn_tf.training.data import Splits
from seqattn_tf.training.ensembling import as_one
from seqattn_tf.training.identity import weights_file
from seqattn_tf.training.lessons import Lessons, Teacher, read_lessons, write_lessons
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.record import read_record
from seqattn_tf.training.run import train
from seqattn_tf.training.tasks import Settings

_LESSONS = "lessons"  # in the folder of a run


@dataclasses.dataclass(frozen=True)
class Teaching:
    """How lessons are made.

    Args:
        made_up: inputs that are made up; None for as many as the training split has, where the recipe knows how.
        top: how many of the greatest probabilities are told, at every symbol.
        least: the least log-probability of an answer to an input that was made up.
    """

    made_up: int | None = None
    top: int = 3
    least: float = -3.0


_TEACHING = Teaching()


def distill(
    recipe: Recipe,
    settings: Settings,
    folder: Path,
    teachers: Sequence[str | Path],
    data: str | Path | None = None,
    teaching: Teaching = _TEACHING,
    **training: Any,
) -> Model:
    """Train a student with Keras `fit`, on the right answers and on those of its teachers, and return the best model.

    What the teachers say is kept in `lessons/` of the folder; run again, it is asked of them no more, and the training
    goes on as `train` does.

    Args:
        recipe: what is trained.
        settings: of the student.
        folder: of its run.
        teachers: runs or presets of the same recipe and data; several answer as one.
        data: where they are; the recipe's own otherwise.
        teaching: how lessons are made.
        **training: as of `run.train`.

    Raises:
        ValueError: teachers of something else, or an answer that nobody can be taught.
    """
    if not teachers:
        raise ValueError("teacher: expected one run or more. Received: none")
    recipe.task.check_student(settings)  # before teachers are asked, which takes long
    folders = [find(teacher) for teacher in teachers]

    def lessons(splits: Splits) -> Lessons:
        return _lessons(recipe, splits, folders, Path(folder) / _LESSONS, teaching, settings.seed)

    return train(recipe, settings, folder, data, lessons=lessons, **training)


def _lessons(
    recipe: Recipe, splits: Splits, teachers: Sequence[Path], folder: Path, teaching: Teaching, seed: int
) -> Lessons:
    """What the teachers say; what the folder does not hold yet is asked of them."""
    for teacher in teachers:
        _check(teacher, recipe, splits)
    made_up = _count(recipe, splits, teaching.made_up)
    models = [load(teacher) for teacher in teachers]
    model = as_one(models) if len(models) > 1 else models[0]
    about = {
        "teachers": [
            digest(weights_file(teacher).read_bytes() + (teacher / "config.json").read_bytes()) for teacher in teachers
        ],
        "data": splits.fingerprint,
        "made_up": made_up,
        "top": teaching.top,
        "seed": seed,
        "target": save_target(model.target),
    }

    def make_up() -> Sequence[Any]:
        return recipe.make_up(splits, made_up, seed) if recipe.make_up and made_up else []

    write_lessons(folder, Teacher(model, teaching.top), splits.train, make_up, about)
    learned = read_lessons(folder, splits.train, teaching.least)
    print(f"lessons: {len(learned.keys)} of the training split, {len(learned.made_up)} of {made_up} made up")
    return learned


def _check(folder: Path, recipe: Recipe, splits: Splits) -> None:
    """Refuse a teacher of something else, or one that may have learned what the student is measured on."""
    record = read_record(folder)
    for name, expected in (("recipe", recipe.name), ("fingerprint", splits.fingerprint)):
        if record[name] != expected:
            raise ValueError(f"teacher: expected the {name} {expected!r}. Received: {record[name]!r} in {folder}")


def _count(recipe: Recipe, splits: Splits, asked: int | None) -> int:
    if asked and recipe.make_up is None:
        raise ValueError(f"made_up: expected 0, since nobody knows how for {recipe.name}. Received: {asked}")
    if asked is not None and asked < 0:
        raise ValueError(f"made_up: expected at least 0. Received: {asked}")
    return (len(splits.train) if recipe.make_up else 0) if asked is None else asked
