"""The network of language models: the next symbol from all symbols before it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count
from seqattn_tf.core.replicas import mean_of_all
from seqattn_tf.core.scan import scan, to_time_major
from seqattn_tf.lite.text.rules import PAD
from seqattn_tf.models.networks.softmaxes import SOFTMAXES, AdaptiveSoftmax, cutoffs_of, sampled_losses
from seqattn_tf.outputs.symbols import SHIFTED
from seqattn_tf.recurrent import Recurrent

States = list[list[tf.Tensor]]  # the states of each layer


class Nothing(NamedTuple):
    """The empty memory of a model without attention."""

    mask: tf.Tensor  # [batch, 0]


@keras.saving.register_keras_serializable("seqattn_tf")
class LanguageNetwork(keras.Model):
    """A network that predicts the next symbol from all those before it, by recurrent layers with residual connections.

    Args:
        size: The number of ids.
        units: The size of the state of each layer.
        embedding: The size of a symbol embedding.
        cell: The name of the recurrent cell.
        depth: The number of layers.
        dropout: The dropout rate of the inputs of every layer and of the last outputs, in training.
        tie_embeddings: Whether the embeddings are also the output weights (Press and Wolf, 2017), which saves weights
            for a large vocabulary.
        softmax: Which part of a large vocabulary a training step computes: `"full"`, all of it; `"sampled"`, a sample
            of its words; `"adaptive"`, frequent words, and groups of rare words that contain a target.
        num_sampled: The number of sampled words.

    Call arguments: a dict with `shifted [batch, target]`; returns logits `[batch, target, size]`. In training without a
    full softmax, it returns the last outputs `[batch, target, units]`, from which `compute_loss` computes the loss.

    >>> network = LanguageNetwork(40, units=8, embedding=4)
    >>> network({"shifted": tf.ones([2, 3], tf.int32)}).shape.as_list()
    [2, 3, 40]
    """

    def __init__(
        self,
        size: int,
        units: int = 256,
        embedding: int = 128,
        cell: str = "lstm",
        depth: int = 1,
        dropout: float = 0.0,
        tie_embeddings: bool = False,
        softmax: str = "full",
        num_sampled: int = 512,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if softmax not in SOFTMAXES:
            raise ValueError(f"softmax: expected one of {SOFTMAXES}. Received: {softmax!r}")
        if softmax == "adaptive" and tie_embeddings:
            raise ValueError(
                "tie_embeddings: expected False for an adaptive softmax, which has no output embeddings. Received: True"
            )
        self.draws = keras.random.SeedGenerator() if softmax == "sampled" else None
        self.settings = {
            "size": check_count("size", size),
            "units": check_count("units", units),
            "embedding": check_count("embedding", embedding),
            "cell": cell,
            "depth": check_count("depth", depth),
            "dropout": dropout,
            "tie_embeddings": tie_embeddings,
            "softmax": softmax,
            "num_sampled": num_sampled,
        }
        alike = {"dtype": self.dtype_policy}
        self.embedding = keras.layers.Embedding(size, embedding, **alike)
        self.drop = keras.layers.Dropout(dropout, **alike)
        self.stack = [Recurrent(cell, units=units, **alike) for _ in range(depth)]
        self.adapted = (
            not tie_embeddings or units != embedding
        )  # whether there is a kernel between the outputs and the logits or embeddings

        self.num_sampled = check_count("num_sampled", num_sampled)
        self.adaptive = AdaptiveSoftmax(cutoffs_of(size), **alike) if softmax == "adaptive" else None

    def build(self, input_shape: Any = None) -> None:
        """Build all parts; the shapes follow from the settings."""
        size, embedding, tie_embeddings = (self.settings[name] for name in ("size", "embedding", "tie_embeddings"))
        width = embedding
        self.embedding.build((None, None))
        for layer in self.stack:
            if not layer.built:
                layer.build((None, None, width))
            width = layer.output_size
        self.built = True
        if self.adaptive is not None:
            if not self.adaptive.built:
                self.adaptive.build((None, width))
            return
        if self.adapted:
            self.kernel = self.add_weight(name="kernel", shape=(width, embedding if tie_embeddings else size))
        self.bias = self.add_weight(name="bias", shape=(size,), initializer="zeros")

    def _through(self, values: tf.Tensor, states: States, training: bool, run: Callable) -> tuple[tf.Tensor, States]:
        """Apply all layers in order by `run(layer, inputs, states) -> (outputs, states)`."""
        found = []
        for layer, own in zip(self.stack, states, strict=True):
            outputs, last = run(layer, self.drop(values, training=training), own)
            values = values + outputs if values.shape[-1] == outputs.shape[-1] else outputs
            found.append(last)
        return self.drop(values, training=training), found

    def _logits(self, outputs: tf.Tensor) -> tf.Tensor:
        if self.adaptive is not None:
            return self.adaptive(outputs)
        values = linear(outputs, self.kernel) if self.adapted else outputs
        if self.settings["tie_embeddings"]:
            values = linear(values, tf.transpose(tf.convert_to_tensor(self.embedding.embeddings)))
        return values + tf.cast(self.bias, values.dtype)

    def _over_time(self, tokens: tf.Tensor, mask: tf.Tensor | None, training: bool) -> tuple[tf.Tensor, States]:
        def run(layer: Recurrent, inputs: tf.Tensor, states: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
            found = layer.read(inputs, states, mask, training=training)
            return found.outputs, found.states

        _, states = self.begin(tf.shape(tokens)[0])
        return self._through(self.embedding(tokens), states, training, run)

    def call(self, tensors: dict[str, tf.Tensor], training: bool = False) -> tf.Tensor:
        """Return the logits of the symbol after each given one, or the outputs from which the loss is computed."""
        outputs = self._over_time(tensors[SHIFTED], None, training)[0]
        return outputs if training and self.settings["softmax"] != "full" else self._logits(outputs)

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> tf.Tensor:
        """Compute the loss of all symbols that are not padding, with the softmax that is used in training."""
        if not training or self.settings["softmax"] == "full":
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        kept = tf.where(y != PAD)
        right, outputs = tf.gather_nd(y, kept), tf.gather_nd(y_pred, kept)
        total = tf.reduce_sum(self._each_loss(outputs, right))
        return mean_of_all(total, tf.size(right))

    def _each_loss(self, outputs: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
        """Return the loss of each target, computed on a part of the vocabulary: `[rows, units], [rows] -> [rows]`."""
        if self.adaptive is not None:
            return self.adaptive.losses_of(outputs, right)
        values = linear(outputs, self.kernel) if self.adapted and self.settings["tie_embeddings"] else outputs
        tied = self.settings["tie_embeddings"]
        words = tf.convert_to_tensor(self.embedding.embeddings) if tied else tf.transpose(self.kernel)
        values, words = tf.cast(values, tf.float32), tf.cast(words, tf.float32)
        return sampled_losses(values, words, tf.cast(self.bias, tf.float32), right, self.num_sampled, self.draws)

    def read(self, tokens: tf.Tensor, mask: tf.Tensor) -> States:
        """Return the states after the symbols of each row that `mask` `[batch, time]` selects."""
        return self._over_time(tokens, mask, training=False)[1]

    def begin(self, batch: tf.Tensor | int) -> tuple[Nothing, States]:
        """Return the start of generation: the memory and the states before the first step."""
        return Nothing(tf.zeros([batch, 0], tf.bool)), [layer.cell.get_initial_state(batch) for layer in self.stack]

    def step(self, tokens: tf.Tensor, state: States, memory: Nothing) -> tuple[tf.Tensor, tf.Tensor, States]:
        """Decode one step: `tokens [batch] -> (logits [batch, size], weights [batch, 0], state)`."""
        outputs, state = self._through(self.embedding(tokens), state, False, lambda layer, x, s: layer.cell(x, s))
        return self._logits(outputs), tf.zeros_like(memory.mask, tf.float32), state

    def states(self, tokens: tf.Tensor) -> States:
        """Return the states after each symbol, `[batch, time] -> [batch, time, units]` for each state of each layer."""

        def step(tokens: tf.Tensor, states: States) -> States:
            return self._through(self.embedding(tokens), states, False, lambda layer, x, s: layer.cell(x, s))[1]

        stacked, _ = scan(step, to_time_major(tokens), self.begin(tf.shape(tokens)[0])[1])
        return tf.nest.map_structure(to_time_major, stacked)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self.settings}
