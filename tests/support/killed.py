"""Trainings that are killed after some steps, and what two trainings must have in common to be the same."""

import numpy as np

from seqattn_tf.training.callbacks import KeepState
from seqattn_tf.training.checkpoints import Checkpoints


class Killed(BaseException):
    """As good as a kill: nothing is done after it."""


def kill_after(steps, monkeypatch):
    """End the training after so many steps, before the last of them is kept; once."""
    usual, count = KeepState.on_train_batch_end, 0

    def counted(self, batch, logs=None):
        nonlocal count
        count += 1
        if count == steps:
            raise Killed
        usual(self, batch, logs)

    monkeypatch.setattr(KeepState, "on_train_batch_end", counted)


def held(folder):
    """The newest checkpoint."""
    return Checkpoints(folder / "checkpoints").newest()


def figures(folder):
    """What was measured after each epoch, but for the time."""
    history = held(folder).about["progress"]["history"]
    return [{name: value for name, value in logs.items() if name != "symbols_per_second"} for logs in history]


def assert_same(folder, other):
    """Both ended with the same weights, bit for bit, and measured the same."""
    for a, b in zip(held(folder).arrays, held(other).arrays, strict=True):
        np.testing.assert_array_equal(a, b)
    assert figures(folder) == figures(other)
    assert all((folder / name).is_file() for name in ("model.keras", "config.json"))
