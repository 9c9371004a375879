"""The folder with everything that the other machine needs: programs, the initial state and the data."""

import contextlib
import dataclasses
import hashlib
import io
import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seqattn_tf.core.atomic_io import write_atomically
from seqattn_tf.training.checkpoints import state_of
from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.finding import place
from seqattn_tf.training.optimizer import adam_of
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.resuming import identity
from seqattn_tf.training.run import open_splits, open_training
from seqattn_tf.training.tasks import Settings, Training
from seqattn_tf.training.tasks.base import vocabulary_of
from tools.gpu.lowering import Step

FORMAT, MIB = 1, 2**20
XLA = "on"  # what a lane computes: steps that XLA compiled, with padded batches


@dataclasses.dataclass(frozen=True)
class Chosen:
    """What is trained on which data, as the options of `seqattn train` determine it."""

    recipe: Recipe
    settings: Settings
    data: str | None = None
    init_from: str | None = None
    plugins: Sequence[str] = ()

    def open(self) -> tuple[Training, dict[str, Any]]:
        """Return the training with a compiled network, and a JSON value that identifies it."""
        splits = open_splits(self.recipe, self.settings, self.data)
        print(splits.summary)
        training = open_training(self.recipe, self.settings, splits, self.init_from)
        return training, {**self._identity(splits), "vocabulary": vocabulary_of(training.model)}

    def _identity(self, splits: Splits) -> dict[str, Any]:
        return identity(self.recipe, self.settings, splits, self.init_from, XLA)

    def as_json(self) -> dict[str, Any]:
        """Return what `finish` needs to open the same training."""
        data = None if self.data is None else place(self.data)
        return {"data": data, "init_from": self.init_from, "plugins": list(self.plugins)}


def kept(training: Training, changed: set[int]) -> dict[int, int]:
    """Return the indices in `state_of` of the variables that become the model, by the index of what replaces them.

    These are the variables of the network that a step changes, with moving averages in place of the weights.
    """
    network = training.model.network
    index_of = {id(variable): index for index, variable in enumerate(state_of(network))}
    adam = adam_of(network)
    means = adam._model_variables_moving_average if adam.use_ema else ()
    mean_of = {id(weight): mean for weight, mean in zip(adam._trainable_variables, means, strict=False)}
    own = [variable for variable in network.variables if index_of[id(variable)] in changed]
    return {index_of[id(mean_of.get(id(variable), variable))]: index_of[id(variable)] for variable in own}


def write(
    folder: Path,
    about: Mapping[str, Any],
    steps: Sequence[Step],
    state: Sequence[np.ndarray],
    most_mib: int,
    **data: Any,
) -> dict[str, Any]:
    """Write a lane, and return its description.

    Args:
        folder: The folder to create.
        about: The description so far; its `programs` list the shapes of a batch for each step.
        steps: The programs.
        state: The initial state; zeros are not stored.
        most_mib: The maximum MiB of all files.
        data: The arrays of the training data.

    Raises:
        ValueError: If the folder is not empty, or if the files would be too large; nothing is written then.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder}: expected a new or empty folder. Received: one with files")
    files = {f"step-{number}.hlo.xz": lzma.compress(step.hlo) for number, step in enumerate(steps)}
    programs = [
        {"file": file, "parameters": step.parameters, "results": step.results, **shapes}
        for file, step, shapes in zip(files, steps, about["programs"], strict=True)
    ]
    files["state.npz"] = _packed({f"{index:04d}": array for index, array in enumerate(state) if array.any()})
    files["data.npz"] = _packed(data)
    sizes = {name: len(content) / MIB for name, content in files.items()}
    if sum(sizes.values()) > most_mib:
        largest = ", ".join(f"{name} {size:.1f}" for name, size in sorted(sizes.items(), key=lambda one: -one[1])[:3])
        advice = "use max_examples, max_pretrained_words, fewer epochs or --max-mib"
        raise ValueError(
            f"{folder}: expected at most {most_mib} MiB. Received: {sum(sizes.values()):.1f} MiB ({largest}); {advice}"
        )
    about = {**about, "programs": programs, "files": {name: _digest(content) for name, content in files.items()}}
    spec = {"format": FORMAT, "id": _digest(json.dumps(about, sort_keys=True).encode()), **about}
    with write_atomically(folder) as aside:
        aside.mkdir()
        for name, content in files.items():
            (aside / name).write_bytes(content)
        (aside / "lane.json").write_text(json.dumps(spec), encoding="utf-8")
    return spec


def read(folder: Path) -> dict[str, Any]:
    """Return the description of a lane."""
    with _broken(folder, "a folder that `prepare` wrote"):
        spec = json.loads((folder / "lane.json").read_text(encoding="utf-8"))
        if spec["format"] != FORMAT:
            raise ValueError(f"{folder}: expected a lane of format {FORMAT}. Received: {spec['format']}")
        return spec


def read_output(folder: Path) -> dict[str, Any]:
    """Return the description that `run.py` has written."""
    with _broken(folder, "a folder that `run.py` wrote"):
        about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        if about["format"] != FORMAT:
            raise ValueError(f"{folder}: expected output of format {FORMAT}. Received: {about['format']}")
        return about


def weights(folder: Path, saved: Mapping[str, Any]) -> dict[int, np.ndarray]:
    """Return the weights of an epoch, by their indices in the state.

    Raises:
        ValueError: If a file is missing or corrupt.
    """
    whole = bytearray()
    for part in saved["parts"]:
        path = folder / part["file"]
        if not path.is_file():
            raise ValueError(
                f"{path}: expected the file that `run.py` wrote. Received: no such file; copy all of {folder}"
            )
        content = path.read_bytes()
        if _digest(content) != part["sha256"]:
            raise ValueError(
                f"{path}: expected the file that `run.py` wrote. Received: a corrupt one, {len(content)} bytes"
            )
        whole += content
    with np.load(io.BytesIO(whole)) as stored:
        return {int(name): stored[name] for name in stored.files}


@contextlib.contextmanager
def _broken(folder: Path, expected: str) -> Iterator[None]:
    """Turn an unreadable description into an error that names the folder."""
    try:
        yield
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{folder}: expected {expected}. Received: {error!r:.200}") from None


def _packed(arrays: Mapping[str, np.ndarray]) -> bytes:
    whole = io.BytesIO()
    np.savez_compressed(whole, allow_pickle=False, **arrays)
    return whole.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
