"""Checks of a recipe: training, inference, evaluation, saving and export."""

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from seqattn_tf.checks.base import Checks, Problem, expect
from seqattn_tf.training import run
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.record import read_record

_FEW = {"epochs": 1, "max_examples": 64, "batch_size": 16, "warmup_steps": 2}


class RecipeChecks(Checks):
    """Checks of a whole recipe, which share one short training run.

    Args:
        part: A `Recipe`.
        data: The location of its data. Defaults to its own data.
        **settings: Changes to its `small` settings, besides training for one epoch on a few examples.
    """

    def __init__(self, part: Recipe, data: str | Path | None = None, **settings: Any) -> None:
        super().__init__(part)
        self.data = data
        known = {field.name for field in dataclasses.fields(part.small)}
        few = {name: value for name, value in _FEW.items() if name in known}
        self.settings = dataclasses.replace(part.small, **{**few, **settings})
        self._folder = tempfile.TemporaryDirectory()
        self._trained: Any = None

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return Path(self._folder.name) / "run"

    @property
    def model(self) -> Any:
        """The trained model."""
        if self._trained is None:
            self._trained = run.train(self.part, self.settings, self.folder, self.data)
        return self._trained

    def rows(self) -> list[Any]:
        """Return the inputs of some test examples."""
        splits = run.open_splits(self.part, self.settings, self.data)
        return [example.inputs for example in splits.test[:3]]

    def check_data(self) -> None:
        """Check that each split has examples, and that no test example is in the training split."""
        splits = run.open_splits(self.part, self.settings, self.data)
        for name in ("train", "dev", "test"):
            expect(len(getattr(splits, name)), f"{name} split: expected examples. Received: none")
        learned = {str(example.inputs) for example in splits.train}
        seen = [example.key for example in splits.test if str(example.inputs) in learned]
        expect(not seen, f"test split: expected inputs that are not in the training split. Received: {seen[:3]}")

    def check_small_settings(self) -> None:
        """Check that `small` has the same type as `settings`."""
        expect(
            type(self.part.small) is type(self.part.settings),
            f"small: expected {type(self.part.settings).__name__}. Received: {type(self.part.small).__name__}",
        )

    def check_training(self) -> None:
        """Check that the recipe trains and that the model returns texts."""
        answers = self.model.answer(self.rows())
        expect(
            all(isinstance(answer.text, str) for answer in answers),
            "answer: expected a string for each row. Received: another type",
        )

    def check_metrics(self) -> None:
        """Check that all test metrics are finite, and that they include the one that selects the best epoch."""
        report = self.part.task.measure(self.model, run.open_splits(self.part, self.settings, self.data).test[:20])
        bad = [name for name, value in report.metrics.items() if not np.isfinite(value)]
        expect(not bad, f"metrics: expected finite numbers. Received: NaN or infinity for {bad}")
        monitor = self.part.task.monitor
        expect(monitor in report.metrics, f"metrics: expected {monitor}. Received: {sorted(report.metrics)}")

    def check_saving(self) -> None:
        """Check that the saved run returns the same answers as the model in memory and records its recipe."""
        from seqattn_tf.models import load

        expected = [answer.text for answer in self.model.answer(self.rows())]
        found = [answer.text for answer in load(self.folder).answer(self.rows())]
        expect(found == expected, f"answers of the loaded run: expected {expected}. Received: {found}")
        recipe = read_record(self.folder)["recipe"]
        expect(recipe == self.part.name, f"record: expected the recipe {self.part.name!r}. Received: {recipe!r}")

    def check_exports(self) -> None:
        """Check that the run can be exported as SavedModel and LiteRT with the same results as the Keras model."""
        from seqattn_tf.export.package import export

        self.model  # noqa: B018  trains the model if necessary
        try:
            export(self.folder, self.folder.parent / "export")
        except ValueError as error:
            raise Problem(str(error)) from None
