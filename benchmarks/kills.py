"""Training runs that are killed at random moments, compared with the final weights of undisturbed runs."""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from seqattn_tf.training.checkpoints import Checkpoint, Checkpoints

KILLS = 10
WAYS = {
    "pronounce": ["--preset", "small", "--set", "epochs=3", "--set", "max_examples=6000"],
    "caption": ["--preset", "small", "--set", "epochs=3", "--set", "max_examples=1600"],  # generated scenes
}


def start(recipe: str, folder: Path) -> subprocess.Popen:
    """Start a training run in a separate process."""
    command = [sys.executable, "-m", "seqattn_tf.cli", "train", recipe, *WAYS[recipe]]
    command += ["--run", str(folder), "--checkpoint-steps", "5"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finish(recipe: str, folder: Path) -> Checkpoint:
    """Train to the end without interruption and return the final state."""
    if start(recipe, folder).wait():
        raise RuntimeError(f"{recipe}: expected a training that ends well. Received: another status")
    found = Checkpoints(folder / "checkpoints").newest()
    assert found is not None
    return found


def kept(folder: Path) -> list[str]:
    """Return the names of the existing checkpoints."""
    return sorted(path.name for path in (folder / "checkpoints").glob("[0-9]*.npz"))


def position(folder: Path) -> str:
    """Return the epoch and the step of the last checkpoint."""
    names = kept(folder)
    return "{}, step {}".format(*map(int, names[-1].split("-")[:2])) if names else "0, before any checkpoint"


def wait(process: subprocess.Popen, folder: Path, moments: random.Random) -> None:
    """Wait until a random moment: during the start in one of five cases, otherwise after a new checkpoint."""
    known = kept(folder)
    if moments.random() < 0.2:
        time.sleep(moments.uniform(0, 8))
        return
    while process.poll() is None and kept(folder) == known:
        time.sleep(0.02)
    time.sleep(moments.uniform(0, 2))


def main() -> None:
    """Print where each run was killed, and whether all weights are the same."""
    moments = random.Random(0)
    for recipe in WAYS:
        with tempfile.TemporaryDirectory() as base:
            began = time.time()
            whole = finish(recipe, Path(base) / "whole")
            took = time.time() - began
            for _ in range(KILLS):
                process = start(recipe, Path(base) / "killed")
                wait(process, Path(base) / "killed", moments)
                ended = process.poll() is not None
                process.kill()
                process.wait()
                print(
                    f"{recipe}: {'over' if ended else 'killed'}, at epoch {position(Path(base) / 'killed')}", flush=True
                )
                if ended:
                    break
            killed = finish(recipe, Path(base) / "killed")
        same = [np.array_equal(a, b) for a, b in zip(whole.arrays, killed.arrays, strict=True)]
        print(f"{recipe}: {sum(same)} of {len(same)} arrays identical; undisturbed {took:.0f} s", flush=True)


if __name__ == "__main__":
    main()
