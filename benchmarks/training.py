"""`seqattn train translate` with 256 units compared with the same model in Keras layers and in PyTorch.

All train on the batches of `seqattn train` (128 sentences of similar length, 6 000 subwords per side; without the
corpus, generated pairs), with the same cells, sizes, dropout, label smoothing, clipping and Adam; their parameters are
counted. The Keras model is written in the obvious way, with attention, all projections and the output inside the loop.
The PyTorch model has a packed encoder, keys projected once and the output after the loop; it runs eagerly and with
`torch.compile`. All have two threads and take turns of a few steps in this process, so that other load on the machine
affects all of them alike; a ratio is the median over the turns. Compilation is left out. Further measurements are the
time to draw a batch, and the memory of a step of 64 pairs of 50 and 50 symbols, in a separate process.
"""

import dataclasses
import importlib
import importlib.util
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from benchmarks._memory import more_at_peak
from benchmarks._turns import PAUSE
from seqattn_tf.models.networks.encoder_decoder import EncoderDecoder
from seqattn_tf.outputs.loss import MaskedCrossEntropy
from seqattn_tf.training import recipes, run, xla
from seqattn_tf.training.data import Splits, from_text
from seqattn_tf.training.distribution import Distribution
from seqattn_tf.training.optimizer import optimizer_of
from seqattn_tf.training.tasks import Training

MULTI30K = Path(__file__).parents[2] / "shared/data/multi30k"
OURS = "seqattn train translate"
WARM_STEPS, STRETCH, ROUNDS, CHOOSING, DRAWN = 2, 8, 7, 2, 100
PAIRS, LENGTH, SYMBOLS, STEPS = 64, 50, 6004, 3  # of the steps whose memory is measured, and the number of steps
SETTINGS = dataclasses.replace(recipes.get("translate").settings, units=256, test="test_2016")


