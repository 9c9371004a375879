"""`translate` on 2 GB of generated text: the memory that each stage needs in addition to TensorFlow's own.

The data are eight shards of sentence pairs, with words of a Zipf distribution. They are distributed over windows on
disk, their symbols are counted and their texts tokenized. Then the network is trained, and the batches of a whole epoch
are drawn without it. A single process does all of this after importing TensorFlow; its memory is its resident set.
`SEQATTN_GIGABYTES` sets another size.
"""

import dataclasses
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from seqattn_tf.training import recipes, run
from seqattn_tf.training.data.corpus import Corpus

SHARDS, WORDS, STEPS = 8, 50_000, 200
GIGABYTES = float(os.environ.get("SEQATTN_GIGABYTES", "2"))


def write(folder: Path, size: float) -> None:
    """Write this many bytes of pairs: 4 to 16 words, and the same words in reverse order."""
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    words = np.array(["".join(rng.choice(letters[:20], rng.integers(2, 9))) + str(n % 10) for n in range(WORDS)])
    for shard in range(SHARDS):
        with (folder / f"train-{shard:05d}-of-{SHARDS:05d}.tsv").open("w") as file:
            while file.tell() < size / SHARDS:
                for drawn in (rng.zipf(1.2, [2000, 16]) - 1) % WORDS:
                    said = words[drawn[: rng.integers(4, 17)]]
                    file.write(f"{' '.join(said)}\t{' '.join(said[::-1])}\n")


def resident() -> float:
    """Return the resident memory of this process in megabytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


@contextmanager
def watched(name: str, base: float) -> Iterator[None]:
    """Print the time and the peak memory of a stage."""
    most, done, began = resident(), threading.Event(), time.perf_counter()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.05):
            most = max(most, resident())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    seconds = time.perf_counter() - began
    print(f"{name:<44}{seconds:7.0f} s {most - base:7.0f} MB at most beyond TensorFlow's own", flush=True)


def main() -> None:
    """Print the time and memory of each stage."""
    recipe = recipes.get("translate")
    settings = dataclasses.replace(
        recipe.small,
        text_column="0",
        target_column="1",
        source_tokenizer="spaces",
        target_tokenizer="spaces",
        vocabulary=8000,
        batch_tokens=2048,
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = str(Path(folder) / "cache")
        data = Path(folder) / "data"
        data.mkdir()
        write(data, GIGABYTES * 1e9)
        base = resident()
        with watched(f"{GIGABYTES:g} GB dealt to windows", base):
            splits = run.open_splits(recipe, settings, data)
        if not isinstance(splits.train, Corpus):
            raise RuntimeError("data: expected more than memory holds; ask for more gigabytes")
        with watched("symbols counted, a network made", base):
            model = recipe.task.create_model(settings, splits)
        with watched("texts cut", base):
            training = recipe.task.open(settings, splits, model)
        print(
            f"{len(splits.train)} pairs in {splits.train.windows} windows, {training.steps} steps an epoch", flush=True
        )
        run.compile_network(training)
        with watched(f"{STEPS} steps of training", base):
            model.network.fit(training.batches(), steps_per_epoch=STEPS, epochs=1, shuffle=False, verbose=0)
        with watched("the batches of a whole epoch", base):
            drawn = sum(1 for _ in training.batches().take(training.steps))
        print(f"{drawn} batches, {drawn * training.symbols:.0f} symbols")
        with watched("opened again", base):
            recipe.task.open(settings, run.open_splits(recipe, settings, data), model)
