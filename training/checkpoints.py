"""Checkpoints: the complete state of training in files, so that a killed run resumes with the next step."""

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

_KEPT = 2  # the number of checkpoints to keep, in case the newest is broken


class CheckpointWarning(UserWarning):
    """The warning for a broken checkpoint that is skipped."""


@dataclasses.dataclass
class Progress:
    """The progress of a run: completed epochs and steps, the best score (lower is better), the time spent."""

    epoch: int = 0
    step: int = 0
    best: float = float("inf")
    best_epoch: int = -1
    spent: float = 0.0  # seconds spent by earlier processes
    history: list[dict[str, float]] = dataclasses.field(default_factory=list)  # the logs of each epoch
    norms: float = 0.0  # the sum of the gradient norms of this epoch
    started: float = dataclasses.field(default_factory=time.time)

    @property
    def seconds(self) -> float:
        """The total time spent on training so far, in seconds."""
        return self.spent + time.time() - self.started

    def finished(self, epochs: int, patience: int) -> bool:
        """Return whether training is complete: after all epochs, or after too many without an improvement."""
        return self.epoch >= epochs or (self.epoch > 0 and self.epoch - self.best_epoch > patience)

    def as_json(self) -> dict[str, Any]:
        """Return the progress as a JSON value."""
        return {**dataclasses.asdict(self), "spent": self.seconds, "started": None}

    def take(self, held: Mapping[str, Any]) -> None:
        """Restore the progress from a JSON value."""
        for name, value in held.items():
            if name != "started":
                setattr(self, name, value)


class Checkpoint(NamedTuple):
    """The content of a checkpoint file."""

    path: Path
    about: dict[str, Any]
    arrays: list[np.ndarray]


class Checkpoints:
    """The last checkpoints of a run. Each has a hash in its name, which identifies a broken one.

    Args:
        folder: The folder of the checkpoints.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def save(self, network: keras.Model, progress: Progress, about: Mapping[str, Any]) -> Path:
        """Write the state of a compiled network and the progress of its run, and delete older checkpoints.

        Args:
            network: A compiled and built network.
            progress: The progress of the run.
            about: A description of the run, as a JSON value.
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
        for old in [*self._paths()[_KEPT:], *self.folder.glob(".*.npz")]:  # and incomplete files of a killed process
            old.unlink(missing_ok=True)
        return path

    def newest(self) -> Checkpoint | None:
        """Return the newest checkpoint that is intact, or None if there are no checkpoints.

        Raises:
            ValueError: If there are checkpoints, but all of them are broken.
        """
        paths = self._paths()
        for path in paths:
            for checkpoint in _read(path):
                return checkpoint
            warnings.warn(f"{path}: corrupt checkpoint; using the previous one", CheckpointWarning, stacklevel=2)
        if paths:
            raise ValueError(f"{self.folder}: expected a complete checkpoint; delete the folder to start over")
        return None

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("[0-9]*-*-*.npz"), reverse=True)


def restore(checkpoint: Checkpoint, network: keras.Model, progress: Progress) -> None:
    """Restore a checkpoint into a compiled network.

    Raises:
        ValueError: If the checkpoint belongs to another network.
    """
    variables = state_of(network)
    if [a.shape for a in checkpoint.arrays] != [tuple(v.shape) for v in variables]:
        raise ValueError(f"{checkpoint.path}: expected the weights of this network; delete the folder to start over")
    for variable, array in zip(variables, checkpoint.arrays, strict=True):
        variable.assign(array)
    progress.take(checkpoint.about["progress"])


def state_of(network: keras.Model) -> list[Any]:
    """Return all variables that the next step depends on, including the metrics of the current epoch."""
    return [*network.variables, *network.optimizer.variables, *network.metrics_variables]


def _read(path: Path) -> Iterator[Checkpoint]:
    """Yield the content of a checkpoint file if it is intact."""
    try:
        data = path.read_bytes()
        if digest(data) == path.stem.rpartition("-")[2]:
            with np.load(io.BytesIO(data)) as stored:
                arrays = [stored[name] for name in sorted(stored.files) if name != "about"]
                yield Checkpoint(path, json.loads(stored["about"].tobytes()), arrays)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return


def digest(data: bytes) -> str:
    """Return the beginning of a hash that identifies the data."""
    return hashlib.sha256(data).hexdigest()[:16]
