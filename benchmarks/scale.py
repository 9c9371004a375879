"""Two worker processes compared with one: the difference of their weights, and the speed of training."""

import contextlib
import dataclasses
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 20
MULTI30K = Path(__file__).parents[2] / "shared/data/multi30k"
WAYS: dict[str, tuple[Path | None, dict[str, Any]]] = {
    "pronounce": (None, {}),
    "translate": (MULTI30K, {"text": "de", "target": "en", "test": "test_2016"}),
}


def learn(recipe_name: str, output: str, workers: str, index: int, size: int) -> None:
    """Run twenty steps of SGD without dropout, and write the weights and the seconds per step to a file."""
    import keras

    from seqattn_tf.training import recipes, run
    from seqattn_tf.training.distribution import open_strategy
    from seqattn_tf.training.optimizer import optimizer_of

    distribution = open_strategy("multiworker", workers, index) if workers else open_strategy()
    recipe, (data, chosen) = recipes.get(recipe_name), WAYS[recipe_name]
    settings = dataclasses.replace(recipe.small, dropout=0.0, batch_size=size, max_examples=40 * size, **chosen)
    with contextlib.redirect_stdout(sys.stderr):
        splits = run.open_splits(recipe, settings, data)
    keras.utils.set_random_seed(0)
    with distribution.scope():
        training = recipe.task.open(settings, splits)
        network = training.model.network
        clipping = type(optimizer_of(settings, STEPS))._clip_gradients
        sgd = type("SGD", (keras.optimizers.SGD,), {"_clip_gradients": clipping})(0.5, global_clipnorm=1.0)
        sgd.norm = keras.Variable(0.0, trainable=False)
        distribution.compile(network, sgd, training.loss)
    times: list[float] = []
    each = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: times.append(time.perf_counter()))
    batches = distribution.prepare(network, training.batches(0, 0, distribution.part))
    network.fit(batches, steps_per_epoch=STEPS, epochs=1, callbacks=[each], verbose=0, shuffle=False)
    weights = {f"{i}": np.asarray(weight.numpy()) for i, weight in enumerate(network.trainable_variables)}
    np.savez(output, seconds=np.median(np.diff(times)[STEPS // 2 :]), **weights)


def together(recipe: str, folder: Path, count: int, size: int) -> list[dict[str, np.ndarray]]:
    """Train with this many processes, one TensorFlow thread each, and return their results."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    workers = ",".join(f"localhost:{one.getsockname()[1]}" for one in sockets) if count > 1 else ""
    for one in sockets:
        one.close()
    paths = [folder / f"{recipe}-{count}-{size}-{index}.npz" for index in range(count)]
    own = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.scale", recipe, str(path), workers, str(index), str(size)],
            env={**os.environ, **own},
            stderr=subprocess.DEVNULL,
        )
        for index, path in enumerate(paths)
    ]
    if any([process.wait() for process in started]):
        raise RuntimeError(f"{recipe}: expected {count} processes that end well. Received: another status")
    return [dict(np.load(path)) for path in paths]


def far(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    """Return the largest absolute difference between two sets of weights."""
    return max(float(np.abs(one[name] - other[name]).max()) for name in one if name != "seconds")


def main() -> None:
    """Print all results."""
    with tempfile.TemporaryDirectory() as folder:
        for recipe, (data, _) in WAYS.items():
            if data is not None and not data.is_dir():
                print(f"{recipe}: no data, {data.name} is not there")
                continue
            [alone] = together(recipe, Path(folder), 1, 128)
            first, second = together(recipe, Path(folder), 2, 128)
            [half] = together(recipe, Path(folder), 1, 64)
            print(f"{recipe}: the two differ by {far(first, second):g}, from one by {far(first, alone):.1e}")
            ms = {name: 1e3 * float(found["seconds"]) for name, found in (("1", alone), ("2", first), ("half", half))}
            print(f"  batches of 128: one {ms['1']:.0f} ms a step, two {ms['2']:.0f} ms, {ms['1'] / ms['2']:.2f} times")
            print(
                f"  64 for each: one {64e3 / ms['half']:.0f} examples a second, two {128e3 / ms['2']:.0f}", flush=True
            )


if __name__ == "__main__":
    learn(*sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5]))
