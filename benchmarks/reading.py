"""Tagging and parsing compared with PyTorch: one thread each, in turns, in sentences per second of processor time.

The first part compares the structures alone: the conditional random field with `pytorch-crf`, projective trees with one
root with torch-struct's `DependencyCRF`. Training computes the log-probability of the correct structure and the
gradient for all scores, inference the best structure; ours is compiled by XLA and theirs runs eagerly, as each is
usually used. Both must give the same results. The second part compares whole models: word embeddings of 100, a
convolution over letter embeddings of 30, and a BiLSTM of 200 units in each direction, with one layer for the tagger and
two for the parser. Training is then a step with clipping and Adam, and ours is the plain graph that `seqattn train`
runs; `with probabilities` computes everything that an answer contains.
"""

import importlib.util
import time
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from benchmarks._turns import in_turns
from seqattn_tf.encoders import WordEncoder
from seqattn_tf.lite.targets import ChainTags, Target, Tree
from seqattn_tf.models.networks.base import ReadingNetwork
from seqattn_tf.models.networks.parser import ParserNetwork
from seqattn_tf.models.networks.tagger import TaggerNetwork
from seqattn_tf.outputs import graph_target
from seqattn_tf.structured import CRF, ProjectiveTree

BATCH, WORDS, TAGS = 32, 40, 23
TREES = ((16, 20), (16, 40))
VOCABULARY, LETTERS, WORD_LENGTH, RELATIONS = 5000, 80, 16, 40
SIZES = {
    "embedding": 100,
    "letter_embedding_dim": 30,
    "filters": 30,
    "units": 200,
    "arc_units": 200,
    "relation_units": 64,
}
Ways = dict[str, Callable[[], object]]


