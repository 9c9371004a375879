"""The evaluation of trained runs: on a split of their own data, or on any other labelled data."""

import dataclasses
import hashlib
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from seqattn_tf.models import Model, load
from seqattn_tf.plugins import advice
from seqattn_tf.training import recipes
from seqattn_tf.training.data import DataWarning, Example, Splits, finding
from seqattn_tf.training.data.examples import first_of_each
from seqattn_tf.training.data.sources import read_for_test
from seqattn_tf.training.faithfulness import Faithfulness, faithfulness
from seqattn_tf.training.metrics import Difference, Interval, differences, intervals
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.record import read_record
from seqattn_tf.training.resuming import settings_of
from seqattn_tf.training.run import open_splits
from seqattn_tf.training.tasks import Report, Settings, Task
from seqattn_tf.training.tasks.base import refuse_unreadable


@dataclasses.dataclass(frozen=True)
class Evaluation(Report):
    """The results of an evaluation, and what the test set consists of.

    Args:
        origin: The origin of the test examples.
        identities: A digest of the inputs of each key, in order.
        seen: Whether the inputs of each key occur in the training data; empty if these are not known.
        skipped: The number of inputs that the model cannot read.
    """

    origin: str = ""
    identities: Sequence[bytes] = ()
    seen: Sequence[bool] = ()
    skipped: int = 0

    @property
    def keys(self) -> int:
        """The number of different inputs."""
        return len(self.identities)

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """The 95 % interval of each metric that has one."""
        return {name: found for sampled in self.samples for name, found in intervals(sampled).items()}

    @property
    def unseen(self) -> dict[str, float]:
        """The metrics of the inputs that do not occur in the training data; empty if all do, or none."""
        weights = ~np.array(self.seen, bool)
        if weights.all() or not weights.any():
            return {}
        own = [sampled for sampled in self.samples if sampled.keys == len(weights)]
        return {name: value for sampled in own for name, value in sampled.of(weights.astype(int)).items()}

    def compare(self, other: "Evaluation") -> dict[str, Difference]:
        """Compare the metrics with those of another model on the same test set, this one minus the other.

        Raises:
            ValueError: If the test sets differ.
        """
        if self.identities != other.identities:
            raise ValueError(
                f"comparison: expected the same test examples. Received: {self.keys} of {self.origin}, "
                f"and {other.keys} of {other.origin}"
            )
        found: dict[str, Difference] = {}
        for one, two in zip(self.samples, other.samples, strict=False):
            if one.keys == two.keys:
                found |= differences(one, two)
        return found


def evaluate(
    folder: Path,
    data: str | Path | None = None,
    split: str = "test",
    *,
    test: str | Path | None = None,
    assignments: Sequence[str] = (),
) -> Evaluation:
    """Evaluate a trained run on a split of its data, or on other data.

    Args:
        folder: The folder of the run.
        data: The location of the data that it was trained on, if that has changed.
        split: The split to evaluate on.
        test: Labelled data to evaluate on instead: a file, or a folder with a test set, in the format of the recipe.
        assignments: Settings `NAME=VALUE` for reading `test`, such as the names of its columns.
    """
    if test is None:
        task, model, splits = open_run(folder, data)
        examples, origin, notes = getattr(splits, split), f"{split} split of {splits.origin}", splits.notes
        training: Sequence[Example] | None = splits.train
        compared = split != "train" and all(isinstance(value, str) for value in examples[0].inputs.values())
    else:
        task, model = open_model(folder)
        found = read_test(folder, test, assignments)
        examples, origin, notes = found.test, found.origin, found.notes
        training, compared = _training_examples(folder, data), True
    examples, skipped = _readable(model, examples) if test is not None else (examples, 0)
    report = task.measure(model, examples, notes, quiet=False)
    baselines = {} if training is None else task.baselines(model, training, examples)
    metrics = {**report.metrics, **baselines}
    identities = [_identity(example) for example in first_of_each(examples).values()]
    known = set(map(_identity, training)) if training is not None and compared else None
    seen = [] if known is None else [identity in known for identity in identities]
    return Evaluation(metrics, report.groups, report.samples, origin, identities, seen, skipped)


def evaluate_faithfulness(folder: Path, data: str | Path | None = None, split: str = "test") -> Faithfulness:
    """Evaluate how well the attention of a trained run explains its answers on a split of its data."""
    _, model, splits = open_run(folder, data)
    return faithfulness(model, getattr(splits, split), quiet=False)


