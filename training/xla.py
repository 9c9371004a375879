"""Whether XLA compiles the whole step of a training: told, or measured once and remembered with the run.

Every new shape of a batch is compiled anew, which takes seconds. So lengths are padded up to a multiple then; masks
make that harmless.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.training.checkpoints import Checkpoint, Progress, state_of
from seqattn_tf.training.distribution import Distribution
from seqattn_tf.training.record import read_record
from seqattn_tf.training.tasks import Training

_CHOICES = ("auto", "on", "off")
_MULTIPLE = 8  # to which lengths are padded where steps are compiled
_BATCHES, ROUNDS = 3, 2  # by which both ways are measured, after a round that compiles


class NotCompiled(ValueError):
    """XLA does not compile the step of a network."""


def ask(asked: str, folder: Path, held: Checkpoint | None, distribution: Distribution) -> str:
    """What is asked of a run: `auto` is what was chosen for it before, and stays where it is a new one.

    Raises:
        ValueError: there is no such choice, or none with this distribution.
    """
    if asked not in _CHOICES:
        raise ValueError(f"xla: expected one of {_CHOICES}. Received: {asked!r}")
    if not distribution.compiles:
        if asked == "on":
            raise ValueError("xla: expected off or auto with a strategy. Received: on")
        if asked == "auto" and distribution.is_chief:
            print("xla: off, as steps of a strategy are not compiled")
        return "off"
    return _held_by(folder, held) or "auto" if asked == "auto" else asked


def _held_by(folder: Path, held: Checkpoint | None) -> str:
    """What was chosen for the run in a folder; empty where there is none."""
    if held is not None:
        return remembered(held.about)
    return remembered(read_record(folder)) if (folder / "config.json").is_file() else ""


def remembered(about: Mapping[str, Any]) -> str:
    """What a checkpoint or a record holds; those of before there was a choice hold nothing, and were not compiled."""
    return about.get("xla", "off")


def settle(training: Training, asked: str, progress: Progress) -> str:
    """Have the steps of a compiled and restored network made as asked; `on` or `off`, which `auto` measures.

    Nothing of the state of the training changes.

    Raises:
        NotCompiled: `on`, of a network with which that does not work.
    """
    if progress.finished(training.settings.epochs, training.settings.patience):
        return "off" if asked == "auto" else asked
    chosen = _faster(training, progress) if asked == "auto" else asked
    use(training, chosen == "on")
    if asked == "on":
        _seconds(training, progress, rounds=0, most=1)
    return chosen


def use(training: Training, compiled: bool) -> None:
    """From the next step on, have steps compiled or not."""
    network = training.model.network
    if network.jit_compile != compiled:
        network.jit_compile, network.train_function = compiled, None
    for column in training.columns.all:
        column.round_up(_MULTIPLE if compiled else 1)


def _faster(training: Training, progress: Progress) -> str:
    """`on` or `off`, by what the next steps take; said in a line."""
    use(training, False)
    plain = _seconds(training, progress)
    try:
        use(training, True)
        compiled = _seconds(training, progress)
    except NotCompiled as error:
        print(f"xla: off. {error}")
        return "off"
    chosen = "on" if compiled < plain else "off"
    print(f"xla: {chosen}, {1e3 * compiled:.0f} ms a step compiled, {1e3 * plain:.0f} ms not")
    return chosen


def _seconds(training: Training, progress: Progress, rounds: int = ROUNDS, most: int = _BATCHES) -> float:
    """What each of the next few steps takes, at best of some rounds; a first one, which compiles, does not count."""
    network = training.model.network
    batches = training.batches(progress.epoch, progress.step).take(most)
    count = sum(1 for _ in batches)  # a value that cannot be read is no matter of XLA
    network.make_train_function()
    times = []
    with _untouched(network):
        for _ in range(1 + rounds):
            steps, began = iter(batches), time.perf_counter()
            for _ in range(count):
                _step(network, steps)
            times.append((time.perf_counter() - began) / max(count, 1))
    return min(times[1:], default=0.0)


def _step(network: keras.Model, steps: Iterator) -> None:
    """One step, to its end."""
    try:
        float(network.train_function(steps)["loss"])
    except tf.errors.OpError as error:
        if not network.jit_compile:
            raise
        expected = "xla: expected a network that XLA compiles"
        raise NotCompiled(f"{expected}. Received: {_reason(error.message)}; --xla off trains it") from error


def _reason(message: str) -> str:
    """The line of what TensorFlow says that names the operation.

    >>> _reason("Graph execution error:\\n\\nInput 2 to node `a/ScatterNd` with op ScatterNd must be known.\\nAnd more")
    'Input 2 to node `a/ScatterNd` with op ScatterNd must be known'
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    naming = [line for line in lines if " with op " in line or "unsupported operations" in line]
    return (naming or lines or ["no reason"])[0][:300].rstrip(".")


@contextmanager
def _untouched(network: keras.Model) -> Iterator[None]:
    """Whatever happens, the state is as it was afterwards: weights, moments, seeds and sums."""
    variables = state_of(network)
    held = [variable.numpy() for variable in variables]
    try:
        yield
    finally:
        for variable, value in zip(variables, held, strict=True):
            variable.assign(value)
