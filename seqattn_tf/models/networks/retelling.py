"""The network that says again what it keeps in mind: one recurrent network reads, and then says."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells import Cell
from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.lite.text.rules import PAD
from seqattn_tf.models.networks.language import Nothing
from seqattn_tf.models.networks.pointing import IDS
from seqattn_tf.outputs.symbols import SHIFTED
from seqattn_tf.recurrent import Recurrent

_STRENGTH = 5.0  # of the heads of a memory before training: what is looked for is found among many


@keras.saving.register_keras_serializable("seqattn_tf")
class RetellNetwork(keras.Model):
    """Symbols said from the states that reading left, and nothing else: what a memory cell is for (Graves, 2014).

    Args:
        vocabulary: number of ids, of what is read and what is said alike.
        units: size of the state; of a memory cell, that of its controller.
        embedding: size of a symbol's embedding.
        cell: name of the recurrent cell.
        slots, width: of the memory, where the cell has one.
        dropout: rate on embeddings and outputs, in training.

    Call arguments: a dict with `text_ids [batch, source]` and `shifted [batch, target]`; returns logits
    `[batch, target, vocabulary]`.

    >>> network = RetellNetwork(30, units=8, embedding=4, slots=6, width=3)
    >>> network({"text_ids": tf.ones([2, 5], tf.int32), "shifted": tf.ones([2, 3], tf.int32)}).shape.as_list()
    [2, 3, 30]
    """

    points = False

    def __init__(
        self,
        vocabulary: int,
        units: int = 64,
        embedding: int = 16,
        cell: str = "memory",
        slots: int = 32,
        width: int = 16,
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.settings = {
            "vocabulary": check_count("vocabulary", vocabulary),
            "units": check_count("units", units),
            "embedding": check_count("embedding", embedding),
            "cell": cell,
            "slots": check_count("slots", slots),
            "width": check_count("width", width),
            "dropout": dropout,
        }
        alike = {"dtype": self.dtype_policy}
        apart = keras.initializers.RandomNormal(stddev=1.0)  # a memory finds one symbol among many from the start
        self.embedding = keras.layers.Embedding(vocabulary, embedding, embeddings_initializer=apart, **alike)
        self.drop = keras.layers.Dropout(dropout, **alike)
        own = {"slots": slots, "width": width, "strength": _STRENGTH} if cell == "memory" else {}
        self.mind = Recurrent(Cell.get(cell, units=units, **own, **alike), **alike)

    def build(self, input_shape: Any = None) -> None:
        """Build every part; the shapes follow from the settings."""
        self.embedding.build((None, None))
        if not self.mind.built:
            self.mind.build((None, None, self.settings["embedding"]))
        shape = (self.mind.output_size, self.settings["vocabulary"])
        self.kernel = self.add_weight(name="kernel", shape=shape)
        self.bias = self.add_weight(name="bias", shape=shape[1:], initializer="zeros")
        self.built = True

    def _read(self, ids: tf.Tensor, states: Any, mask: tf.Tensor | None, training: bool) -> Any:
        embedded = self.drop(self.embedding(ids), training=training)
        self.mind.jit_compile = True if training else None  # lengths are few in training; exports hold no compiled loop
        return self.mind.read(embedded, states, mask, training=training)

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """Teacher-forced logits."""
        source = tensors[IDS]
        states = self._read(source, None, source != PAD, training).states
        outputs = self._read(tensors[SHIFTED], states, None, training).outputs
        return linear(self.drop(outputs, training=training), self.kernel, self.bias)

    def begin(self, tensors: Tensors) -> tuple[Nothing, list[tf.Tensor]]:
        """What generation starts from: the memory, of nothing to look at, and the states after reading."""
        source = tensors[IDS]
        states = self._read(source, None, source != PAD, training=False).states
        return Nothing(tf.zeros([tf.shape(source)[0], 0], tf.bool)), states

    def step(
        self, tokens: tf.Tensor, state: list[tf.Tensor], memory: Nothing
    ) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
        """The step function of decoding: `tokens [batch] -> (logits [batch, size], weights [batch, 0], state)`."""
        output, state = self.mind.cell(self.embedding(tokens), state)
        return linear(output, self.kernel, self.bias), tf.zeros_like(memory.mask, tf.float32), state

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), **self.settings}
