"""The state of a training in one file, so that a killed run goes on where it was."""

import dataclasses
import zipfile
from pathlib import Path

import keras
import numpy as np

from seqattn_tf.aside import written_aside


@dataclasses.dataclass
class Progress:
    """Epochs done, the best score and when it was; weights and optimiser live in the file alone."""

    path: Path
    epoch: int = 0
    best: float = float("inf")
    best_epoch: int = -1

    def store(self, model: keras.Model, epoch: int) -> None:
        """Write everything after `epoch` epochs; the file is replaced whole."""
        self.epoch = epoch
        values = {f"v{i:04d}": np.asarray(v) for i, v in enumerate([*model.variables, *model.optimizer.variables])}
        with written_aside(self.path) as aside:
            np.savez(aside, counts=[self.epoch, self.best_epoch], best=self.best, **values)

    def restore(self, model: keras.Model) -> bool:
        """Take up a stored training into a compiled model; False when there is none that fits."""
        if not self.path.is_file():
            return False
        model.optimizer.build(model.trainable_variables)
        variables = [*model.variables, *model.optimizer.variables]
        try:
            with np.load(self.path) as stored:
                arrays = [stored[f"v{i:04d}"] for i in range(len(stored.files) - 2)]
                counts, best = stored["counts"], float(stored["best"])
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{self.path}: expected a whole file; delete it to start anew. Received: {error}"
            ) from None
        if [a.shape for a in arrays] != [tuple(v.shape) for v in variables]:
            raise ValueError(f"{self.path}: expected the weights of this model; delete it to start anew")
        for variable, array in zip(variables, arrays, strict=True):
            variable.assign(array)
        self.epoch, self.best_epoch, self.best = int(counts[0]), int(counts[1]), best
        return True
