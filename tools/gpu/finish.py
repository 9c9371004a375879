"""Turn the weights that were trained elsewhere into an ordinary run: the best epoch, with its record."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from seqattn_tf import plugins
from seqattn_tf.core.atomic_io import write_json
from seqattn_tf.training import recipes
from seqattn_tf.training.checkpoints import state_of
from seqattn_tf.training.precision import in_float32
from seqattn_tf.training.record import describe
from seqattn_tf.training.resuming import settings_of
from seqattn_tf.training.runs import HISTORY
from seqattn_tf.training.tasks import Training
from tools.gpu import lane
from tools.gpu.lane import Chosen


def finish(folder: Path, out: Path, run: Path) -> dict[str, float]:
    """Evaluate every saved epoch on the development split, and write the best one as a run.

    Args:
        folder: The folder that `prepare` wrote.
        out: The folder that `run.py` wrote.
        run: The folder of the run to create.

    Returns:
        The metrics of the best epoch.

    Raises:
        ValueError: If the folders do not belong together or are incomplete, or if the data have changed.
    """
    spec, about = lane.read(folder), lane.read_output(out)
    if about["lane"] != spec["id"]:
        raise ValueError(
            f"{out}: expected the output of {folder}. Received: that of a lane with other settings or data"
        )
    if not about["saved"]:
        raise ValueError(f"{out}: expected the weights of at least one epoch. Received: none")
    if run.exists() and any(run.iterdir()):
        raise ValueError(f"{run}: expected a new or empty folder. Received: one with files")
    trained = {saved["epoch"]: lane.weights(out, saved) for saved in about["saved"]}
    training, chosen = _open(folder, spec)
    targets = lane.kept(training, set(range(len(spec["state"]))))
    task, quick = training.task, training.task.fast_variant(training.model)
    history = [_logs(spec, training, logs) for logs in about["history"]]
    best, sign = 0, 1 if task.higher_is_better else -1
    for epoch, arrays in trained.items():
        assign(training, targets, arrays)
        metrics = task.measure(quick, training.splits.dev, quiet=False).metrics
        history[epoch - 1] |= {f"dev_{name}": float(value) for name, value in metrics.items()}
        shown = "  ".join(f"{name} {value:.4f}" for name, value in history[epoch - 1].items())
        print(f"epoch {epoch}/{chosen.settings.epochs}  {shown}", flush=True)
        value = sign * float(metrics[task.monitor])
        if not best or value > sign * history[best - 1][f"dev_{task.monitor}"]:
            best = epoch
    assign(training, targets, trained[best])
    figures = history[best - 1]
    record = describe(chosen.recipe, training, figures, about["seconds"], chosen.data)
    record |= {"init_from": spec["init_from"], "xla": spec["xla"], "soft_targets": spec["soft_targets"]}
    record["created_with"] |= {"jax": about["machine"]["jax"], "machine": about["machine"]["device"]}
    record["epoch"], record["half"] = best, about["half"]
    in_float32(training.model).save(run, record)
    write_json(run / HISTORY, history)
    print(f"epoch {best} is the best of {sorted(trained)}")
    return figures


def assign(training: Training, targets: Mapping[int, int], arrays: Mapping[int, np.ndarray]) -> None:
    """Assign the weights of an epoch to the network."""
    variables = state_of(training.model.network)
    for index, array in arrays.items():
        if index not in targets or tuple(variables[targets[index]].shape) != array.shape:
            raise ValueError(f"weights: expected those of this network. Received: array {index} of shape {array.shape}")
        variables[targets[index]].assign(array)


def _open(folder: Path, spec: Mapping[str, Any]) -> tuple[Training, Chosen]:
    """Open the training of a lane, and check that it is still the same."""
    how = spec["chosen"]
    for name in how["plugins"]:
        plugins.load(name)
    recipe = recipes.get(spec["recipe"])
    settings = settings_of(recipe, spec["settings"])
    chosen = Chosen(recipe, settings, how["data"], how["init_from"], how["plugins"])
    training, about = chosen.open()
    differ = {name: (spec[name], value) for name, value in about.items() if spec[name] != value}
    if differ:
        raise ValueError(f"{folder}: expected the training of the lane (stored, now). Received: {differ}")
    return training, chosen


def _logs(spec: Mapping[str, Any], training: Training, logs: Mapping[str, float]) -> dict[str, float]:
    return {"loss": logs["loss"], "symbols_per_second": spec["symbols"] * logs["steps_per_second"]}
