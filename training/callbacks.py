"""Training callbacks: progress, evaluation, saving the best model, checkpoints and divergence."""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
from tqdm import tqdm

from seqattn_tf.training.checkpoints import Progress
from seqattn_tf.training.interrupts import Stop
from seqattn_tf.training.optimizer import adam_of

_EXPLODED = 100.0  # the limit on the loss, as a multiple of the lowest loss of an epoch


class ProgressBar(keras.callbacks.Callback):
    """A progress bar over all epochs with the loss and the time left; a line and a sample follow each epoch.

    Args:
        steps: The number of steps of an epoch.
        epochs: The total number of epochs.
        done: The number of completed steps.
        sample: Returns a sample answer to print after an epoch, given its number.
    """

    def __init__(self, steps: int, epochs: int, done: int = 0, sample: Callable[[int], str] | None = None) -> None:
        super().__init__()
        self.steps, self.epochs, self.done, self.sample = steps, epochs, done, sample
        self.bar = tqdm(disable=True)  # replaced when training begins
        self.compiled = False

    def on_train_begin(self, logs: Any = None) -> None:
        interval = 0.5 if sys.stderr.isatty() else 20.0  # fewer lines in a log file
        total = self.epochs * self.steps
        if self.bar.disable:
            self.bar = tqdm(initial=self.done, total=total, unit="step", mininterval=interval, dynamic_ncols=True)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.began = time.time()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.bar.set_postfix(loss=f"{logs['loss']:.3f}", refresh=False)
        if self.compiled or self.bar.disable:
            self.bar.update()
        else:
            self._restart_clock()

    def _restart_clock(self) -> None:
        """Exclude the first step, which includes compilation, from the measured speed."""
        bar, self.compiled = self.bar, True
        bar.n += 1
        bar.initial = bar.last_print_n = bar.n
        bar.start_t = bar.last_print_t = bar._time()
        bar.refresh()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        figures = "  ".join(f"{name} {value:.{4 if value < 1000 else 0}f}" for name, value in (logs or {}).items())
        took = f"{time.time() - self.began:.0f} s  " if hasattr(self, "began") else ""
        self.bar.write(f"epoch {epoch + 1}/{self.epochs}  {took}{figures}")
        if self.sample is not None:
            self.bar.write(f"  {self.sample(epoch)}")

    def close(self) -> None:
        """Close the bar, leaving its last state on the screen."""
        self.bar.close()


class LogThroughput(keras.callbacks.Callback):
    """A callback that adds the mean gradient norm and the symbols per second to the logs of every epoch.

    Args:
        progress: The progress, which accumulates the norms.
        symbols: The average number of symbols per step.
    """

    def __init__(self, progress: Progress, symbols: float) -> None:
        super().__init__()
        self.progress, self.symbols = progress, symbols
        self.first, self.began, self.ended = 0, 0.0, 0.0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.first, self.began = self.progress.step, time.time()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.progress.norms += float(adam_of(self.model).norm.numpy())
        self.ended = time.time()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs["gradient"] = self.progress.norms / max(self.progress.step, 1)
        if self.ended > self.began:
            steps = self.progress.step - self.first
            logs["symbols_per_second"] = self.symbols * steps / (self.ended - self.began)


class EvaluateModel(keras.callbacks.Callback):
    """A callback that adds the metrics on the development split to the logs of every epoch, as `dev_NAME`."""

    def __init__(self, score: Callable[[], Mapping[str, float]]) -> None:
        super().__init__()
        self.score = score

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs.update({f"dev_{name}": value for name, value in self.score().items()})


class SaveBest(keras.callbacks.Callback):
    """A callback that saves the model if `monitor` improves, and stops after `patience` epochs without improvement.

    Lower values are better, unless `higher_is_better`.
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
        value = float(logs[self.monitor]) * (-1 if self.higher_is_better else 1)
        value = np.inf if np.isnan(value) else value
        if value < self.progress.best or self.progress.best_epoch < 0:  # NaN counts as the worst value
            self.save({name: float(number) for name, number in logs.items()})
            self.progress.best, self.progress.best_epoch = value, epoch
        elif epoch - self.progress.best_epoch >= self.patience:
            self.model.stop_training = True


class SaveCheckpoints(keras.callbacks.Callback):
    """A callback that counts the steps, saves checkpoints when they are due, and stops training after a signal.

    Args:
        progress: The progress to update.
        store: Writes a checkpoint.
        stop: The signal handler.
        anyone: Returns whether any worker of a distributed run has received a signal, given whether this one has.
        every_steps: The maximum number of steps between two checkpoints; 0 for no limit.
        every_minutes: The maximum number of minutes between two checkpoints; 0 for no limit. A
            checkpoint is always written after every epoch.
    """

    def __init__(
        self,
        progress: Progress,
        store: Callable[[], Any],
        stop: Stop,
        anyone: Callable[[object], bool] = bool,
        every_steps: int = 0,
        every_minutes: float = 0.0,
    ) -> None:
        super().__init__()
        self.progress, self.store, self.stop, self.anyone = progress, store, stop, anyone
        self.every_steps, self.every_minutes = every_steps, every_minutes
        self.sums: list[np.ndarray] = []

    def set_model(self, model: keras.Model) -> None:
        """Store the metric sums of an interrupted epoch, which `fit` would reset."""
        super().set_model(model)
        self.sums = [np.asarray(variable) for variable in model.metrics_variables]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Restore the metric sums of an interrupted epoch."""
        self.kept, self.steps = time.time(), 0
        if self.progress.step:
            for variable, value in zip(self.model.metrics_variables, self.sums, strict=True):
                variable.assign(value)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.progress.step += 1
        if self.anyone(self.stop.asked):
            self.stop.end()
        self.steps += 1
        late = self.every_minutes and time.time() - self.kept > self.every_minutes * 60
        if late or self.steps == self.every_steps:
            self.store()
            self.kept, self.steps = time.time(), 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.progress.epoch, self.progress.step, self.progress.norms = epoch + 1, 0, 0.0
        self.progress.history.append({name: float(value) for name, value in logs.items()})
        self.store()


class StopOnDivergence(keras.callbacks.Callback):
    """A callback that stops training if the loss or the gradient is not finite, or if the loss has exploded."""

    def __init__(self, progress: Progress, explain: Callable[[], str]) -> None:
        super().__init__()
        self.progress, self.explain = progress, explain

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        loss, norm = float(logs["loss"]), float(adam_of(self.model).norm.numpy())
        where = f"in epoch {self.progress.epoch + 1}, step {self.progress.step + 1}"
        if not np.isfinite(loss) or not np.isfinite(norm):
            what = f"the loss became {loss}" if not np.isfinite(loss) else f"the gradient became {norm}"
            raise FloatingPointError(f"{what} {where}: {self.explain()}; try a smaller learning_rate")
        least = min((logs["loss"] for logs in self.progress.history), default=np.inf)
        if loss > _EXPLODED * max(least, 1.0):
            raise FloatingPointError(
                f"the loss rose from {least:.4g} to {loss:.4g} {where}; try a smaller learning_rate"
            )
