"""Compare every structure, alignment and encoder on a GPU with the CPU, compiled by XLA for both.

    python -m benchmarks devices                        # where TensorFlow is installed: writes build/devices
    python tools/gpu/compare.py build/devices           # with JAX and a GPU; does not need TensorFlow

Every case is traced by TensorFlow, lowered to HLO with its gradients, and compiled for both devices by JAX's XLA
client. Both get the same random numbers. Products run in full single precision (no TensorFloat-32), so that differences
are due to the program. `train_*` cases are 200 complete training steps from the same weights on the same batches.
"""

import json
import lzma
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from tqdm import tqdm

from seqattn_tf import Attention, AttentionDecoder, Bidirectional, encoders
from seqattn_tf.attention.base import Alignment
from seqattn_tf.cells import GRUCell
from seqattn_tf.core.masking import length_mask
from seqattn_tf.models import ParserNetwork
from seqattn_tf.structured import CRF, LinearChain, ProjectiveTree, SemiMarkov, SpanningTree
from tools.gpu.lowering import lower

SIZES = (  # positions and batch
    *((1, 1), (1, 64), (2, 8), (3, 64), (7, 1), (20, 8), (44, 64), (64, 1), (64, 8)),
    *((100, 1), (100, 8), (100, 64), (128, 8), (200, 1), (256, 1), (256, 8), (256, 64)),
)
FEW = ((1, 1), (2, 64), (20, 8), (64, 1), (100, 64), (256, 8))  # for encoders, which take long to compile
IDS, MARK, WIDTH = 30, 29, 16
STEPS = 200


class Case(NamedTuple):
    """A function and its inputs: shapes of floats, or shapes and upper bounds of integers."""

    name: str
    function: Callable[..., Any]
    inputs: list[tuple[list[int], int]]  # an upper bound of 0 means normally distributed floats
    variables: list[Any] = []
    steps: int = 0  # the number of training steps


