"""`seqattn train pronounce` against a plain version of the same model, 128 units, one epoch of the dictionary.

The plain version is what one writes first: every word padded to 17, Keras's own layers, the attention's and the
cell's projections inside the loop, batches in any order. Both run Keras `fit` with batches of 128 words in this
process. PyTorch, where it is installed, runs the same model on our batches. All take turns of 20 steps, so that what
else the machine does hits all alike; the ratio is the median over the turns. Compilation is left out.
"""

import dataclasses
import importlib.util
import time
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.training import recipes, run
from seqattn_tf.training.tasks import Settings, Training

LONGEST, WARM_STEPS, STRETCH, ROUNDS = 17, 3, 20, 12


class Plain(keras.Model):
    """BiGRU encoder, additive attention and GRU decoder, nothing hoisted."""

    def __init__(self, source_size: int, target_size: int, units: int, embedding: int) -> None:
        super().__init__()
        self.source = keras.layers.Embedding(source_size, embedding, mask_zero=True)
        self.target = keras.layers.Embedding(target_size, embedding)
        self.encoder = keras.layers.Bidirectional(keras.layers.GRU(units, return_sequences=True, return_state=True))
        self.first = keras.layers.Dense(units, activation="tanh")
        self.ask, self.key, self.score = (keras.layers.Dense(n, use_bias=False) for n in (units, units, 1))
        self.cell = keras.layers.GRUCell(units)
        self.readout = keras.layers.Dense(units, activation="tanh")
        self.logits = keras.layers.Dense(target_size)

    def call(self, inputs: dict[str, tf.Tensor], training: bool = False) -> tf.Tensor:
        """Teacher-forced logits."""
        source, shifted = inputs["text_ids"], inputs["shifted"]
        mask = source != 0
        values, ahead, back = self.encoder(self.source(source), mask=mask)
        embedded = self.target(shifted)

        def step(carry: tuple[tf.Tensor, tf.Tensor], token: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            state, _ = carry
            logits = self.score(tf.tanh(self.ask(state)[:, None] + self.key(values)))[..., 0]
            weights = tf.nn.softmax(tf.where(mask, logits, -1e9))
            context = tf.reduce_sum(weights[..., None] * values, axis=1)
            output, (state,) = self.cell(tf.concat([token, context], -1), [state])
            return state, self.logits(self.readout(tf.concat([output, context, token], -1)))

        state = self.first(tf.concat([ahead, back], -1))
        nothing = tf.zeros([tf.shape(source)[0], self.logits.units])
        for layer, width in ((self.ask, state.shape[-1]), (self.key, values.shape[-1]), (self.score, state.shape[-1])):
            layer.built or layer.build((None, width))  # variables cannot be made inside the loop
        wide = embedded.shape[-1] + values.shape[-1]
        self.cell.built or self.cell.build((None, wide))
        self.readout.built or self.readout.build((None, wide + state.shape[-1]))
        self.logits.built or self.logits.build((None, state.shape[-1]))
        _, stacked = tf.scan(step, tf.transpose(embedded, [1, 0, 2]), (state, nothing))
        return tf.transpose(stacked, [1, 0, 2])


class StepTimes(keras.callbacks.Callback):
    """Milliseconds of each step after the first few of a `fit`."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        """Look at the clock after every step."""
        now = time.perf_counter()
        if batch >= WARM_STEPS:
            self.times.append(1e3 * (now - self.last))
        self.last = now


def keras_stretch(network: keras.Model, dataset: tf.data.Dataset) -> Callable[[], list[float]]:
    """Step times of a stretch of `fit`."""

    def stretch() -> list[float]:
        clock = StepTimes()
        network.fit(dataset.take(WARM_STEPS + STRETCH), callbacks=[clock], shuffle=False, verbose=0)
        return clock.times

    return stretch


def torch_stretch(sizes: tuple[int, int], settings: Settings, dataset: tf.data.Dataset) -> Callable[[], list[float]]:
    """Step times of the same model in PyTorch, on the same kind of batches."""
    from benchmarks._torch import TorchSeq2Seq, TorchTrainer

    trainer = TorchTrainer(TorchSeq2Seq(*sizes, settings.units, settings.embedding), 1e-3, settings.clip_norm)

    def stretch() -> list[float]:
        times = []
        for inputs, target in dataset.take(WARM_STEPS + STRETCH).as_numpy_iterator():
            began = time.perf_counter()
            trainer.step(inputs["text_ids"], inputs["shifted"], target)
            times.append(1e3 * (time.perf_counter() - began))
        return times[WARM_STEPS:]

    return stretch


def padded(training: Training) -> tf.data.Dataset:
    """The batches that one writes first: every word that is not too long, in any order, all padded alike."""
    columns, size = training.columns, training.settings.batch_size
    [source] = columns.inputs.values()
    short = training.rows[(np.maximum(source.lengths, columns.target.lengths + 1) <= LONGEST)[training.rows]]
    whole = tf.nest.map_structure(
        lambda tensor: tf.pad(tensor, [[0, 0], [0, LONGEST - tensor.shape[1]]]), columns.batch(tf.constant(short))
    )
    everything = tf.data.Dataset.from_tensor_slices(whole).shuffle(len(short), seed=0)
    return everything.batch(size, drop_remainder=True).prefetch(4)


def main() -> None:
    """Print all and the ratios."""
    recipe = recipes.get("pronounce")
    settings = dataclasses.replace(
        recipe.settings, units=128, cell="gru", batch_size=128, dropout=0.0, label_smoothing=0.0
    )
    training = recipe.task.open(settings, run.open_splits(recipe, settings, None))
    network = training.model.network
    sizes = training.model.inputs["text"].rules.size, training.model.target.rules.size
    plain = Plain(*sizes, settings.units, settings.embedding)
    plain.compile(keras.optimizers.Adam(1e-3, global_clipnorm=1.0), training.loss, jit_compile=False)
    run.compile_network(training)

    ways = {
        "plain, padded to 17": keras_stretch(plain, padded(training)),
        "seqattn train pronounce": keras_stretch(network, training.batches(0)),
    }
    if importlib.util.find_spec("torch"):
        ways["PyTorch eager, our batches"] = torch_stretch(sizes, settings, training.batches(0))
    rounds = [{name: np.mean(stretch()) for name, stretch in ways.items()} for _ in range(ROUNDS + 1)][1:]
    for name in ways:
        mean = np.mean([times[name] for times in rounds])
        ratio = np.median([times[name] / times["seqattn train pronounce"] for times in rounds])
        seconds = training.steps * mean / 1e3
        print(f"{name:<27}{mean:6.1f} ms a step, {seconds:.0f} s an epoch, {ratio:.2f} times ours")
