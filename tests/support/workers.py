"""Processes that train together, and their tasks: `python -m support.workers NAME FOLDER WORKERS INDEX`."""

import dataclasses
import json
import os
import socket
import sys
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.outputs import MaskedCrossEntropy
from seqattn_tf.structured import CRF, CRFModel
from seqattn_tf.training.distribution import Distribution, WorkerLost, open_strategy
from seqattn_tf.training.optimizer import optimizer_of
from seqattn_tf.training.tasks import Settings
from support import forked
from support.reverse import RECIPE, SETTINGS, language
from support.step_by_step import unimproved

STEPS, BATCH, WIDTH = 20, 16, 7
TESTS = Path(__file__).resolve().parent.parent
HELD: list = []  # the state saved by the chief


def start(name, folder, workers, index):
    """Start a process that runs the function `name`; return it and the path of its output."""
    output = Path(folder) / f"{name}{index}.log"
    paths = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(TESTS)])
    own = {"PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "support.workers", name, str(folder), workers, str(index)]
    with output.open("w") as file:
        return forked.Popen(command, env={**os.environ, **own}, stdout=file, stderr=file), output


def addresses(count):
    """Return free ports of this machine in the format of `--workers`."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    found = ",".join(f"localhost:{one.getsockname()[1]}" for one in sockets)
    for one in sockets:
        one.close()
    return found


class SGD(keras.optimizers.SGD):
    """Keras clips the norm of the parts of a sparse gradient; this class clips that of their sum."""

    def _clip_gradients(self, grads):
        return super()._clip_gradients([tf.convert_to_tensor(grad) for grad in grads])


class Penalised(keras.Model):
    """A network from symbols to symbols that adds a mean over the rows to the loss."""

    def __init__(self, penalty, dropout):
        super().__init__()
        self.penalty = penalty
        self.embedding, self.out = keras.layers.Embedding(9, 5), keras.layers.Dense(9)
        self.dropout = keras.layers.Dropout(dropout)

    def call(self, ids, training=False):
        values = self.dropout(self.embedding(ids), training=training)
        self.add_loss(self.penalty * tf.reduce_mean(tf.square(tf.reduce_sum(values, axis=1))))
        return self.out(values)


def compiled(distribution, optimizer, penalty=0.1, dropout=0.0):
    """Return the compiled network, not yet prepared."""
    keras.utils.set_random_seed(3)
    with distribution.scope():
        network = Penalised(penalty, dropout)
        network(np.ones([1, 2], int))
        distribution.compile(network, optimizer(), MaskedCrossEntropy())
        network.optimizer.build(network.trainable_variables)
    return network


def sgd():
    return SGD(1.0, global_clipnorm=0.05)  # less than the norm at every step


def adam(**settings):
    return optimizer_of(Settings(learning_rate=0.05, warmup_steps=2, clip_norm=0.5, **settings), STEPS)


def sentences(distribution, skip=0):
    """Return batches of rows of 8 symbols.

    Rows with even indices are long, so one of two replicas gets most of the symbols.
    """
    count = BATCH * STEPS
    ids = np.random.default_rng(1).integers(1, 9, [count, WIDTH])
    ids *= np.arange(WIDTH) < np.where(np.arange(count) % 2, 2, WIDTH)[:, None]
    rows = tf.data.Dataset.range(count).batch(BATCH, drop_remainder=True).skip(skip)
    return distribution.part(rows).map(lambda own: (tf.gather(ids, own),) * 2)


def fitted(distribution, network, batches, epochs=2, **callbacks):
    """Return the losses of all steps and of the epochs, and the weights."""
    seen = []

    def keep(batch, logs):
        seen.append(float(logs["loss"]))

    each = keras.callbacks.LambdaCallback(**{"on_train_batch_end": keep, **callbacks})
    data, how = distribution.prepare(network, batches), {"verbose": 0, "shuffle": False}
    history = network.fit(data, steps_per_epoch=STEPS // 2, epochs=epochs, callbacks=[each], **how)
    weights = {f"weight{place}": variable.numpy() for place, variable in enumerate(network.trainable_variables)}
    return {"steps": np.array(seen), "epochs": np.array(history.history["loss"]), **weights}


# The trainings


def clipped(distribution):
    """Train with clipped SGD."""
    return fitted(distribution, compiled(distribution, sgd), sentences(distribution))


def steady(distribution):
    """Train with Adam without dropout, with averaged weights and weight decay."""
    network = compiled(distribution, lambda: adam(ema_decay=0.9, weight_decay=0.1))
    found = fitted(distribution, network, sentences(distribution))
    return {**found, **{f"optimizer{i}": v.numpy() for i, v in enumerate(network.optimizer.variables)}}


def dropped(distribution):
    """Train with Adam and dropout; the chief saves its state after the first epoch."""
    network = compiled(distribution, adam, dropout=0.3)

    def remember(epoch, logs):
        if epoch == 0 and distribution.is_chief:
            HELD[:] = [variable.numpy() for variable in state(network)]

    found = fitted(distribution, network, sentences(distribution), on_epoch_end=remember)
    return {**found, "seeds": network.dropout.seed_generator.state.numpy()}


def resumed(distribution):
    """Train the second half of `dropped` from the state saved by the chief."""
    network = compiled(distribution, adam, dropout=0.3)
    if distribution.is_chief:
        for to, held in zip(state(network), HELD, strict=True):
            to.assign(held)
    distribution.share(state(network))
    # Preparing for a `fit` that is not run must not change anything.
    distribution.prepare(network, sentences(distribution))
    return fitted(distribution, network, sentences(distribution, STEPS // 2), epochs=1)


def state(network):
    """Return all variables in a checkpoint."""
    return [*network.variables, *network.optimizer.variables, *network.metrics_variables]


def pairs(distribution):
    """Train an encoder-decoder on words of one to four letters, with the batches of a real training."""
    settings = dataclasses.replace(SETTINGS, units=6, embedding=4, batch_size=BATCH, epochs=2)
    keras.utils.set_random_seed(settings.seed)
    with distribution.scope():
        training = RECIPE.task.open(settings, language())
        network = training.model.network
        distribution.compile(network, SGD(2.0, global_clipnorm=0.3), training.loss)
    rows = tf.data.Dataset.from_tensor_slices(training.rows).batch(BATCH, drop_remainder=True)
    return fitted(distribution, network, distribution.part(rows).map(training.columns.batch))


def asked(distribution):
    """Return the step after which each worker knows about a request of the last one."""
    network, heard = compiled(distribution, sgd), []

    def after(batch, logs):
        if distribution.anyone(batch == 3 and distribution.index == distribution.workers - 1):
            heard.append(batch)
            network.stop_training = True

    fitted(distribution, network, sentences(distribution), on_train_batch_end=after)
    return {"heard": np.array(heard)}


def said(distribution):
    """Return values that the chief created."""
    figures = distribution.from_chief(lambda: {"per": 1 / 3, "none": float("nan"), "chief": distribution.index})
    return {name: np.array(value) for name, value in figures.items()}


def tagged(distribution):
    """Train one step of a `CRFModel` with Keras's `fit`: two rows of 3 tokens, then two of 1, a pair per replica."""
    keras.utils.set_random_seed(3)
    words = np.array([[1, 2, 3], [3, 2, 1], [1, 0, 0], [2, 0, 0]])
    with distribution.scope():
        inputs = keras.Input((3,), dtype="int32")
        features = keras.layers.Embedding(4, 5, mask_zero=True, embeddings_regularizer="l2")(inputs)
        model = CRFModel(inputs, CRF(3)(features))
        model.compile(keras.optimizers.SGD(1.0), run_eagerly=True)  # its graph takes as long as everything else here
    data = tf.data.Dataset.from_tensors((words, words % 3))
    history = model.fit(data.unbatch().batch(4), verbose=0)
    weights = {f"weight{place}": variable.numpy() for place, variable in enumerate(model.trainable_variables)}
    return {"epochs": np.array(history.history["loss"]), **weights}


TRAININGS = (steady, dropped, resumed, asked, said)


# The tasks of a process


def train(folder, distribution, trainings=TRAININGS):
    for training in trainings:
        np.savez(Path(folder) / f"{training.__name__}{distribution.index}.npz", **training(distribution))


def multiworker(folder, workers, index):
    """Train with other workers until one of them is lost."""
    distribution = open_strategy("multiworker", workers, int(index))
    train(folder, distribution)
    train_until_lost(folder, distribution)


def mirrored(folder, workers, index):
    """Train on two devices."""
    [device] = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(device, [tf.config.LogicalDeviceConfiguration()] * 2)
    train(folder, open_strategy("mirrored"), (clipped, dropped, tagged))
    try:
        open_strategy("multiworker", addresses(1), 0)
    except RuntimeError as error:
        (Path(folder) / "late").write_text(str(error))


def multiworker_pairs(folder, workers, index):
    """Train an encoder-decoder with other workers."""
    train(folder, open_strategy("multiworker", workers, int(index)), (pairs,))


def endless(folder, workers, index):
    """Train until another worker is lost."""
    train_until_lost(folder, open_strategy("multiworker", workers, int(index)))


def train_until_lost(folder, distribution):
    """Train until another worker is lost, write when that was noticed, and exit."""
    index = distribution.index
    network, going = compiled(distribution, sgd), Path(folder) / f"going{index}"
    each = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: going.touch())
    try:
        with distribution.watched():
            data = distribution.prepare(network, sentences(distribution))
            network.fit(data, steps_per_epoch=10**6, verbose=0, callbacks=[each])
    except WorkerLost as error:
        (Path(folder) / f"lost{index}").write_text(json.dumps([time.time(), str(error)]))
        raise SystemExit(str(error)) from None


def one(folder):
    """Train in a single process."""
    train(folder, Distribution(), (clipped, steady, dropped, asked, tagged))


if __name__ == "__main__":
    name, folder, workers, index = sys.argv[1:]
    with unimproved():
        globals()[name](folder, workers, index)