def normal(*shape: int, seed: int) -> np.ndarray:
    """Return normally distributed scores, similar to those of a network."""
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def lengths_of(batch: int, words: int) -> np.ndarray:
    """Return random sentence lengths from half of `words` up to `words`; the first is `words`."""
    found = np.random.default_rng(0).integers(words // 2, words + 1, batch).astype("int32")
    found[0] = words
    return found


def tell(label: str, sentences: int, ways: Ways) -> None:
    """Print the sentences per second of each way, and its time relative to the first."""
    times = in_turns(ways, time.process_time)
    first = times[next(iter(times))]
    told = (f"{who} {1e3 * sentences / spent:,.0f}/s ({spent / first:.2f}x)" for who, spent in times.items())
    print(f"{label:<32} " + "   ".join(told), flush=True)


def compiled(loss: Callable, best: Callable, scores: tf.Tensor, weights: list) -> tuple[Callable, Callable]:
    """Return compiled functions for the loss with its gradient for scores and weights, and for the best structure."""

    @tf.function(jit_compile=True, autograph=False)
    def train(scores: tf.Tensor) -> tuple:
        with tf.GradientTape() as tape:
            tape.watch(scores)
            value = loss(scores)
        return value, tape.gradient(value, [scores, *(weight.value for weight in weights)])

    infer = tf.function(best, jit_compile=True, autograph=False)
    return lambda: train(scores), lambda: infer(scores)


def crf(peer: bool) -> None:
    """Compare the output layer of a tagger."""
    scores, lengths = normal(BATCH, WORDS, TAGS, seed=0), lengths_of(BATCH, WORDS)
    mask = np.arange(WORDS) < lengths[:, None]
    tags = np.random.default_rng(1).integers(0, TAGS, (BATCH, WORDS)).astype("int32")
    layer = CRF(TAGS, use_kernel=False)
    layer.build((None, None, TAGS))
    weights = [layer.start, layer.end, layer.transitions]
    for seed, weight in enumerate(weights):
        weight.assign(normal(*weight.shape, seed=seed))
    train, infer = compiled(
        lambda scores: -tf.reduce_sum(layer.log_likelihood(scores, tags, mask)),
        lambda scores: layer.best_tags(scores, mask),
        tf.constant(scores),
        weights,
    )
    training, inference = {"ours": train}, {"ours": infer}
    if peer:
        import torch
        from torchcrf import CRF as Peer

        theirs = Peer(TAGS, batch_first=True)
        parameters = [theirs.start_transitions, theirs.end_transitions, theirs.transitions]
        for parameter, weight in zip(parameters, weights, strict=True):
            parameter.data = torch.tensor(weight.numpy())
        given, right, kept = torch.tensor(scores, requires_grad=True), torch.tensor(tags).long(), torch.tensor(mask)

        def step() -> tuple:
            loss = -theirs(given, right, kept)
            return loss, torch.autograd.grad(loss, [given, *parameters])

        training["pytorch-crf"] = step
        inference["pytorch-crf"] = lambda: theirs.decode(given.detach(), kept)
        agree(train(), step())
        for row, length, found in zip(infer().numpy(), lengths, inference["pytorch-crf"](), strict=True):
            assert row[:length].tolist() == found
    size = f"{BATCH} x {WORDS} x {TAGS}"
    tell(f"CRF {size}, training", BATCH, training)
    tell(f"CRF {size}, inference", BATCH, inference)


def trees(batch: int, words: int, peer: bool) -> None:
    """Compare the tree structure of a parser."""
    arcs, lengths, heads = normal(batch, words, words + 1, seed=0), lengths_of(batch, words), right_heads(batch, words)
    train, infer = compiled(
        lambda arcs: -tf.reduce_sum(ProjectiveTree(arcs, lengths).log_prob(heads)),
        lambda arcs: ProjectiveTree(arcs, lengths).argmax,
        tf.constant(arcs),
        [],
    )
    training, inference = {"ours": train}, {"ours": infer}
    if peer:
        import torch

        from benchmarks import _torch_reading

        given, kept = torch.tensor(arcs, requires_grad=True), torch.tensor(lengths).long()
        there = torch.arange(words) < kept[:, None]
        right = _torch_reading.parts(torch.tensor(heads).long()) * there[:, None]

        def step() -> tuple:
            loss = -_torch_reading.one_root(given, kept).log_prob(right).sum()
            return loss, torch.autograd.grad(loss, [given])

        training["torch-struct"] = step
        inference["torch-struct"] = lambda: _torch_reading.one_root(given.detach(), kept).argmax
        agree(train(), step())
        found = _torch_reading.best_heads(_torch_reading.one_root(given.detach(), kept))
        np.testing.assert_array_equal(np.where(there, found, 0), infer())
    tell(f"trees {batch} x {words}, training", batch, training)
    tell(f"trees {batch} x {words}, inference", batch, inference)


def right_heads(batch: int, words: int) -> np.ndarray:
    """Return trees without crossing arcs: the head of each word is the preceding one, or the root for the first."""
    return np.tile(np.arange(words, dtype="int32"), (batch, 1))


def agree(ours: tuple, theirs: tuple) -> None:
    """Check that a loss and its gradients are the same."""
    for one, other in zip(tf.nest.flatten(ours), [theirs[0], *theirs[1]], strict=True):
        np.testing.assert_allclose(one, other.detach(), rtol=1e-4, atol=1e-4)


def batch_of(batch: int, words: int) -> list[np.ndarray]:
    """Return ids of words `[batch, words]` and of their letters `[batch, words, word length]`, 0 for padding."""
    rng = np.random.default_rng(2)
    there = np.arange(words) < lengths_of(batch, words)[:, None]
    ids = np.where(there, rng.integers(1, VOCABULARY, there.shape), 0)
    shape = (*there.shape, WORD_LENGTH)
    spelled = there[..., None] & (np.arange(WORD_LENGTH) < rng.integers(1, WORD_LENGTH + 1, (*there.shape, 1)))
    return [ids.astype("int32"), np.where(spelled, rng.integers(1, LETTERS, shape), 0).astype("int32")]


def encoder(depth: int) -> WordEncoder:
    """Return the encoder of both models."""
    sizes = {name: size for name, size in SIZES.items() if name not in ("arc_units", "relation_units")}
    return WordEncoder(VOCABULARY, LETTERS, cell="lstm", depth=depth, **sizes)


def our_steps(network: ReadingNetwork, target: Target, arrays: list[np.ndarray]) -> tuple[Callable, Ways]:
    """Return a training step of a network, and the ways to its answers."""
    inputs = {"text_ids": tf.constant(arrays[0]), "text_letters": tf.constant(arrays[1])}
    right, says = tf.constant(arrays[2]), graph_target(target)
    network.build()
    optimizer, loss = keras.optimizers.Adam(1e-3, global_clipnorm=1.0), says.loss()
    optimizer.build(network.trainable_variables)

    @tf.function(autograph=False)
    def train(inputs: dict[str, tf.Tensor], right: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            value = loss(right, network(inputs, training=True))
        optimizer.apply(tape.gradient(value, network.trainable_variables), network.trainable_variables)

    def infer(inputs: dict[str, tf.Tensor], names: tuple[str, ...]) -> list[tf.Tensor]:
        found = says.decode_structure(network(inputs, training=False))
        return [found[name] for name in names or found]

    best = tf.function(lambda inputs: infer(inputs, target.names), autograph=False)
    everything = tf.function(lambda inputs: infer(inputs, ()), autograph=False)
    return lambda: train(inputs, right), {
        "ours": lambda: best(inputs),
        "ours, with probabilities": lambda: everything(inputs),
    }


def whole_tagger(peer: bool) -> None:
    """Compare taggers."""
    names = [f"t{number}" for number in range(TAGS)]
    tags = np.random.default_rng(3).integers(0, TAGS, (BATCH, WORDS)).astype("int32")
    arrays = batch_of(BATCH, WORDS)
    train, inference = our_steps(TaggerNetwork(encoder(1), names), ChainTags(names), [*arrays, tags + 1])
    training = {"ours": train}
    if peer:
        from benchmarks import _torch_reading

        model = _torch_reading.TorchTagger(VOCABULARY, LETTERS, SIZES, TAGS)
        training["PyTorch"] = _torch_reading.training_step(model, [*arrays, tags])
        inference["PyTorch"] = _torch_reading.answers(model, [*arrays, tags])
    tell(f"tagger {BATCH} x {WORDS}, training", BATCH, training)
    tell(f"tagger {BATCH} x {WORDS}, inference", BATCH, inference)


def whole_parser(batch: int, words: int, peer: bool) -> None:
    """Compare parsers."""
    relations = np.random.default_rng(3).integers(0, RELATIONS, (batch, words)).astype("int32")
    arrays = [*batch_of(batch, words), np.stack([right_heads(batch, words), relations], -1)]
    units = {name: SIZES[name] for name in ("arc_units", "relation_units")}
    target = Tree([f"r{number}" for number in range(RELATIONS)])
    train, inference = our_steps(ParserNetwork(encoder(2), RELATIONS, **units), target, arrays)
    training = {"ours": train}
    if peer:
        from benchmarks import _torch_reading

        model = _torch_reading.TorchParser(VOCABULARY, LETTERS, SIZES, RELATIONS)
        training["PyTorch"] = _torch_reading.training_step(model, arrays)
        inference["PyTorch"] = _torch_reading.answers(model, arrays)
    tell(f"parser {batch} x {words}, training", batch, training)
    tell(f"parser {batch} x {words}, inference", batch, inference)


def main() -> None:
    """Print the table."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    peer = all(importlib.util.find_spec(name) for name in ("torch", "torchcrf", "torch_struct"))
    if peer:
        import torch

        torch.set_num_threads(1)
    crf(peer)
    for batch, words in TREES:
        trees(batch, words, peer)
    whole_tagger(peer)
    for batch, words in TREES:
        whole_parser(batch, words, peer)
