"""Decoding compared with the same model in PyTorch eager: same weights, same answers, two threads each, in turns.

The model is a GRU decoder with additive attention, 256 units, embeddings of 64, 32 sources of 20 positions and answers
of 40 symbols. The end symbol is excluded so that both do the same work, and both compute what depends only on the
memory once. `plain` is a `tf.function`; `compiled` is `decoding.in_parts`, one compiled function for each of the two
cores; `compiled whole` is a single one for both. Ours also returns the attention of every answer. A second part
measures single answers of 20 symbols, and the time it takes to read the weights of their steps.
"""

import importlib.util
import time
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from benchmarks._turns import in_turns, report
from seqattn_tf.attention import Attention
from seqattn_tf.cells import GRUCell
from seqattn_tf.decoders import AttentionDecoder
from seqattn_tf.decoding import beam, greedy, in_parts

BATCH, SOURCE, UNITS, EMBEDDING, LENGTH, WIDTH = 32, 20, 256, 64, 40, 5
BEGIN, END = 1, 2
RULES = {"begin": BEGIN, "end": END, "never": (0, BEGIN, END)}
ANSWER, THREADS = 20, 2
ROUNDS, SECONDS = 7, 0.4


def inputs(rows: int) -> list[np.ndarray]:
    """Return the output of an encoder: values `[rows, source, 2 units]`, their mask and the summary."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(rows, SOURCE, 2 * UNITS)).astype("float32")
    lengths = rng.integers(SOURCE // 2, SOURCE + 1, (rows, 1))
    return [values, np.arange(SOURCE) < lengths, rng.normal(size=(rows, 2 * UNITS)).astype("float32")]


def decoder_of(vocabulary: int) -> AttentionDecoder:
    """Return a decoder with random weights that give varied answers."""
    decoder = AttentionDecoder(GRUCell(UNITS), Attention(units=UNITS), vocabulary, EMBEDDING, readout=UNITS)
    decoder.build((None, None), (None, None, 2 * UNITS), (None, 2 * UNITS))
    rng = np.random.default_rng(1)
    for weight in decoder.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * (2.0 / weight.shape[0] ** 0.5 if len(weight.shape) > 1 else 0.1))
    return decoder


def ours(decoder: AttentionDecoder, arrays: list[np.ndarray], length: int, width: int) -> dict[str, Callable]:
    """Return functions that compute the best answers in different ways, by name."""

    def run(values: tf.Tensor, mask: tf.Tensor, summary: tf.Tensor) -> tuple:
        memory, state = decoder.begin(values, mask, summary)
        if width == 1:
            return greedy(decoder.stepper(), state, memory, **RULES, max_length=length)
        return beam(decoder.stepper(), state, memory, **RULES, max_length=length, width=width)

    tensors = [tf.constant(array) for array in arrays]
    ways = {
        "compiled": in_parts(run, THREADS),
        "compiled whole": tf.function(run, jit_compile=True, autograph=False),
        "plain": tf.function(run, autograph=False),
    }
    return {name: lambda way=way: way(*tensors) for name, way in ways.items()}


def peer_of(decoder: AttentionDecoder) -> object:
    """Return the same decoder in PyTorch, whose cell has its gates in another order."""
    import torch

    from benchmarks._torch import TorchDecoder

    peer = TorchDecoder(1, decoder.vocabulary, UNITS, EMBEDDING).eval()
    score, cell = decoder.attention.score, decoder.cell

    def gates(kernel: np.ndarray) -> np.ndarray:
        update, reset, candidate = np.split(kernel, 3, axis=-1)
        return np.concatenate([reset, update, candidate], axis=-1).T

    kernel = np.concatenate([cell.kernel.numpy(), decoder.context_kernel.numpy()])
    bias = cell.bias.numpy()
    weights = {
        "target.weight": decoder.embedding.embeddings.numpy(),
        "first.weight": decoder.first_kernels[0].numpy().T,
        "first.bias": decoder.first_biases[0].numpy(),
        "ask.weight": score.query_kernel.numpy().T,
        "key.weight": score.value_kernel.numpy().T,
        "score.weight": score.scale.numpy().T,
        "cell.weight_ih": gates(kernel),
        "cell.weight_hh": gates(cell.recurrent_kernel.numpy()),
        "cell.bias_ih": gates(bias[0]),
        "cell.bias_hh": gates(bias[1]),
        "readout.weight": decoder.readout_kernel.numpy().T,
        "readout.bias": decoder.readout_bias.numpy(),
        "logits.weight": decoder.output_kernel.numpy().T,
        "logits.bias": decoder.output_bias.numpy(),
    }
    found = peer.load_state_dict({name: torch.tensor(one) for name, one in weights.items()}, strict=False)
    assert all(name.startswith(("source", "encoder")) for name in found.missing_keys)
    return peer


def theirs(peer: object, arrays: list[np.ndarray], length: int, width: int) -> Callable:
    """Return a function that computes the best answers in PyTorch."""
    import torch

    rules = {**RULES, "never": list(RULES["never"]), "max_length": length}
    arrays = [torch.tensor(array) for array in arrays]
    if width == 1:
        return lambda: peer.greedy(*arrays, rules)
    return lambda: peer.beam(*arrays, rules, width)


def compare(vocabulary: int, peer: bool) -> None:
    """Check that all implementations give the same answers, then print their times and tokens per second."""
    decoder, arrays = decoder_of(vocabulary), inputs(BATCH)
    for name, width in (("greedy", 1), (f"beam {WIDTH}", WIDTH)):
        ways = ours(decoder, arrays, LENGTH, width)
        if peer:
            ways["PyTorch"] = theirs(peer_of(decoder), arrays, LENGTH, width)
        answers = [[np.asarray(one).reshape(BATCH, -1) for one in way()[:2]] for way in ways.values()]
        for tokens, scores in answers:
            np.testing.assert_array_equal(tokens, answers[0][0])
            np.testing.assert_allclose(scores, answers[0][1], rtol=1e-3)
        times = in_turns(ways, rounds=ROUNDS, seconds=SECONDS)
        report(f"{name}, vocabulary {vocabulary}", times)
        speeds = "   ".join(f"{who} {1e3 * BATCH * LENGTH / spent:,.0f}" for who, spent in times.items())
        print(f"{'':<30} symbols a second: {speeds}", flush=True)


def floor(decoder: AttentionDecoder) -> tuple[float, float]:
    """Return the megabytes of weights that a step reads, and the milliseconds of a product that reads as many."""
    score, cell = decoder.attention.score, decoder.cell
    kernels = [cell.recurrent_kernel, score.query_kernel, decoder.output_kernel]
    count = (
        sum(int(np.prod(one.shape)) for one in kernels) + UNITS * decoder.readout
    )  # of the readout, only the part for the state
    matrix, vector = np.ones([count // UNITS, UNITS], "float32"), np.ones([UNITS], "float32")
    times = []
    for _ in range(200):
        began = time.perf_counter()
        matrix @ vector
        times.append(1e3 * (time.perf_counter() - began))
    return 4e-6 * count, float(np.median(times))


def alone(peer: bool) -> None:
    """Measure one answer at a time."""
    decoder, arrays = decoder_of(64), inputs(1)
    ways = {name: way for name, way in ours(decoder, arrays, ANSWER, 1).items() if name != "compiled"}
    if peer:
        ways["PyTorch"] = theirs(peer_of(decoder), arrays, ANSWER, 1)
    report(f"one answer of {ANSWER} symbols", in_turns(ways, rounds=ROUNDS, seconds=SECONDS))
    size, spent = floor(decoder)
    print(f"{'':<30} reading {size:.1f} MB of weights {ANSWER} times: {ANSWER * spent:.2f} ms", flush=True)


def main() -> None:
    """Print the tables."""
    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    peer = importlib.util.find_spec("torch") is not None
    if peer:
        import torch

        torch.set_num_threads(THREADS)
    for vocabulary in (64, 8000):
        compare(vocabulary, peer)
    alone(peer)
