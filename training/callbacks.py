"""What happens besides the steps: a bar with the time left, a score after every epoch, the best model kept."""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
from tqdm import tqdm

from seqattn_tf.training.progress import Progress


class ProgressBar(keras.callbacks.Callback):
    """One bar over the whole training, with the loss and the time left; a line per epoch."""

    def __init__(self, steps: int, epochs: int, first_epoch: int = 0) -> None:
        super().__init__()
        self.steps, self.epochs, self.first_epoch = steps, epochs, first_epoch
        self.bar = tqdm(disable=True)  # until training begins

    def on_train_begin(self, logs: Any = None) -> None:
        """Draw the bar."""
        interval = 0.5 if sys.stderr.isatty() else 20.0  # a log file wants few lines
        done, total = self.first_epoch * self.steps, self.epochs * self.steps
        self.bar = tqdm(initial=done, total=total, unit="step", mininterval=interval, dynamic_ncols=True)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Look at the clock."""
        self.began = time.time()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """One step further."""
        self.bar.set_postfix(loss=f"{logs['loss']:.3f}", refresh=False)
        self.bar.update()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Say how the epoch went."""
        figures = "  ".join(f"{name} {value:.4f}" for name, value in (logs or {}).items())
        self.bar.write(f"epoch {epoch + 1}/{self.epochs}  {time.time() - self.began:.0f} s  {figures}")

    def close(self) -> None:
        """Leave the bar as it stands, and the line after it free."""
        self.bar.close()


class Score(keras.callbacks.Callback):
    """Put the task's own metric on the development split into the logs of every epoch, as `dev_NAME`."""

    def __init__(self, score: Callable[[], Mapping[str, float]]) -> None:
        super().__init__()
        self.score = score

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Measure."""
        logs.update({f"dev_{name}": value for name, value in self.score().items()})


class KeepBest(keras.callbacks.Callback):
    """Save the model whenever `monitor` is better, stop when it has not been for `patience` epochs, end with the best.

    Less is better, unless it is `higher_is_better`.
    After every epoch the whole state of training goes into `progress`, so that a killed run resumes.
    """

    def __init__(
        self,
        monitor: str,
        patience: int,
        save: Callable[[dict[str, float]], None],
        progress: Progress,
        higher_is_better: bool = False,
    ) -> None:
        super().__init__()
        self.monitor, self.patience, self.higher_is_better = monitor, patience, higher_is_better
        self.save, self.progress = save, progress

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Keep, or count."""
        value = float(logs[self.monitor]) * (-1 if self.higher_is_better else 1)
        value = np.inf if np.isnan(value) else value
        if not np.isfinite(logs["loss"]):
            raise FloatingPointError(
                f"the loss became {logs['loss']} in epoch {epoch + 1}: try a smaller learning_rate"
            )
        if value < self.progress.best or self.progress.best_epoch < 0:  # a figure that is no number is the worst
            self.progress.best, self.progress.best_epoch = value, epoch
            self.save({name: float(number) for name, number in logs.items()})
        elif epoch - self.progress.best_epoch >= self.patience:
            self.model.stop_training = True
        self.progress.store(self.model, epoch + 1)