def with_gradients(case: Case) -> Callable[..., list[tf.Tensor]]:
    """Return a function that computes the results of a case and their gradient.

    The gradient is that of a weighted sum of the results, for all floats among the inputs and variables.
    """

    values = [v.numpy() for v in case.variables]

    def both(*given: tf.Tensor) -> list[tf.Tensor]:
        weights = [tf.constant(v) for v in values]
        floats = [g for g in given if g.dtype.is_floating] + [w for w in weights if w.dtype.is_floating]
        mapping = list(zip(case.variables, weights, strict=True))
        with tf.GradientTape() as tape, keras.StatelessScope(state_mapping=mapping):
            tape.watch(floats)
            found = [tf.convert_to_tensor(f) for f in case.function(*given)]
            seen = [f for f in found if f.dtype.is_floating]
            factors = [tf.random.stateless_normal(tf.shape(f), [1, n], dtype=f.dtype) for n, f in enumerate(seen)]
            value = tf.add_n([tf.reduce_sum(f * w) for f, w in zip(seen, factors, strict=True)])
        slopes = tape.gradient(value, floats, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return [*found, *map(tf.convert_to_tensor, slopes)]

    return both


def structures(n: int, batch: int) -> Iterator[Case]:
    """Yield cases for log-partition, marginals and best structure, with rows of all lengths."""

    def case(name: str, build: Callable, *shapes: list[int], samples: bool = False) -> Case:
        def function(*given: tf.Tensor) -> list[tf.Tensor]:
            found = build(*given)
            log_partition, marginals = found.posterior()
            drawn = tf.nest.flatten(found.sample(1, seed=3)) if samples else []
            return [log_partition, marginals, *tf.nest.flatten(found.argmax), *drawn]

        return Case(f"{name}_{n}x{batch}", function, [*([s, 0] for s in shapes), [[batch], n + 1]])

    for method, states in (("scan", 5), ("prefix", 2), ("prefix", 8)):
        if n > 1 or method == "scan":
            made = lambda u, p, lengths, method=method: LinearChain(u, p, lengths, method)  # noqa: E731
            yield case(f"chain_{method}{states}", made, [batch, n, states], [states, states], samples=True)
    yield case("segments", SemiMarkov, [batch, n, 4, 2], [2, 2])
    for single in (True, False):
        for kind in (ProjectiveTree, SpanningTree):
            made = lambda arcs, lengths, kind=kind, single=single: kind(arcs, lengths, single)  # noqa: E731
            yield case(f"{kind.__name__}_{'one_root' if single else 'roots'}", made, [batch, n, n + 1])


def alignments(n: int, batch: int) -> Iterator[Case]:
    """Yield cases for the weights of every alignment in training."""
    for name in sorted(Alignment.registry):
        align = Alignment.get(name, **({"noise": 0.0} if name == "monotonic" else {}))
        align.build((None, None, None))
        rows = n if name == "heads" else 1

        def function(logits: tf.Tensor, lengths: tf.Tensor, align: Any = align) -> list[tf.Tensor]:
            mask = length_mask(lengths, n)
            state = align.initial_state(mask, logits.dtype)
            return [align.call(logits, mask[:, None], state, training=True)[0]]

        inputs = [([batch, rows, n], 0), ([batch], n + 1)]
        yield Case(f"align_{name}_{n}x{batch}", function, inputs, align.variables)


def encoder_cases(n: int, batch: int) -> Iterator[Case]:
    """Yield cases for the values and the summary of every encoder in training."""
    sizes = {"vocabulary": IDS, "units": WIDTH, "embedding": WIDTH}
    lines = {"mark": MARK, "max_lines": 4, "max_line_length": n}
    made = {
        "bidirectional": encoders.BidirectionalEncoder(**sizes, cell="lstm", depth=2),
        "forward": encoders.ForwardEncoder(**sizes),
        "lines": encoders.LineEncoder(**sizes, **lines),
        "document": encoders.DocumentEncoder(**sizes, **lines),
        "facts": encoders.FactsEncoder(IDS, MARK, WIDTH, max_lines=4, max_line_length=n, input_name="text"),
        "words": encoders.WordEncoder(**sizes, letters=IDS),
        "heads_projective": encoders.HeadsEncoder(**sizes, head_attention="projective"),
        "heads_spanning": encoders.HeadsEncoder(**sizes, head_attention="spanning"),
        "parents": encoders.ParentsEncoder(IDS, _parser(), embedding=WIDTH),
        "tree": encoders.TreeEncoder(**sizes),
        "summary": encoders.SummaryEncoder(encoders.BidirectionalEncoder(**sizes)),
        "pyramid": encoders.PyramidEncoder(n_mels=8, units=WIDTH, depth=2, input_name="text"),
    }
    if n <= 64:  # n is the side in pixels
        side = max(n, 16)
        made["grid"] = encoders.GridEncoder("cnn", side, side, input_name="text")
        made["rows"] = encoders.RowEncoder(WIDTH, backbone="cnn", height=side, width=side, input_name="text")
    if n <= 20:  # n is the number of frames
        made["clip"] = encoders.ClipEncoder("cnn", 16, 16, units=WIDTH, local=3, input_name="text")
    for name, one in made.items():
        one.build()
        yield Case(f"encode_{name}_{n}x{batch}", *_encoded(one, name, n, batch), list(one.variables))


def _parser() -> ParserNetwork:
    return ParserNetwork(encoders.WordEncoder(IDS, letters=IDS, units=WIDTH, embedding=WIDTH), relations=3)


def _encoded(one: Any, name: str, n: int, batch: int) -> tuple:
    def finish(tensors: dict) -> list[tf.Tensor]:
        read = one(tensors, training=True)
        return [read.values, read.summary, *read.attention.values()]

    if name in ("grid", "rows", "clip"):
        shape = [batch, one.height, one.width, 3] if name != "clip" else [batch, n, one.height, one.width, 3]

        def picture(x: tf.Tensor) -> list[tf.Tensor]:
            return finish({"text_pixels": x, "text_frames": x, "text_there": tf.ones([batch, n], tf.int32)})

        return picture, [(shape, 0)]
    if name == "pyramid":

        def sound(frames: tf.Tensor, lengths: tf.Tensor) -> list[tf.Tensor]:
            return finish({"text_frames": frames * tf.cast(length_mask(lengths, n)[..., None], frames.dtype)})

        return sound, [([batch, n, one.n_mels], 0), ([batch], n + 1)]

    def text(ids: tf.Tensor, letters: tf.Tensor, lengths: tf.Tensor) -> list[tf.Tensor]:
        kept = tf.cast(length_mask(lengths, n), ids.dtype)
        ids = (1 + ids % (IDS - 1)) * kept
        here = tf.range(n)  # a comb: every node joins the preceding word with the preceding node
        children = tf.stack([tf.where(here % 2 == 0, here - 1, -1), tf.where(here % 2 == 0, here, -1)], -1) + 1
        children = tf.maximum(children, 0) * kept[:, :, None] * tf.cast(here[:, None] > 1, ids.dtype)
        letters = letters * kept[:, :, None]
        return finish({"text_ids": ids, "text_parsed_ids": ids, "text_letters": letters, "text_children": children})

    return text, [([batch, n], IDS), ([batch, n, 5], IDS), ([batch], n + 1)]


def tagging(n: int, batch: int) -> Iterator[Case]:
    """Yield a case for the loss of a CRF layer."""
    crf = CRF(5)
    crf.build((None, None, WIDTH))

    def function(features: tf.Tensor, labels: tf.Tensor, lengths: tf.Tensor) -> list[tf.Tensor]:
        found = crf(features, mask=length_mask(lengths, n))
        return [crf.log_likelihood(found["scores"], labels, found["mask"]), found["tags"]]

    yield Case(f"crf_{n}x{batch}", function, [([batch, n, WIDTH], 0), ([batch, n], 5), ([batch], n + 1)], crf.variables)


class Copier(keras.Model):
    """A decoder that copies the first symbols of its input; with `heads`, self-attention to preceding symbols."""

    def __init__(self, align: Any, said: int = 12) -> None:
        super().__init__()
        self.embed = keras.layers.Embedding(IDS, WIDTH)
        self.read = Bidirectional("gru", units=WIDTH, return_sequences=True)
        self.said = said
        attention = Attention("additive", align, units=WIDTH)
        self.tree = attention if align.name_in_registry == "heads" else None
        self.decode = None if self.tree else AttentionDecoder(GRUCell(WIDTH), attention, IDS, WIDTH, WIDTH)
        self.out = keras.layers.Dense(IDS)

    def call(self, ids: tf.Tensor, training: bool = True) -> tf.Tensor:
        """Return the mean cross-entropy."""
        kept = ids != 0
        values = self.read(self.embed(ids), mask=kept, training=training)
        wanted = tf.roll(ids, 1, 1) if self.tree else ids[:, : self.said]
        if self.tree:
            logits = self.out(self.tree(values, values, mask=kept, training=training)[0])
        else:
            logits, _ = self.decode(tf.roll(wanted, 1, 1), values, mask=kept, training=training)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(wanted, logits)
        return tf.reduce_sum(tf.where(wanted != 0, loss, 0)) / tf.cast(tf.size(wanted), loss.dtype)


def training_step(model: keras.Model) -> Callable[..., list[tf.Tensor]]:
    """Return a step of Adam with clipping.

    Its inputs are the weights, both moments, a batch and the step number; the loss is its last output.
    """
    variables = model.trainable_variables
    count = len(variables)

    def step(*given: tf.Tensor) -> list[tf.Tensor]:
        weights, first, second = given[:count], given[count : 2 * count], given[2 * count : 3 * count]
        ids, lengths, time = given[3 * count :]
        ids = (1 + ids % (IDS - 1)) * tf.cast(length_mask(lengths, ids.shape[1]), ids.dtype)
        with tf.GradientTape() as tape:
            tape.watch(weights)
            with keras.StatelessScope(state_mapping=list(zip(variables, weights, strict=True))):
                loss = model(ids, training=True)
        slopes = tape.gradient(loss, weights, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        slopes, _ = tf.clip_by_global_norm([tf.convert_to_tensor(g) for g in slopes], 1.0)
        first = [0.9 * m + 0.1 * g for m, g in zip(first, slopes, strict=True)]
        second = [0.999 * v + 0.001 * g * g for v, g in zip(second, slopes, strict=True)]
        rate = 3e-3 * tf.sqrt(1 - 0.999**time) / (1 - 0.9**time)
        moved = zip(weights, first, second, strict=True)
        weights = [w - rate * m / (tf.sqrt(v) + 1e-8) for w, m, v in moved]
        return [*weights, *first, *second, loss]

    return step


def trainings() -> Iterator[Case]:
    """Yield complete training steps with structured attention."""
    kinds = [("crf", {}, 64, 16), ("segments", {}, 64, 16), ("heads", {}, 64, 8), ("heads", {}, 100, 4)]
    for name, arguments, n, batch in [*kinds, ("heads", {"tree": "spanning"}, 64, 8)]:
        model = Copier(Alignment.get(name, **arguments))
        model(tf.ones([2, n], tf.int32))
        shapes = [(list(v.shape), 0) for v in model.trainable_variables] * 3
        inputs = [*shapes, ([batch, n], IDS), ([batch], n + 1), ([], 0)]
        kind = "_".join([name, *arguments.values()])
        yield Case(f"train_{kind}_{n}x{batch}", training_step(model), inputs, model.trainable_variables, STEPS)


def cases() -> Iterator[Case]:
    """Yield all cases."""
    for n, batch in SIZES:
        for family in (structures, alignments, tagging):
            yield from family(n, batch)
    for n, batch in FEW:
        yield from encoder_cases(n, batch)
    yield from trainings()


def program(case: Case) -> bytes:
    """Return a case as serialized HLO."""
    function = case.function if case.steps else with_gradients(case)
    return lower(function, [tf.TensorSpec(shape, tf.int32 if bound else tf.float32) for shape, bound in case.inputs])


def main() -> None:
    """Write HLO and inputs of every case."""
    tf.config.experimental.enable_tensor_float_32_execution(False)
    keras.utils.set_random_seed(0)
    folder = Path("build/devices")
    folder.mkdir(parents=True, exist_ok=True)
    index = {}
    for case in tqdm(list(cases()), disable=not sys.stderr.isatty()):
        (folder / f"{case.name}.hlo.xz").write_bytes(lzma.compress(program(case), preset=1))
        index[case.name] = {"inputs": case.inputs, "steps": case.steps}
        if case.steps:
            np.savez(folder / f"{case.name}.npz", *[v.numpy() for v in case.variables])
    (folder / "index.json").write_text(json.dumps(index))
    print(f"{len(index)} cases in {folder}; next: python tools/gpu/compare.py {folder}")


if __name__ == "__main__":
    main()
