"""A network that repeats what it has memorized: one recurrent network reads the input and then generates the output."""

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

_STRENGTH = 5.0  # initial key strength of the memory heads, so that they find one slot among many


@keras.saving.register_keras_serializable("seqattn_tf")
class MemoryCellNetwork(keras.Model):
    """A network that generates symbols from the states after reading alone, the task of memory cells (Graves, 2014).

    Args:
        vocabulary: The number of ids, shared by input and output.
        units: The size of the state, or of the controller if the cell has a memory.
        embedding: The size of a symbol embedding.
        cell: The name of the recurrent cell.
        memory_slots, memory_width: The size of the memory, if the cell has one.
        dropout: The dropout rate of embeddings and outputs in training.

    Call arguments: a dict with `text_ids [batch, source]` and `shifted [batch, target]`; returns logits
    `[batch, target, vocabulary]`.

    >>> network = MemoryCellNetwork(30, units=8, embedding=4, memory_slots=6, memory_width=3)
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
        memory_slots: int = 32,
        memory_width: int = 16,
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.settings = {
            "vocabulary": check_count("vocabulary", vocabulary),
            "units": check_count("units", units),
            "embedding": check_count("embedding", embedding),
            "cell": cell,
            "memory_slots": check_count("memory_slots", memory_slots),
            "memory_width": check_count("memory_width", memory_width),
            "dropout": dropout,
        }
        alike = {"dtype": self.dtype_policy}
        apart = keras.initializers.RandomNormal(stddev=1.0)  # so that a memory can tell symbols apart from the start
        self.embedding = keras.layers.Embedding(vocabulary, embedding, embeddings_initializer=apart, **alike)
        self.drop = keras.layers.Dropout(dropout, **alike)
        own = {"slots": memory_slots, "width": memory_width, "strength": _STRENGTH} if cell == "memory" else {}
        self.mind = Recurrent(Cell.get(cell, units=units, **own, **alike), **alike)

    def build(self, input_shape: Any = None) -> None:
        """Build all parts; the shapes follow from the settings."""
        self.embedding.build((None, None))
        if not self.mind.built:
            self.mind.build((None, None, self.settings["embedding"]))
        shape = (self.mind.output_size, self.settings["vocabulary"])
        self.kernel = self.add_weight(name="kernel", shape=shape)
        self.bias = self.add_weight(name="bias", shape=shape[1:], initializer="zeros")
        self.built = True

    def _read(self, ids: tf.Tensor, states: Any, mask: tf.Tensor | None, training: bool) -> Any:
        embedded = self.drop(self.embedding(ids), training=training)
        self.mind.jit_compile = True if training else None  # training has few lengths; exports must not contain it
        return self.mind.read(embedded, states, mask, training=training)

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """Return teacher-forced logits."""
        source = tensors[IDS]
        states = self._read(source, None, source != PAD, training).states
        outputs = self._read(tensors[SHIFTED], states, None, training).outputs
        return linear(self.drop(outputs, training=training), self.kernel, self.bias)

    def begin(self, tensors: Tensors) -> tuple[Nothing, list[tf.Tensor]]:
        """Return the start of generation: an empty memory, as there is no attention, and the states after the input."""
        source = tensors[IDS]
        states = self._read(source, None, source != PAD, training=False).states
        return Nothing(tf.zeros([tf.shape(source)[0], 0], tf.bool)), states

    def step(
        self, tokens: tf.Tensor, state: list[tf.Tensor], memory: Nothing
    ) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
        """Decode one step: `tokens [batch] -> (logits [batch, size], weights [batch, 0], state)`."""
        output, state = self.mind.cell(self.embedding(tokens), state)
        return linear(output, self.kernel, self.bias), tf.zeros_like(memory.mask, tf.float32), state

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self.settings}
