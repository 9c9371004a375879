"""The choice of whether XLA compiles the training step: made by the user, or measured once and stored with the run.

XLA recompiles the step for every new batch shape, which takes seconds. When it is on, lengths are therefore padded to a
multiple; masks make this harmless.
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
_MULTIPLE = 8  # lengths are padded to a multiple of this if steps are compiled
_BATCHES, ROUNDS = 3, 2  # batches and rounds of each measurement, after a round that compiles


class NotCompiled(ValueError):
    """The error for a network whose training step XLA cannot compile."""


def ask(asked: str, folder: Path, held: Checkpoint | None, distribution: Distribution) -> str:
    """Return the choice for a run: `on`, `off`, or `auto` if it is still to be measured.

    If `auto` is requested, the choice made earlier for the same run is returned, if there is one.

    Raises:
        ValueError: If there is no such choice, or if the distribution does not support it.
    """
    if asked not in _CHOICES:
        raise ValueError(f"xla: expected one of {_CHOICES}. Received: {asked!r}")
    if not distribution.compiles:
        if asked == "on":
            raise ValueError("xla: expected off or auto with a strategy. Received: on")
        if asked == "auto" and distribution.is_chief:
            print("xla: off, because it is not supported with a strategy")
        return "off"
    return _held_by(folder, held) or "auto" if asked == "auto" else asked


def _held_by(folder: Path, held: Checkpoint | None) -> str:
    """Return the choice made for the run in a folder, or an empty string if there is none."""
    if held is not None:
        return remembered(held.about)
    return remembered(read_record(folder)) if (folder / "config.json").is_file() else ""


def remembered(about: Mapping[str, Any]) -> str:
    """Return the choice in a checkpoint or a record. Those without a choice were not compiled."""
    return about.get("xla", "off")


def settle(training: Training, asked: str, progress: Progress) -> str:
    """Switch XLA on or off for a compiled and restored network, and return the choice; `auto` measures both.

    The state of training does not change.

    Raises:
        NotCompiled: If `on` is requested and XLA cannot compile the step.
    """
    if progress.finished(training.settings.epochs, training.settings.patience):
        return "off" if asked == "auto" else asked
    chosen = _faster(training, progress) if asked == "auto" else asked
    use(training, chosen == "on")
    if asked == "on":
        _seconds(training, progress, rounds=0, most=1)
    return chosen


def use(training: Training, compiled: bool) -> None:
    """Switch compilation on or off from the next step on."""
    network = training.model.network
    if network.jit_compile != compiled:
        network.jit_compile, network.train_function = compiled, None
    for column in training.columns.all:
        column.round_up(_MULTIPLE if compiled else 1)


def _faster(training: Training, progress: Progress) -> str:
    """Return `on` or `off`, depending on the time of the next steps, and print the result."""
    use(training, False)
    plain = _seconds(training, progress)
    try:
        use(training, True)
        compiled = _seconds(training, progress)
    except NotCompiled as error:
        print(f"xla: off. {error}")
        return "off"
    chosen = "on" if compiled < plain else "off"
    print(f"xla: {chosen}, {1e3 * compiled:.0f} ms per step with XLA, {1e3 * plain:.0f} ms without")
    return chosen


def _seconds(training: Training, progress: Progress, rounds: int = ROUNDS, most: int = _BATCHES) -> float:
    """Return the time per step of the next few steps: the best of several rounds, after one round for compilation."""
    network = training.model.network
    batches = training.batches(progress.epoch, progress.step).take(most)
    count = sum(1 for _ in batches)  # values that cannot be read fail here, so that XLA is not blamed
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
    """Run one step and wait for its end."""
    try:
        float(network.train_function(steps)["loss"])
    except tf.errors.OpError as error:
        if not network.jit_compile:
            raise
        expected = "xla: expected a network that XLA can compile"
        raise NotCompiled(f"{expected}. Received: {reason(error.message)}; use --xla off") from error


def reason(message: str) -> str:
    """Return the line of a TensorFlow error message that names the operation.

    >>> reason("Graph execution error:\\n\\nInput 2 to node `a/ScatterNd` with op ScatterNd must be known.\\nAnd more")
    'Input 2 to node `a/ScatterNd` with op ScatterNd must be known'
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    naming = [line for line in lines if " with op " in line or "unsupported operations" in line]
    return (naming or lines or ["no reason given"])[0][:300].rstrip(".")


@contextmanager
def _untouched(network: keras.Model) -> Iterator[None]:
    """Restore the state of the network at the end: weights, moments, seeds and metrics."""
    variables = state_of(network)
    held = [variable.numpy() for variable in variables]
    try:
        yield
    finally:
        for variable, value in zip(variables, held, strict=True):
            variable.assign(value)
