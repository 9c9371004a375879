"""Layers compared with those of Keras and PyTorch, two threads each, in one process and in turns.

The training step of a recurrent layer computes its outputs, the sum of their squares and all gradients, for 64
sequences of 50 steps with 256 features and 256 units. That of the encoder-decoder is a complete step with
cross-entropy, clipping and Adam, for 128 pairs of 20 and 20 symbols out of 100, with embeddings of 64. It is compared
with the same model written with Keras layers and a `tf.scan` with nothing hoisted, written as plainly in PyTorch, and
hoisted by hand in PyTorch. The first call of each is reported separately, because it includes compilation.
"""

import importlib.util
import time
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from benchmarks._turns import in_turns, report
from benchmarks.training import Plain
from seqattn_tf.models.networks.encoder_decoder import EncoderDecoder
from seqattn_tf.recurrent import Recurrent

BATCH, TIME, UNITS = 64, 50, 256
PAIRS, LENGTH, SYMBOLS, EMBEDDING = 128, 20, 100, 64
ROUNDS, SECONDS = 15, 0.4


def first_call(label: str, way: Callable[[], object]) -> None:
    """Print the duration of the first call, which traces and compiles."""
    began = time.perf_counter()
    way()
    print(f"{label:<30} first call {time.perf_counter() - began:.1f} s", flush=True)


def tensorflow_layer(layer: keras.layers.Layer, inputs: np.ndarray) -> dict[str, Callable[[], object]]:
    """Return the training step and the inference of a layer whose first result is its outputs."""
    layer.build(inputs.shape)
    inputs = tf.constant(inputs)

    @tf.function(autograph=False)
    def train(inputs: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = tf.nest.flatten(layer(inputs, training=True))[0]
            loss = tf.reduce_sum(outputs * outputs)
        return tape.gradient(loss, [inputs, *(variable.value for variable in layer.trainable_variables)])

    infer = tf.function(lambda inputs: tf.nest.flatten(layer(inputs, training=False))[0], autograph=False)
    return {"training": lambda: train(inputs), "inference": lambda: infer(inputs)}


def torch_layer(name: str, inputs: np.ndarray) -> dict[str, Callable[[], object]]:
    """Return the training step and the inference of a PyTorch layer."""
    import torch

    layer = getattr(torch.nn, name)(inputs.shape[-1], UNITS, batch_first=True)
    inputs = torch.tensor(inputs, requires_grad=True)

    def train() -> None:
        layer.zero_grad()
        inputs.grad = None
        outputs, _ = layer(inputs)
        (outputs * outputs).sum().backward()

    def infer() -> object:
        with torch.no_grad():
            return layer(inputs)

    return {"training": train, "inference": infer}


def recurrent(peer: bool) -> None:
    """Compare LSTM and GRU layers."""
    inputs = np.random.default_rng(0).normal(size=(BATCH, TIME, UNITS)).astype("float32")
    for name in ("LSTM", "GRU"):
        ours = {"cell": name.lower(), "units": UNITS, "return_sequences": True}
        ways = {
            "ours": tensorflow_layer(Recurrent(**ours), inputs),
            "ours, jit_compile=True": tensorflow_layer(Recurrent(**ours, jit_compile=True), inputs),
            "Keras": tensorflow_layer(getattr(keras.layers, name)(UNITS, return_sequences=True), inputs),
        }
        if peer:
            ways["PyTorch"] = torch_layer(name, inputs)
        for kind in ("training", "inference"):
            for who in list(ways)[:3]:
                first_call(f"{name} {kind}, {who}", ways[who][kind])
            times = in_turns({who: both[kind] for who, both in ways.items()}, rounds=ROUNDS, seconds=SECONDS)
            if kind == "training":
                del times["ours, jit_compile=True"]  # identical to `ours` in training
            report(f"{name} {kind}", times)


def tensorflow_step(network: keras.Model, arrays: list[np.ndarray]) -> Callable[[], object]:
    """Return a training step of a network, compiled if the network is configured so."""
    source, shifted, target = (tf.constant(array) for array in arrays)
    inputs = {"text_ids": source, "shifted": shifted}
    optimizer = keras.optimizers.Adam(1e-3, global_clipnorm=1.0)
    network(inputs)
    optimizer.build(network.trainable_variables)

    @tf.function(autograph=False)
    def step(inputs: dict[str, tf.Tensor], target: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            logits = network(inputs, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(target, logits))
        optimizer.apply(tape.gradient(loss, network.trainable_variables), network.trainable_variables)

    return lambda: step(inputs, target)


def encoder_decoder(units: int, peer: bool) -> None:
    """Compare encoder-decoders."""
    arrays = [np.random.default_rng(i).integers(1, SYMBOLS, (PAIRS, LENGTH)).astype("int32") for i in range(3)]
    sizes = {"units": units, "embedding": EMBEDDING}
    ways = {
        "ours": tensorflow_step(EncoderDecoder.of_symbols(SYMBOLS, SYMBOLS, **sizes), arrays),
        "ours, crf": tensorflow_step(EncoderDecoder.of_symbols(SYMBOLS, SYMBOLS, **sizes, align="crf"), arrays),
        "Keras, plain": tensorflow_step(Plain(SYMBOLS, SYMBOLS, **sizes), arrays),
    }
    for who, way in ways.items():
        first_call(f"encoder-decoder {units}, {who}", way)
    if peer:
        from benchmarks._torch import TorchSeq2Seq, TorchTrainer

        for who, hoisted in (("PyTorch, plain", False), ("PyTorch, hoisted", True)):
            trainer = TorchTrainer(TorchSeq2Seq(SYMBOLS, SYMBOLS, **sizes, hoisted=hoisted), 1e-3, 1.0)
            ways[who] = lambda trainer=trainer: trainer.step(*arrays)
    report(f"encoder-decoder {units}", in_turns(ways, rounds=ROUNDS, seconds=SECONDS))


def main() -> None:
    """Print the table."""
    tf.config.threading.set_intra_op_parallelism_threads(2)
    tf.config.threading.set_inter_op_parallelism_threads(2)
    peer = importlib.util.find_spec("torch") is not None
    if peer:
        import torch

        torch.set_num_threads(2)
    recurrent(peer)
    for units in (128, 256):
        encoder_decoder(units, peer)
