"""What happens besides the steps: a bar with the time left, a score after every epoch, the best model kept."""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
from tqdm import tqdm

from seqattn_tf.training.checkpoints import Progress
from seqattn_tf.training.optimizer import adam_of
from seqattn_tf.training.stopping import Stop

_EXPLODED = 100.0  # times the least loss of an epoch


class ProgressBar(keras.callbacks.Callback):
    """One bar over the whole training, with the loss and the time left; for each epoch a line, and one of a sample.

    Args:
        steps: of an epoch.
        epochs: of the training.
        done: steps that are done.
        sample: an answer to show after an epoch, by its number.
    """

    def __init__(self, steps: int, epochs: int, done: int = 0, sample: Callable[[int], str] | None = None) -> None:
        super().__init__()
        self.steps, self.epochs, self.done, self.sample = steps, epochs, done, sample
        self.bar = tqdm(disable=True)  # until training begins
        self.compiled = False

    def on_train_begin(self, logs: Any = None) -> None:
        """Draw the bar."""
        interval = 0.5 if sys.stderr.isatty() else 20.0  # a log file wants few lines
        total = self.epochs * self.steps
        if self.bar.disable:
            self.bar = tqdm(initial=self.done, total=total, unit="step", mininterval=interval, dynamic_ncols=True)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Look at the clock."""
        self.began = time.time()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """One step further."""
        self.bar.set_postfix(loss=f"{logs['loss']:.3f}", refresh=False)
        if self.compiled or self.bar.disable:
            self.bar.update()
        else:
            self._restart_clock()

    def _restart_clock(self) -> None:
        """Count the first step, and measure the pace from here on: it was compiled before it ran."""
        bar, self.compiled = self.bar, True
        bar.n += 1
        bar.initial = bar.last_print_n = bar.n
        bar.start_t = bar.last_print_t = bar._time()
        bar.refresh()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Say how the epoch went."""
        figures = "  ".join(f"{name} {value:.{4 if value < 1000 else 0}f}" for name, value in (logs or {}).items())
        took = f"{time.time() - self.began:.0f} s  " if hasattr(self, "began") else ""
        self.bar.write(f"epoch {epoch + 1}/{self.epochs}  {took}{figures}")
        if self.sample is not None:
            self.bar.write(f"  {self.sample(epoch)}")

    def close(self) -> None:
        """Leave the bar as it stands, and the line after it free."""
        self.bar.close()


class Pace(keras.callbacks.Callback):
    """Put the mean norm of the gradient and the symbols a second into the logs of every epoch.

    Args:
        progress: holds the sum of the norms.
        symbols: of a step, on average.
    """

    def __init__(self, progress: Progress, symbols: float) -> None:
        super().__init__()
        self.progress, self.symbols = progress, symbols
        self.first, self.began, self.ended = 0, 0.0, 0.0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Look at the clock."""
        self.first, self.began = self.progress.step, time.time()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Count."""
        self.progress.norms += float(adam_of(self.model).norm.numpy())
        self.ended = time.time()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Say both."""
        logs["gradient"] = self.progress.norms / max(self.progress.step, 1)
        if self.ended > self.began:
            steps = self.progress.step - self.first
            logs["symbols_per_second"] = self.symbols * steps / (self.ended - self.began)


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
        if value < self.progress.best or self.progress.best_epoch < 0:  # a figure that is no number is the worst
            self.save({name: float(number) for name, number in logs.items()})
            self.progress.best, self.progress.best_epoch = value, epoch
        elif epoch - self.progress.best_epoch >= self.patience:
            self.model.stop_training = True


class KeepState(keras.callbacks.Callback):
    """Count the steps, keep the state of the training when that is due, and end it where a signal asks for that.

    Args:
        progress: counted here.
        store: writes a checkpoint.
        stop: heeds signals.
        anyone: whether a worker of all that train together is asked to stop, from whether this one is.
        every_steps: between two checkpoints, at most; 0 for any number.
        every_minutes: the same in minutes; each epoch ends with one in any case.
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
        """Take the sums of an epoch that was broken off: `fit` would begin them anew."""
        super().set_model(model)
        self.sums = [np.asarray(variable) for variable in model.metrics_variables]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Go on with the sums."""
        self.kept, self.steps = time.time(), 0
        if self.progress.step:
            for variable, value in zip(self.model.metrics_variables, self.sums, strict=True):
                variable.assign(value)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """One step further."""
        self.progress.step += 1
        if self.anyone(self.stop.asked):
            self.stop.end()
        self.steps += 1
        late = self.every_minutes and time.time() - self.kept > self.every_minutes * 60
        if late or self.steps == self.every_steps:
            self.store()
            self.kept, self.steps = time.time(), 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """An epoch further."""
        self.progress.epoch, self.progress.step, self.progress.norms = epoch + 1, 0, 0.0
        self.progress.history.append({name: float(value) for name, value in logs.items()})
        self.store()


class Guard(keras.callbacks.Callback):
    """End a training whose loss or gradient is no number, or far from what the loss has been."""

    def __init__(self, progress: Progress, explain: Callable[[], str]) -> None:
        super().__init__()
        self.progress, self.explain = progress, explain

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Look at both."""
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
