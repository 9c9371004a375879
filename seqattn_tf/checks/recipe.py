"""Checks of a recipe: it trains, answers, is evaluated, saved and exported."""

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
    """Checks that a recipe does its whole job, in one short training that all checks share.

    Args:
        part: a `Recipe`.
        data: where its data are; its own otherwise.
        **settings: changes of its `small` settings, besides one epoch on a few examples.
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
        """Each split has examples, and no test example is among those that are learned from."""
        splits = run.open_splits(self.part, self.settings, self.data)
        for name in ("train", "dev", "test"):
            expect(len(getattr(splits, name)), f"{name} split: expected examples. Received: none")
        learned = {str(example.inputs) for example in splits.train}
        seen = [example.key for example in splits.test if str(example.inputs) in learned]
        expect(not seen, f"test split: expected inputs that are not in the training split. Received: {seen[:3]}")

    def check_small_settings(self) -> None:
        """`small` is a setting of the same task as `settings`."""
        expect(
            type(self.part.small) is type(self.part.settings),
            f"small: expected {type(self.part.settings).__name__}. Received: {type(self.part.small).__name__}",
        )

    def check_training(self) -> None:
        """It trains, and the model answers."""
        answers = self.model.answer(self.rows())
        expect(all(isinstance(answer.text, str) for answer in answers), "answer: expected a text for each row")

    def check_metrics(self) -> None:
        """The test split is measured; all figures are numbers, and the one that picks the best epoch is among them."""
        report = self.part.task.measure(self.model, run.open_splits(self.part, self.settings, self.data).test[:20])
        bad = [name for name, value in report.figures.items() if not np.isfinite(value)]
        expect(not bad, f"figures: expected numbers. Received: NaN or infinity for {bad}")
        monitor = self.part.task.monitor
        expect(monitor in report.figures, f"figures: expected {monitor}. Received: {sorted(report.figures)}")

    def check_saving(self) -> None:
        """The run on disk answers as the model in memory does, and knows where it comes from."""
        from seqattn_tf.models import load

        expected = [answer.text for answer in self.model.answer(self.rows())]
        found = [answer.text for answer in load(self.folder).answer(self.rows())]
        expect(found == expected, f"answers of the loaded run: expected {expected}. Received: {found}")
        recipe = read_record(self.folder)["recipe"]
        expect(recipe == self.part.name, f"record: expected the recipe {self.part.name!r}. Received: {recipe!r}")

    def check_exports(self) -> None:
        """The run is exported as SavedModel and LiteRT, and both answer as the Keras model does."""
        from seqattn_tf.export.package import export

        self.model  # noqa: B018  trains, where nothing else has
        try:
            export(self.folder, self.folder.parent / "export")
        except ValueError as error:
            raise Problem(str(error)) from None
