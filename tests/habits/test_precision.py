"""Parts with another precision than the whole: the whole determines it, as in Keras's `RNN` around a cell."""

import numpy as np
import pytest
import tensorflow as tf
from support.layers import random

from seqattn_tf import Attention, AttentionDecoder, LuongDecoder, PointerDecoder, Recurrent
from seqattn_tf.cells import DropoutCell, GRUCell, LSTMCell, MemoryCell, ZoneoutCell

X, TOKENS = random(3, 4, 5), np.array([[1, 2, 3], [1, 0, 2], [1, 1, 1]])
CELLS = {
    "gru": lambda: GRUCell(4),
    "lstm": lambda: LSTMCell(4),
    "dropout": lambda: DropoutCell(GRUCell(4), 0.3, dtype="mixed_bfloat16"),
    "zoneout": lambda: ZoneoutCell(LSTMCell(4), 0.3),
    "memory": lambda: MemoryCell(4, slots=3, width=2),
}


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("dtype", ["mixed_float16", "float64"])
def test_a_cell_in_a_network(name, dtype):
    layer = Recurrent(CELLS[name](), dtype=dtype, return_sequences=True)
    outputs = layer(X, mask=tf.ones([3, 4], tf.bool))
    assert outputs.dtype == dtype.removeprefix("mixed_")
    assert np.isfinite(layer(X, training=True)).all()
    plain = Recurrent(layer.cell, return_sequences=True)
    np.testing.assert_allclose(tf.cast(outputs, tf.float32), plain(X), atol=0.01)


@pytest.mark.parametrize("kind", [AttentionDecoder, LuongDecoder, PointerDecoder])
@pytest.mark.parametrize("parts", ["float32", "mixed_float16"])
def test_parts_of_a_decoder_over_time_and_step_by_step(kind, parts):
    size = {} if kind is PointerDecoder else {"vocabulary": 6}
    attention = Attention(units=4, dtype=parts)
    layer = kind(GRUCell(4, dtype=parts), attention, **size, dtype="mixed_float16")
    logits, _ = layer(tf.constant(TOKENS), X)
    assert logits.dtype == tf.float16
    for states in ({}, {"initial_state": [tf.zeros([3, 4])]}):
        memory, state = layer.begin(tf.constant(X), **states)
        for time in range(3):
            said, _, state = layer.step(tf.constant(TOKENS[:, time]), state, memory)
            np.testing.assert_allclose(tf.cast(said, tf.float32), tf.cast(logits[:, time], tf.float32), atol=0.02)
