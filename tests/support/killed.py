"""Trainings that are killed after some steps, and the comparison of two trainings."""

import numpy as np

from seqattn_tf.training.callbacks import SaveCheckpoints
from seqattn_tf.training.checkpoints import Checkpoints


class Killed(BaseException):
    """Simulates a kill: no exception handler runs after it."""


def kill_after(steps, monkeypatch):
    """Stop the training once after a number of steps, before a checkpoint of the last one."""
    usual, count = SaveCheckpoints.on_train_batch_end, 0

    def counted(self, batch, logs=None):
        nonlocal count
        count += 1
        if count == steps:
            raise Killed
        usual(self, batch, logs)

    monkeypatch.setattr(SaveCheckpoints, "on_train_batch_end", counted)


def held(folder):
    """Return the newest checkpoint."""
    return Checkpoints(folder / "checkpoints").newest()


def figures(folder):
    """Return the metrics after each epoch, except for the speed."""
    history = held(folder).about["progress"]["history"]
    return [{name: value for name, value in logs.items() if name != "symbols_per_second"} for logs in history]


def assert_same(folder, other):
    """Check that two trainings ended with the same weights, bit for bit, and the same metrics."""
    for a, b in zip(held(folder).arrays, held(other).arrays, strict=True):
        np.testing.assert_array_equal(a, b)
    assert figures(folder) == figures(other)
    assert all((folder / name).is_file() for name in ("model.keras", "config.json"))
