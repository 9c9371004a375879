"""The epoch whose weights are saved, and early stopping."""

import math
import types

import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.training.callbacks import ProgressBar, SaveBest, StopOnDivergence
from seqattn_tf.training.checkpoints import Progress


class Network:
    """The attributes of a network that the callback uses."""

    def __init__(self):
        self.variables, self.optimizer, self.stop_training = [], types.SimpleNamespace(), False


def kept(figures, higher_is_better=False, patience=2):
    """Return the metrics that were saved, and the epoch after which training stopped."""
    saved, network = [], Network()
    callback = SaveBest("dev_x", patience, saved.append, Progress(), higher_is_better)
    callback.set_model(network)
    for epoch, figure in enumerate(figures):
        callback.on_epoch_end(epoch, {"loss": 1.0, "dev_x": figure})
        if network.stop_training:
            break
    return [logs["dev_x"] for logs in saved], epoch + 1


def test_the_better_one_is_kept_whichever_way_that_is():
    assert kept([3.0, 1.0, 2.0, 0.5]) == ([3.0, 1.0, 0.5], 4)
    assert kept([3.0, 1.0, 4.0, 4.0], higher_is_better=True) == ([3.0, 4.0], 4)
    assert kept([3.0, 4.0, 4.0, 4.0, 9.0]) == ([3.0], 3)


@pytest.mark.parametrize("higher_is_better", [False, True])
def test_a_figure_that_is_no_number_is_the_worst_but_something_is_kept(higher_is_better):
    saved, epochs = kept([math.nan, math.nan, 2.0], higher_is_better)
    assert np.isnan(saved[0])
    assert (saved[1:], epochs) == ([2.0], 3)


def test_a_loss_that_rises_beyond_all_measure_ends_the_training():
    progress = Progress(epoch=2, step=4, history=[{"loss": 0.5}, {"loss": 2.0}])
    guard = StopOnDivergence(progress, lambda: "nothing")
    network = Network()
    network.optimizer.norm = tf.constant(1.0)
    guard.set_model(network)
    guard.on_train_batch_end(4, {"loss": 99.0})
    with pytest.raises(FloatingPointError, match=r"the loss rose from 0\.5 to 101 in epoch 3, step 5"):
        guard.on_train_batch_end(4, {"loss": 101.0})
    network.optimizer.norm = tf.constant(math.inf)
    with pytest.raises(FloatingPointError, match=r"the gradient became inf in epoch 3, step 5: nothing; try a smaller"):
        guard.on_train_batch_end(4, {"loss": 1.0})


def test_the_time_left_does_not_count_the_compilation_of_the_first_step(monkeypatch):
    """The first step, which may compile for a minute, must not affect the estimate in the progress bar."""
    callback, clock = ProgressBar(steps=100, epochs=1), [0.0]
    callback.on_train_begin()
    monkeypatch.setattr(callback.bar, "_time", lambda: clock[0])
    callback.bar.start_t = callback.bar.last_print_t = 0.0
    clock[0] = 60.0
    callback.on_train_batch_end(0, {"loss": 1.0})
    for step in range(1, 11):
        clock[0] += 1.0
        callback.on_train_batch_end(step, {"loss": 1.0})
    shown = callback.bar.format_dict
    callback.close()
    assert (shown["n"], shown["elapsed"]) == (11, 10.0)
    left = (shown["total"] - shown["n"]) * shown["elapsed"] / (shown["n"] - shown["initial"])
    assert left == 89.0
    assert shown["rate"] is None or shown["rate"] == pytest.approx(1.0)
