"""Previews of a running training: sample answers, and the TensorBoard callbacks."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

from seqattn_tf.explain import row_title
from seqattn_tf.models import Model
from seqattn_tf.training.data import Example
from seqattn_tf.training.feature_maps import given
from seqattn_tf.training.gradient_log import EpochLog, GradientLog
from seqattn_tf.training.tasks import Task, Training

_LONGEST = 60  # maximum characters of an input or an answer


def _asked_of(model: Model, task: Task[Any, Any], example: Example) -> dict[str, Any]:
    """Return the inputs of an example as a user would enter them."""
    asked = {name: given(value) for name, value in task.model_inputs(example).items()}
    return {
        name: asked[name] if isinstance(asked[name], str) else field.raw(asked[name])
        for name, field in model.inputs.items()
    }


def sample_of(model: Model, task: Task[Any, Any], examples: Sequence[Example], number: int) -> str:
    """Return the answer to one of the examples as a line of text."""
    row = _asked_of(model, task, examples[number % len(examples)])
    [answer] = model.answer([row])
    title = row_title(model, row) or next(iter(row))
    return " -> ".join(_cut(text) for text in (title, answer.text))


def _cut(text: str) -> str:
    line = " / ".join(text.split("\n"))
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "\u2026"


def board(folder: Path, training: Training[Any, Any]) -> list[keras.callbacks.Callback]:
    """Return callbacks that write gradient norms, gates, metrics and a picture of each epoch for TensorBoard."""
    model, task, dev = training.model, training.task, training.splits.dev

    def picture() -> bytes:
        data = io.BytesIO()
        model.explain(_asked_of(model, task, dev[0])).savefig(data, format="png")
        return data.getvalue()

    inputs, _ = next(iter(training.batches(training.settings.epochs - 1)))
    return [GradientLog(folder, inputs), EpochLog(folder, picture)]
