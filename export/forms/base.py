"""The contract of a form: how it is written, how it answers, and how near it must come to the Keras model."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from seqattn_tf.core.registry import Registered
from seqattn_tf.export.verify import batches_by_size, difference, least_agreeing
from seqattn_tf.lite.answer import Answer
from seqattn_tf.models import Model

Row = Mapping[str, str | bytes]
Answers = Callable[[Sequence[Row]], list[Answer]]
FORWARD = tf.saved_model.SaveOptions(experimental_custom_gradients=False)  # what is served learns nothing


class Form(Registered):
    """One way to run a model elsewhere. A subclass gives `write` and `open`.

    Attributes:
        title: its name in messages.
        place: where it goes below the folder of a version.
        tolerance: of its numbers, absolute and relative.
        share: of the rows on which it must agree with the Keras model.
        of_hundred: rows of every hundred that may differ at most, whatever the share.
    """

    registry: ClassVar[dict[str, type]] = {}
    title: ClassVar[str]
    place: ClassVar[str] = "."
    tolerance: ClassVar[float] = 1e-4
    share: ClassVar[float] = 1.0
    of_hundred: ClassVar[int] = 1

    def refuse(self, model: Model) -> None:
        """Refuse a model of which it is known before it is written that this form cannot run it."""

    def write(self, model: Model, folder: Path, described: Mapping[str, Any]) -> dict[str, Any]:
        """Write the form of a model, and say what a manifest should hold of it.

        Args:
            model: what to write.
            folder: where to; it exists.
            described: what is known of the export until then.

        Raises:
            ValueError: the model cannot be run in this form.
        """
        raise NotImplementedError

    def open(self, folder: Path) -> Answers:
        """What answers rows, from what `write` wrote."""
        raise NotImplementedError

    def compare(self, model: Model, folder: Path, rows: Sequence[Row]) -> tuple[np.ndarray, str]:
        """For each row whether the form says what the Keras model says, and the first difference in words."""
        agreeing, fault = np.ones(len(rows), bool), ""
        answers = self.open(folder)
        for batch in batches_by_size(rows):
            asked = [rows[i] for i in batch]
            for i, expected, found in zip(batch, model.answer(asked), answers(asked), strict=True):
                if differs := difference(expected, found, self.tolerance):
                    agreeing[i] = False
                    fault = fault or f"another {differs} for {rows[i]!r:.80}"
        return agreeing, fault

    def check(self, agreeing: np.ndarray, fault: str) -> None:
        """Refuse a form that says something else too often."""
        count, same = len(agreeing), int(agreeing.sum())
        if same < least_agreeing(self.share, count, self.of_hundred):
            raise ValueError(
                f"{self.title}: expected the Keras model's {count} answers. Received: {same} of them; {fault}"
            )

    def describe(self, folder: Path, described: Mapping[str, Any]) -> None:
        """Leave what is known of the export in the folder, where the form is used without the rest."""