def groups_of(folder: Path) -> list[str]:
    """Return the titles of the groups that `evaluate` reports for a trained run; these can be plotted."""
    return list(_recipe_of(folder, read_record(folder))[2].groups)


def open_model(folder: Path) -> tuple[Task[Any, Any], Model]:
    """Return the task of a trained run and its model."""
    return _recipe_of(folder, read_record(folder))[2], load(folder)


def open_run(folder: Path, data: str | Path | None = None) -> tuple[Task[Any, Any], Model, Splits]:
    """Return the task of a trained run, its model and its data."""
    return *open_model(folder), _own_data(folder, data)


def _own_data(folder: Path, data: str | Path | None) -> Splits:
    """Return the data that a run was trained on."""
    record = read_record(folder)
    recipe, settings, _ = _recipe_of(folder, record)
    splits = open_splits(recipe, settings, _remembered(folder, record) if data is None else data)
    trained_on = f"{record['data']} ({record['fingerprint']})"
    given = f"{splits.origin} ({splits.fingerprint})"
    if record["fingerprint"] != splits.fingerprint:  # the test examples may have been used in training
        raise ValueError(
            f"data: expected {trained_on}, which the model was trained on. "
            f"Received: {given}; choose the data with --data, or evaluate on other data with --test"
        )
    return splits


def _training_examples(folder: Path, data: str | Path | None) -> Sequence[Example] | None:
    """Return the examples that a run was trained on, or None, with a warning, if they cannot be found."""
    try:
        return _own_data(folder, data).train
    except (ValueError, OSError) as error:
        if data is not None:
            raise
        warnings.warn(f"overlap with the training data is unknown: {error}", DataWarning, stacklevel=3)
        return None


def read_test(folder: Path, test: str | Path, assignments: Sequence[str] = ()) -> Splits:
    """Read labelled data in the format of the recipe of a run: its test part if it has one, otherwise all of it."""
    recipe, settings, _ = _recipe_of(folder, read_record(folder))
    if not finding.is_there(str(test)):
        raise ValueError(f"test: expected a file or folder with labelled data. Received: no such file, {test}")
    with read_for_test():
        found = open_splits(recipe, settings.with_assignments(assignments), test)
    if not found.test:
        raise ValueError(f"test: expected labelled examples. Received: none in {test}")
    return found


def _readable(model: Model, examples: Sequence[Example]) -> tuple[Sequence[Example], int]:
    """Leave out the examples whose inputs the model cannot read, with a warning, and return their number."""
    inputs, bad = first_of_each(examples), dict[str, str]()
    for key, example in inputs.items():
        try:
            refuse_unreadable(model, [example])
        except ValueError as error:
            bad[key] = str(error)
    if not bad:
        return examples, 0
    first = next(iter(bad.values()))
    if len(bad) == len(inputs):
        raise ValueError(f"test: expected inputs that the model can read. Received: {first}")
    warnings.warn(f"test: the model cannot read {len(bad)} of the inputs; skipped: {first}", DataWarning, stacklevel=3)
    return [example for example in examples if example.key not in bad], len(bad)


def _identity(example: Example) -> bytes:
    """Return a digest of the inputs of an example; files are identified by their content."""
    total = hashlib.blake2b(digest_size=16)
    for value in example.inputs.values() if example.inputs else [example.target]:
        content = value.read() if hasattr(value, "read") else value
        total.update(content if isinstance(content, bytes) else str(content).encode())
        total.update(b"\0")
    return total.digest()


def _recipe_of(folder: Path, record: Mapping[str, Any]) -> tuple[Recipe, Settings, Task[Any, Any]]:
    """Return the recipe of a trained run, its settings, and its task with the chosen metric."""
    try:
        recipe = recipes.get(record["recipe"])
        settings = settings_of(recipe, record["settings"])
        return recipe, settings, recipe.task.with_metric(settings.metric)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{folder}, {error}{advice(record['plugins'])}") from None


def _remembered(folder: Path, record: Mapping[str, Any]) -> str | None:
    """Return the location of the data that a run was trained on."""
    given = record["given"]
    if given is not None and not finding.is_there(given):
        raise ValueError(
            f"data: expected {given}, which {folder} was trained on. Received: no such file; use --data if it has moved"
        )
    return given
