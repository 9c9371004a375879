"""The whole state of a training in files, so that a killed run goes on with the very next step."""

import dataclasses
import hashlib
import io
import json
import os
import time
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from seqattn_tf.core.atomic_io import write_atomically

_KEPT = 2  # so that there is one when the newest is broken


class CheckpointWarning(UserWarning):
    """A checkpoint was left out."""


@dataclasses.dataclass
class Progress:
    """How far a training is: epochs done, steps of the next one, the best score and when it was, the time spent."""

    epoch: int = 0
    step: int = 0
    best: float = float("inf")
    best_epoch: int = -1
    spent: float = 0.0  # seconds, by the processes before this one
    history: list[dict[str, float]] = dataclasses.field(default_factory=list)  # what was measured after each epoch
    norms: float = 0.0  # of the gradients of the steps of this epoch, summed
    started: float = dataclasses.field(default_factory=time.time)

    @property
    def seconds(self) -> float:
        """Time spent on the whole training until now."""
        return self.spent + time.time() - self.started

    def finished(self, epochs: int, patience: int) -> bool:
        """Whether nothing is left to do: all epochs done, or too many since the best."""
        return self.epoch >= epochs or (self.epoch > 0 and self.epoch - self.best_epoch > patience)

    def as_json(self) -> dict[str, Any]:
        """What is remembered."""
        return {**dataclasses.asdict(self), "spent": self.seconds, "started": None}

    def take(self, held: Mapping[str, Any]) -> None:
        """Go on from what was remembered."""
        for name, value in held.items():
            if name != "started":
                setattr(self, name, value)


class Checkpoint(NamedTuple):
    """What is in a file."""

    path: Path
    about: dict[str, Any]
    arrays: list[np.ndarray]


class Checkpoints:
    """The last checkpoints of a run, each with its own hash in its name: a broken one is known by it.

    Args:
        folder: theirs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def save(self, network: keras.Model, progress: Progress, about: Mapping[str, Any]) -> Path:
        """Write the state of a compiled network and of its training, and forget older ones.

        Args:
            network: compiled and built.
            progress: of the training.
            about: what the training is of, as JSON holds it.
        """
        values: dict[str, Any] = {f"v{i:04d}": np.asarray(variable) for i, variable in enumerate(state_of(network))}
        text = json.dumps({**about, "progress": progress.as_json()})
        whole = io.BytesIO()
        np.savez(whole, about=np.frombuffer(text.encode(), np.uint8), **values)
        data = whole.getvalue()
        path = self.folder / f"{progress.epoch:05d}-{progress.step:08d}-{digest(data)}.npz"
        with write_atomically(path) as aside, aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        for old in [*self._paths()[_KEPT:], *self.folder.glob(".*.npz")]:  # also what a kill left half written
            old.unlink(missing_ok=True)
        return path

    def newest(self) -> Checkpoint | None:
        """The last one that is whole; None where there is none.

        Raises:
            ValueError: there are some, and all of them are broken.
        """
        paths = self._paths()
        for path in paths:
            for checkpoint in _read(path):
                return checkpoint
            warnings.warn(f"{path}: a broken checkpoint; the one before it is used", CheckpointWarning, stacklevel=2)
        if paths:
            raise ValueError(f"{self.folder}: expected a whole checkpoint; delete the folder to start anew")
        return None

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("[0-9]*-*-*.npz"), reverse=True)


def restore(checkpoint: Checkpoint, network: keras.Model, progress: Progress) -> None:
    """Take up a stored training into a compiled network.

    Raises:
        ValueError: it is one of another network.
    """
    variables = state_of(network)
    if [a.shape for a in checkpoint.arrays] != [tuple(v.shape) for v in variables]:
        raise ValueError(f"{checkpoint.path}: expected the weights of this network; delete the folder to start anew")
    for variable, array in zip(variables, checkpoint.arrays, strict=True):
        variable.assign(array)
    progress.take(checkpoint.about["progress"])


def state_of(network: keras.Model) -> list[Any]:
    """All that the next step depends on, the sums of what an epoch measures among it."""
    return [*network.variables, *network.optimizer.variables, *network.metrics_variables]


def _read(path: Path) -> Iterator[Checkpoint]:
    """What is in a file, if it is whole."""
    try:
        data = path.read_bytes()
        if digest(data) == path.stem.rpartition("-")[2]:
            with np.load(io.BytesIO(data)) as stored:
                arrays = [stored[name] for name in sorted(stored.files) if name != "about"]
                yield Checkpoint(path, json.loads(stored["about"].tobytes()), arrays)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return


def digest(data: bytes) -> str:
    """The beginning of a hash, by which bytes are known again."""
    return hashlib.sha256(data).hexdigest()[:16]
