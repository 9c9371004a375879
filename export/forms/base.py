"""The base class of forms: writing a model, running it, and comparing its answers with those of the Keras model."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from seqattn_tf.core.registry import Registered
from seqattn_tf.export.comparison import batches_by_size, difference, least_agreeing
from seqattn_tf.lite.answer import Answer
from seqattn_tf.models import Model

Row = Mapping[str, str | bytes]
Answers = Callable[[Sequence[Row]], list[Answer]]
FORWARD = tf.saved_model.SaveOptions(experimental_custom_gradients=False)  # served models need no gradients


class Form(Registered):
    """One way to run a model outside Keras. A subclass implements `write` and `open`.

    Attributes:
        title: The name of the form in messages.
        place: Its path below the folder of a version.
        tolerance: The absolute and relative tolerance of its numbers.
        min_agreement: The share of rows on which it must agree with the Keras model.
        max_differing_percent: The maximum number of differing rows of every hundred, independent of that share.
        advice: Advice for the user in case of disagreement, after a semicolon.
    """

    registry: ClassVar[dict[str, type]] = {}
    title: ClassVar[str]
    place: ClassVar[str] = "."
    tolerance: ClassVar[float] = 1e-4
    min_agreement: ClassVar[float] = 1.0
    max_differing_percent: ClassVar[int] = 1
    advice: ClassVar[str] = ""

    def refuse(self, model: Model) -> None:
        """Raise an error if it is known before writing that this form cannot run the model."""

    def write(self, model: Model, folder: Path, described: Mapping[str, Any]) -> dict[str, Any]:
        """Write a model in this form, and return entries for the manifest.

        Args:
            model: The model.
            folder: The target folder, which exists.
            described: The manifest entries collected so far.

        Raises:
            ValueError: If the model cannot be run in this form.
        """
        raise NotImplementedError

    def open(self, folder: Path) -> Answers:
        """Return a function that answers rows with the files that `write` wrote."""
        raise NotImplementedError

    def compare(self, model: Model, folder: Path, rows: Sequence[Row]) -> tuple[np.ndarray, str]:
        """Return for each row whether the form agrees with the Keras model, and describe the first difference."""
        agreeing, fault = np.ones(len(rows), bool), ""
        answers = self.open(folder)
        for batch in batches_by_size(rows):
            asked = [rows[i] for i in batch]
            for i, expected, found in zip(batch, model.answer(asked), answers(asked), strict=True):
                if differs := difference(expected, found, self.tolerance):
                    agreeing[i] = False
                    fault = fault or f"a different {differs} for {rows[i]!r:.80}"
        return agreeing, fault

    def require_agreement(self, agreeing: np.ndarray, fault: str) -> None:
        """Raise an error if the form disagrees with the Keras model on too many rows."""
        count, same = len(agreeing), int(agreeing.sum())
        if same < least_agreeing(self.min_agreement, count, self.max_differing_percent):
            expected = f"agreement with the Keras model on {count} rows, numbers within {self.tolerance:g}"
            raise ValueError(f"{self.title}: expected {expected}. Received: agreement on {same}; {fault}{self.advice}")

    def describe(self, folder: Path, described: Mapping[str, Any]) -> None:
        """Write the manifest to the folder of the form if the form is used without the rest of the export."""
