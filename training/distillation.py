"""Knowledge distillation: a student that learns from teachers and is smaller than they are but nearly as good."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqattn_tf.lite.targets.base import save_target
from seqattn_tf.models import Model, load
from seqattn_tf.presets import find
from seqattn_tf.training.checkpoints import digest
from seqattn_tf.training.data import Splits
from seqattn_tf.training.ensembling import as_one
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.record import read_record
from seqattn_tf.training.resuming import weights_file
from seqattn_tf.training.run import train
from seqattn_tf.training.soft_targets import SoftTargets, Teacher, read_soft_targets, write_soft_targets
from seqattn_tf.training.tasks import Settings

_SOFT_TARGETS = "soft_targets"  # a subfolder of the run


@dataclasses.dataclass(frozen=True)
class DistillConfig:
    """The settings for making soft targets.

    Args:
        synthetic: The number of synthetic inputs; None for as many as the training split has, if the recipe can make
            them.
        top_k: The number of most probable symbols or labels to store at every position.
        min_log_prob: The minimum log-probability of an answer to a synthetic input.
    """

    synthetic: int | None = None
    top_k: int = 3
    min_log_prob: float = -3.0


_TEACHING = DistillConfig()


def distill(
    recipe: Recipe,
    settings: Settings,
    folder: Path,
    teachers: Sequence[str | Path],
    data: str | Path | None = None,
    teaching: DistillConfig = _TEACHING,
    **training: Any,
) -> Model:
    """Train a student with Keras `fit` on the correct answers and on those of its teachers, and return the best model.

    The soft targets are stored in `soft_targets/` of the folder. A second call reuses them and resumes training as
    `train` does.

    Args:
        recipe: The recipe to train.
        settings: The settings of the student.
        folder: The folder of the student's run.
        teachers: Runs or presets of the same recipe and data. Several teachers form an ensemble.
        data: The location of the data; the default data of the recipe if None.
        teaching: The settings for making soft targets.
        **training: Other arguments of `run.train`.

    Raises:
        ValueError: If a teacher has another recipe or other data, or if its answers cannot be taught.
    """
    if not teachers:
        raise ValueError("teacher: expected at least one run. Received: none")
    recipe.task.check_student(settings)  # before running the teachers, which takes long
    folders = [find(teacher) for teacher in teachers]

    def soft_targets(splits: Splits) -> SoftTargets:
        return _soft_targets(recipe, splits, folders, Path(folder) / _SOFT_TARGETS, teaching, settings.seed)

    return train(recipe, settings, folder, data, soft_targets=soft_targets, **training)


def _soft_targets(
    recipe: Recipe, splits: Splits, teachers: Sequence[Path], folder: Path, teaching: DistillConfig, seed: int
) -> SoftTargets:
    """Return the soft targets of the teachers, after computing those that the folder lacks."""
    for teacher in teachers:
        _check(teacher, recipe, splits)
    count = _count(recipe, splits, teaching.synthetic)
    models = [load(teacher) for teacher in teachers]
    model = as_one(models) if len(models) > 1 else models[0]
    about = {
        "teachers": [
            digest(weights_file(teacher).read_bytes() + (teacher / "config.json").read_bytes()) for teacher in teachers
        ],
        "data": splits.fingerprint,
        "synthetic": count,
        "top_k": teaching.top_k,
        "seed": seed,
        "target": save_target(model.target),
    }

    def synthesize() -> Sequence[Any]:
        return recipe.synthesize(splits, count, seed) if recipe.synthesize and count else []

    write_soft_targets(folder, Teacher(model, teaching.top_k), splits.train, synthesize, about)
    learned = read_soft_targets(folder, splits.train, teaching.min_log_prob)
    print(f"soft targets: {len(learned.keys)} training examples, {len(learned.synthetic)} of {count} synthetic inputs")
    return learned


def _check(folder: Path, recipe: Recipe, splits: Splits) -> None:
    """Raise an error if a teacher has another recipe, or other data, which may include the student's test data."""
    record = read_record(folder)
    for name, expected in (("recipe", recipe.name), ("fingerprint", splits.fingerprint)):
        if record[name] != expected:
            raise ValueError(f"teacher: expected the {name} {expected!r}. Received: {record[name]!r} in {folder}")


def _count(recipe: Recipe, splits: Splits, asked: int | None) -> int:
    if asked and recipe.synthesize is None:
        raise ValueError(f"synthetic: expected 0, because {recipe.name} cannot generate inputs. Received: {asked}")
    if asked is not None and asked < 0:
        raise ValueError(f"synthetic: expected at least 0. Received: {asked}")
    return (len(splits.train) if recipe.synthesize else 0) if asked is None else asked