class Plain(keras.Model):
    """A BiGRU encoder, additive attention and a GRU decoder, with nothing hoisted."""

    def __init__(self, source_size: int, target_size: int, units: int, embedding: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.source = keras.layers.Embedding(source_size, embedding, mask_zero=True)
        self.target = keras.layers.Embedding(target_size, embedding)
        self.encoder = keras.layers.Bidirectional(keras.layers.GRU(units, return_sequences=True, return_state=True))
        self.first = keras.layers.Dense(units, activation="tanh")
        self.ask, self.key, self.score = (keras.layers.Dense(n, use_bias=False) for n in (units, units, 1))
        self.cell = keras.layers.GRUCell(units)
        self.readout = keras.layers.Dense(units, activation="tanh")
        self.logits = keras.layers.Dense(target_size)
        self.drop = keras.layers.Dropout(dropout)

    def call(self, inputs: dict[str, tf.Tensor], training: bool = False) -> tf.Tensor:
        """Return teacher-forced logits."""
        source, shifted = inputs["text_ids"], inputs["shifted"]
        mask = source != 0
        values, ahead, back = self.encoder(self.drop(self.source(source), training=training), mask=mask)
        values = self.drop(values, training=training)
        embedded = self.drop(self.target(shifted), training=training)

        def step(carry: tuple[tf.Tensor, tf.Tensor], token: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            state, _ = carry
            logits = self.score(tf.tanh(self.ask(state)[:, None] + self.key(values)))[..., 0]
            weights = tf.nn.softmax(tf.where(mask, logits, -1e9))
            context = tf.reduce_sum(weights[..., None] * values, axis=1)
            output, (state,) = self.cell(tf.concat([token, context], -1), [state])
            readout = self.drop(self.readout(tf.concat([output, context, token], -1)), training=training)
            return state, self.logits(readout)

        state = self.first(tf.concat([ahead, back], -1))
        nothing = tf.zeros([tf.shape(source)[0], self.logits.units])
        for layer, width in ((self.ask, state.shape[-1]), (self.key, values.shape[-1]), (self.score, state.shape[-1])):
            layer.built or layer.build((None, width))  # variables cannot be created inside the loop
        wide = embedded.shape[-1] + values.shape[-1]
        self.cell.built or self.cell.build((None, wide))
        self.readout.built or self.readout.build((None, wide + state.shape[-1]))
        self.logits.built or self.logits.build((None, state.shape[-1]))
        _, stacked = tf.scan(step, tf.transpose(embedded, [1, 0, 2]), (state, nothing))
        return tf.transpose(stacked, [1, 0, 2])


class StepTimes(keras.callbacks.Callback):
    """A callback that records the milliseconds of each step of a `fit` after the first few."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        now = time.perf_counter()
        if batch >= WARM_STEPS:
            self.times.append(1e3 * (now - self.last))
        self.last = now


def keras_stretch(network: keras.Model, batches: tf.data.Dataset) -> Callable[[], float]:
    """Return a function that runs a few steps of `fit` and returns the milliseconds per step."""

    def stretch() -> float:
        clock = StepTimes()
        steps = WARM_STEPS + STRETCH
        network.fit(batches, steps_per_epoch=steps, callbacks=[clock], shuffle=False, verbose=0)
        return float(np.mean(clock.times))

    return stretch


def torch_trainer(sizes: tuple[int, int], compiled: bool = False) -> Any:
    """Return a trainer of the PyTorch model."""
    import torch

    from benchmarks._torch import TorchSeq2Seq, TorchTrainer

    torch.set_num_threads(2)
    torch._dynamo.config.recompile_limit = 64  # the loop is compiled for each of its lengths
    model = TorchSeq2Seq(*sizes, SETTINGS.units, SETTINGS.embedding, dropout=SETTINGS.dropout)
    trained = torch.compile(model, dynamic=True) if compiled else model
    return TorchTrainer(trained, 1e-3, SETTINGS.clip_norm, SETTINGS.label_smoothing)


def torch_stretch(trainer: Any, batches: tf.data.Dataset) -> Callable[[], float]:
    """Return a function that runs a few steps in PyTorch and returns the milliseconds per step."""

    def stretch() -> float:
        times = []
        for inputs, target in batches.as_numpy_iterator():
            began = time.perf_counter()
            trainer.step(inputs["text_ids"], inputs["shifted"], target)
            times.append(1e3 * (time.perf_counter() - began))
        return float(np.mean(times[WARM_STEPS:]))

    return stretch


def open_splits() -> Splits:
    """Return the corpus, or generated pairs of similar size."""
    if MULTI30K.is_dir():
        return run.open_splits(recipes.get("translate"), SETTINGS, MULTI30K)
    print(f"{MULTI30K.name} is not there: generated pairs")
    generator = random.Random(0)
    words = ["".join(generator.choices("abcdefghij", k=generator.randint(2, 9))) for _ in range(9000)]
    texts = [" ".join(generator.choices(words, k=generator.randint(4, 14))) for _ in range(6000)]
    rows = [from_text(text, " ".join(reversed(text.split()))) for text in texts]
    return Splits(rows[200:], rows[:100], rows[100:200], "generated")


def open_training(splits: Splits, compiled: bool = False) -> Training:
    """Set up training as `seqattn train` does before its first step."""
    recipe = recipes.get("translate")
    training = recipe.task.open(SETTINGS, splits)
    run.compile_network(training)
    xla.use(training, compiled)
    return training


def size_of(model: keras.Model) -> int:
    """Return the number of trainable parameters."""
    return sum(int(np.prod(weight.shape)) for weight in model.trainable_variables)


def in_stretches(ways: dict[str, Callable[[], float]], rounds: int) -> dict[str, np.ndarray]:
    """Return the milliseconds per step of each way, by round, without the first round, which includes compilation."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, stretch in ways.items():
            time.sleep(PAUSE)
            times[name].append(stretch())
        if number:
            print(
                f"round {number}: " + ", ".join(f"{name} {found[-1]:.0f}" for name, found in times.items()), flush=True
            )
    return {name: np.array(found[1:]) for name, found in times.items()}


def our_best(splits: Splits) -> tuple[str, Training, Callable[[], float]]:
    """Return the faster one of our two ways: its name, its training and its function."""
    trainings = {OURS: open_training(splits), f"{OURS} --xla on": open_training(splits, compiled=True)}
    ways = {name: keras_stretch(one.model.network, first_batches(one)) for name, one in trainings.items()}
    times = in_stretches(ways, CHOOSING)
    best = min(ways, key=lambda name: np.median(times[name]))
    return best, trainings[best], ways[best]


def first_batches(training: Training) -> tf.data.Dataset:
    """Return the batches of one turn."""
    return training.batches(0).take(WARM_STEPS + STRETCH)


def speed() -> None:
    """Print the tokens per second of all implementations, and the share of the input pipeline."""
    splits = open_splits()
    best, training, ours = our_best(splits)
    network, batches = training.model.network, first_batches(training)
    sizes = training.model.inputs["text"].rules.size, training.model.target.rules.size
    plain = Plain(*sizes, SETTINGS.units, SETTINGS.embedding, SETTINGS.dropout)
    plain.compile(keras.optimizers.Adam(1e-3, global_clipnorm=SETTINGS.clip_norm), training.loss, jit_compile=False)
    plain(next(iter(batches))[0])
    ways = {best: ours, "Keras, plain loop": keras_stretch(plain, batches)}
    counts = {size_of(network), size_of(plain)}
    if importlib.util.find_spec("torch"):
        for name in ("eager", "torch.compile"):
            trainer = torch_trainer(sizes, name != "eager")
            counts.add(sum(parameter.numel() for parameter in trainer.model.parameters()))
            ways[f"PyTorch, {name}"] = torch_stretch(trainer, batches)
    if len(counts) > 1:
        raise RuntimeError(f"parameters: expected as many in all. Received: {sorted(counts)}")
    print(f"{splits.origin}, symbols {sizes}, {counts.pop():,} parameters in each")
    tokens = np.mean([np.count_nonzero(x["text_ids"]) + np.count_nonzero(y) for x, y in batches.skip(WARM_STEPS)])
    times = in_stretches(ways, ROUNDS)
    for name, found in times.items():
        spent, ratios = np.median(found), found / times[best]
        print(
            f"{name:<26}{spent:6.0f} ms a step, {1e3 * tokens / spent:6,.0f} tokens a second, "
            f"{np.median(ratios):.2f} times ours ({ratios.min():.2f} to {ratios.max():.2f})"
        )
    drawn = milliseconds_to_draw(training.batches(0))
    share = 100 * drawn / np.median(times[best])
    print(f"a batch is drawn in {drawn:.2f} ms, {share:.2f} % of a step", flush=True)


def milliseconds_to_draw(batches: Iterable[object]) -> float:
    """Return the time to draw a batch with no other load; the first few batches fill the pipeline and do not count."""
    waiting = iter(batches)
    for _ in range(10):
        next(waiting)
    began = time.perf_counter()
    for _ in range(DRAWN):
        next(waiting)
    return 1e3 * (time.perf_counter() - began) / DRAWN


def memory(who: str) -> None:
    """Print the peak memory of creating the model and running a few steps, in megabytes beyond that of the imports."""
    source, shifted, right = np.random.default_rng(0).integers(4, SYMBOLS, (3, PAIRS, LENGTH)).astype("int32")
    if who == "ours":

        def learn() -> None:
            sizes = {"units": SETTINGS.units, "embedding": SETTINGS.embedding, "cell": SETTINGS.cell}
            network = EncoderDecoder.of_symbols(SYMBOLS, SYMBOLS, **sizes, dropout=SETTINGS.dropout)
            network.build()
            loss = MaskedCrossEntropy(SETTINGS.label_smoothing)
            Distribution().compile(network, optimizer_of(SETTINGS, STEPS), loss)
            batch = {"text_ids": source, "shifted": shifted}, right
            network.fit(tf.data.Dataset.from_tensors(batch).repeat(), steps_per_epoch=STEPS, verbose=0)
    else:
        importlib.import_module("torch")  # before the measurement starts

        def learn() -> None:
            trainer = torch_trainer((SYMBOLS, SYMBOLS))
            for _ in range(STEPS):
                trainer.step(source, shifted, right)

    print(more_at_peak(learn))


def main() -> None:
    """Print all results."""
    tf.config.threading.set_intra_op_parallelism_threads(2)
    tf.config.threading.set_inter_op_parallelism_threads(2)
    speed()
    for who in ("ours", "PyTorch") if importlib.util.find_spec("torch") else ("ours",):
        command = [sys.executable, "-m", "benchmarks.training", who]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        print(f"memory of a step of {PAIRS} pairs of {LENGTH} and {LENGTH} symbols, {who}: {told[-1]} MB", flush=True)


if __name__ == "__main__":
    memory(sys.argv[1])
