"""When a training is over, and what its file keeps."""

import pytest

from seqattn_tf.training.progress import Progress


@pytest.mark.parametrize(
    ("epoch", "best_epoch", "finished"),
    [
        (0, -1, False),  # nothing done
        (1, 0, False),
        (3, 1, False),  # one epoch since the best
        (3, 0, True),  # two
        (4, 3, False),
        (5, 4, True),  # all epochs
        (6, 5, True),
    ],
)
def test_a_training_ends_with_its_epochs_or_with_its_patience(tmp_path, epoch, best_epoch, finished):
    progress = Progress(tmp_path / "progress.npz", epoch=epoch, best_epoch=best_epoch)
    assert progress.finished(epochs=5, patience=2) == finished


def test_a_training_without_patience_begins(tmp_path):
    assert not Progress(tmp_path / "progress.npz").finished(epochs=5, patience=0)
