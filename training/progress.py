"""The state of a training in one file, so that a killed run goes on where it was."""

import dataclasses
import time
import zipfile
from pathlib import Path
from typing import Any

import keras
import numpy as np

from seqattn_tf.aside import write_aside


@dataclasses.dataclass
class Progress:
    """Epochs done, the best score and when it was, the time spent; weights and optimiser live in the file alone."""

    path: Path
    epoch: int = 0
    best: float = float("inf")
    best_epoch: int = -1
    spent: float = 0.0  # seconds, by the processes before this one
    started: float = dataclasses.field(default_factory=time.time)

    @property
    def seconds(self) -> float:
        """Time spent on the whole training until now."""
        return self.spent + time.time() - self.started

    def finished(self, epochs: int, patience: int) -> bool:
        """Whether nothing is left to do: all epochs done, or too many since the best."""
        return self.epoch >= epochs or (self.epoch > 0 and self.epoch - self.best_epoch > patience)

    def store(self, model: keras.Model, epoch: int) -> None:
        """Write everything after `epoch` epochs; the file is replaced whole."""
        self.epoch = epoch
        variables = [*model.variables, *model.optimizer.variables]
        values: dict[str, Any] = {f"v{i:04d}": np.asarray(variable) for i, variable in enumerate(variables)}
        values["scalars"] = [self.epoch, self.best_epoch, self.best, self.seconds]
        with write_aside(self.path) as aside:
            np.savez(aside, **values)

    def restore(self, model: keras.Model) -> None:
        """Take up a stored training, where there is one, into a compiled model."""
        if not self.path.is_file():
            return
        model.optimizer.build(model.trainable_variables)
        variables = [*model.variables, *model.optimizer.variables]
        try:
            with np.load(self.path) as stored:
                arrays = [stored[f"v{i:04d}"] for i in range(len(stored.files) - 1)]
                epoch, best_epoch, self.best, self.spent = map(float, stored["scalars"])
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{self.path}: expected a whole file; delete it to start anew. Received: {error}"
            ) from None
        if [a.shape for a in arrays] != [tuple(v.shape) for v in variables]:
            raise ValueError(f"{self.path}: expected the weights of this model; delete it to start anew")
        for variable, array in zip(variables, arrays, strict=True):
            variable.assign(array)
        self.epoch, self.best_epoch = int(epoch), int(best_epoch)
