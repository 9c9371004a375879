"""Checkpoint files: complete, checked by a hash, with a fallback to the last valid one."""

import json
import time

import keras
import numpy as np
import pytest

from seqattn_tf.training.checkpoints import Checkpoints, CheckpointWarning, Progress, restore
from seqattn_tf.training.optimizer import Adam


def network(seed=0, units=2):
    keras.utils.set_random_seed(seed)
    made = keras.Sequential([keras.Input((3,)), keras.layers.Dense(units), keras.layers.Dropout(0.5)])
    made.compile(Adam(0.1, global_clipnorm=1.0, use_ema=True), "mse")
    made.optimizer.build(made.trainable_variables)
    return made


def learn(made, steps=1):
    for _ in range(steps):
        made.train_on_batch(np.ones([4, 3]), np.ones([4, made.output_shape[-1]]))


def values(made):
    return [np.asarray(v) for v in [*made.variables, *made.optimizer.variables, *made.metrics_variables]]


@pytest.mark.parametrize(
    ("epoch", "best_epoch", "finished"),
    [
        (0, -1, False),  # nothing is done
        (1, 0, False),
        (3, 1, False),  # one epoch since the best
        (3, 0, True),  # two epochs since the best
        (4, 3, False),
        (5, 4, True),  # all epochs are done
        (6, 5, True),
    ],
)
def test_a_training_ends_with_its_epochs_or_with_its_patience(epoch, best_epoch, finished):
    assert Progress(epoch=epoch, best_epoch=best_epoch).finished(epochs=5, patience=2) == finished


def test_a_training_without_patience_begins():
    assert not Progress().finished(epochs=5, patience=0)


def test_everything_comes_back(tmp_path):
    before, progress = network(), Progress(3, 7, 0.25, 2, 100.0, [{"loss": 1.5}])
    learn(before, 3)
    Checkpoints(tmp_path).save(before, progress, {"recipe": "none"})
    after, found = network(seed=1), Progress()
    held = Checkpoints(tmp_path).newest()
    assert held.about["recipe"] == "none"
    restore(held, after, found)
    for a, b in zip(values(before), values(after), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (found.epoch, found.step, found.best, found.best_epoch, found.history) == (3, 7, 0.25, 2, [{"loss": 1.5}])
    assert 100 <= found.seconds < 160
    learn(before)
    learn(after)  # dropout, Adam's moments and running means all continue equally
    for a, b in zip(values(before), values(after), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_last_two_are_kept_and_nothing_half_written(tmp_path):
    made, checkpoints = network(), Checkpoints(tmp_path)
    for step in (1, 2, 9, 10):
        (tmp_path / ".0123-half.npz").write_bytes(b"half")
        checkpoints.save(made, Progress(step=step), {})
    checkpoints.save(made, Progress(epoch=1), {})
    assert sorted(path.name[:14] for path in tmp_path.iterdir()) == ["00000-00000010", "00001-00000000"]
    assert checkpoints.newest().about["progress"]["epoch"] == 1


@pytest.mark.parametrize("damage", ["cut", "bit", "empty", "another"])
def test_a_broken_one_is_left_out_for_the_one_before(tmp_path, damage):
    made, checkpoints = network(), Checkpoints(tmp_path)
    old = checkpoints.save(made, Progress(step=1), {})
    new = checkpoints.save(made, Progress(step=2), {})
    data = new.read_bytes()
    flipped = data[:900] + bytes([data[900] ^ 1]) + data[901:]
    new.write_bytes({"cut": data[:-9], "bit": flipped, "empty": b"", "another": old.read_bytes()}[damage])
    with pytest.warns(CheckpointWarning, match="corrupt checkpoint; using the previous one"):
        assert checkpoints.newest().path == old
    old.write_bytes(b"")
    with pytest.warns(CheckpointWarning), pytest.raises(ValueError, match="expected a complete checkpoint; delete"):
        checkpoints.newest()


def test_none_is_none_and_another_network_is_refused(tmp_path):
    assert Checkpoints(tmp_path / "nowhere").newest() is None
    Checkpoints(tmp_path).save(network(), Progress(), {})
    with pytest.raises(ValueError, match="expected the weights of this network"):
        restore(Checkpoints(tmp_path).newest(), network(units=4), Progress())


def test_a_disk_that_is_full_leaves_what_was_there(tmp_path, monkeypatch):
    made, checkpoints = network(), Checkpoints(tmp_path)
    old = checkpoints.save(made, Progress(step=1), {})

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("seqattn_tf.training.checkpoints.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        checkpoints.save(made, Progress(step=2), {})
    assert list(tmp_path.iterdir()) == [old]


def test_the_time_that_was_spent_adds_up_over_several_processes(monkeypatch):
    """The time in a checkpoint must include the current process, not only earlier ones."""
    clock = [100.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    first = Progress(started=clock[0])
    clock[0] += 7
    second = Progress(started=clock[0])
    second.take(json.loads(json.dumps(first.as_json())))
    clock[0] += 5
    assert first.as_json()["spent"] == 12
    assert (second.seconds, second.as_json()["spent"]) == (12, 12)
