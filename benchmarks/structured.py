"""Marginals and the gradient through them: seqattn_tf.structured compared with torch-struct, one thread each.

Both compute `d/dscores sum(weights * marginals)` for the same shapes. Ours is compiled by XLA and theirs runs eagerly,
as each is usually used. They take turns; each value is the median of the processor time. Memory is measured in a
separate process.
"""

import importlib.util
import multiprocessing
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf

from benchmarks._turns import in_turns, report
from seqattn_tf.structured import LinearChain, ProjectiveTree, SpanningTree

CHAINS = ((32, 50, 2), (32, 200, 2), (16, 100, 16), (8, 256, 32))
TREES = ((16, 20), (16, 40))


def normal(*shape: int, seed: int) -> np.ndarray:
    """Return normally distributed scores, similar to those of a network."""
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def ours(build: Callable, *scores: np.ndarray) -> Callable[[], object]:
    """Return a function that computes the marginals from `build` and the gradient of their weighted sum."""
    tensors = [tf.constant(s) for s in scores]
    shapes = [m.shape for m in tf.function(build, autograph=False).get_concrete_function(*tensors).outputs]
    weights = [tf.constant(normal(*shape, seed=9)) for shape in shapes]

    @tf.function(jit_compile=True, autograph=False)
    def both(*scores: tf.Tensor) -> tuple:
        with tf.GradientTape() as tape:
            tape.watch(scores)
            found = build(*scores)
            value = tf.add_n([tf.reduce_sum(m * w) for m, w in zip(found, weights, strict=True)])
        return *found, *tape.gradient(value, scores)

    function = both.get_concrete_function(*tensors)
    return lambda: function(*tensors)


def theirs(name: str, scores: np.ndarray) -> Callable[[], object]:
    """Return a function that computes the same with torch-struct."""
    import torch
    import torch_struct

    warnings.filterwarnings("ignore", module="torch_struct")
    torch.set_num_threads(1)
    weights, start = torch.tensor(normal(*scores.shape, seed=9)), torch.tensor(scores)

    def both() -> object:
        potentials = start.clone().requires_grad_()
        marginals = getattr(torch_struct, name)(potentials).marginals
        (marginals * weights).sum().backward()
        return potentials.grad

    return both


def _peak(times: int, states: int, kind: str, queue: multiprocessing.Queue) -> None:
    before = _resident()
    shape = (states, states) if kind == "shared" else (1, times - 1, states, states)
    build = _edges if kind == "full" else _nodes
    ours(build, normal(1, times, states, seed=0), normal(*shape, seed=1))()
    queue.put((before, _resident()))


def _resident() -> float:
    """Return the peak memory of this process in MiB."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def memory(times: int, states: int, kind: str) -> tuple[float, float]:
    """Return the peak resident MiB of a fresh process before and after inference with its gradient."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_peak, args=(times, states, kind, queue))
    process.start()
    found = queue.get()
    process.join()
    return found


def _nodes(unary: tf.Tensor, pairwise: tf.Tensor) -> list[tf.Tensor]:
    return [LinearChain(unary, pairwise).marginals]


def _edges(unary: tf.Tensor, pairwise: tf.Tensor) -> list[tf.Tensor]:
    return [LinearChain(unary, pairwise).edge_marginals]


def main() -> None:
    """Print the table."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    peer = importlib.util.find_spec("torch_struct")
    for batch, times, states in CHAINS:
        unary, pairwise = normal(batch, times, states, seed=0), normal(batch, times - 1, states, states, seed=1)
        ways = {"ours": ours(_edges, unary, pairwise)}
        if states > 2:
            ways["ours, shared transitions"] = ours(_nodes, unary, pairwise[0, 0])
        if peer:
            ways["torch-struct"] = theirs("LinearChainCRF", pairwise)
        report(f"chain {batch} x {times} x {states}", in_turns(ways, time.process_time))
    for kind, build, name in (
        ("projective tree", ProjectiveTree, "DependencyCRF"),
        ("spanning tree", SpanningTree, "NonProjectiveDependencyCRF"),
    ):
        for batch, words in TREES:
            arcs = normal(batch, words, words + 1, seed=0)
            # These are the defaults of torch-struct: any number of words below the root, or a single one.
            single = build is SpanningTree
            ways = {"ours": ours(lambda a, b=build, s=single: [b(a, single_root=s).marginals], arcs)}
            if peer:
                ways["torch-struct"] = theirs(name, normal(batch, words, words, seed=0))
            report(f"{kind} {batch} x {words}", in_turns(ways, time.process_time))
    for kind in ("shared", "full"):
        for times in (2500, 5000, 10000):
            before, after = memory(times, 8, kind)
            found = f"peak {after:.0f} MiB, {after - before:.0f} of them here"
            print(f"memory 1 x {times} x 8, {kind} transitions: {found}", flush=True)
