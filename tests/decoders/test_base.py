import keras
import numpy as np
import pytest
import tensorflow as tf
from support.layers import random

from seqattn_tf.attention import Attention, JointAttention
from seqattn_tf.cells import GRUCell, LSTMCell
from seqattn_tf.decoders import AttentionDecoder
from seqattn_tf.decoders.base import Decoder, DecoderMemory, SharedMemory, time_mask, zero_steps

VALUES = tf.constant(random(2, 3, 4))
MASK = tf.constant([[True, True, False], [True, True, True]])


def decoder(cell=None, summary=None):
    made = AttentionDecoder(cell or GRUCell(5), Attention("additive", units=4), vocabulary=6)
    made(tf.zeros([2, 1], tf.int32), VALUES, **({} if summary is None else {"summary": summary}))
    return made


def test_the_first_states_are_maps_of_the_summary():
    summary = tf.constant(random(2, 7, seed=1))
    made = decoder(LSTMCell(5), summary)
    memory, state = made.begin(VALUES, MASK, summary=summary)
    assert len(state.cell) == 2
    for found, kernel, bias in zip(state.cell, made.first_kernels, made.first_biases, strict=True):
        np.testing.assert_allclose(found, np.tanh(summary @ kernel + bias), rtol=1e-5)
    np.testing.assert_array_equal(memory.mask, MASK)
    assert memory.beams == 1


def test_the_first_states_are_those_given_or_else_the_cells_own():
    made, given = decoder(), tf.constant(random(2, 5, seed=2))
    np.testing.assert_array_equal(made.begin(VALUES, initial_state=[given])[1].cell[0], given)
    assert (made.begin(VALUES)[1].cell[0].numpy() == 0).all()


def test_a_summary_that_does_not_fit_is_refused():
    summary = tf.zeros([2, 7])
    with pytest.raises(ValueError, match="summary: expected a call without a summary, as when the layer was built"):
        decoder().begin(VALUES, summary=summary)
    made = decoder(summary=summary)
    with pytest.raises(ValueError, match="summary: expected a call with a summary, as when the layer was built"):
        made.begin(VALUES)
    with pytest.raises(ValueError, match="initial_state: expected either initial_state or summary"):
        made.begin(VALUES, summary=summary, initial_state=[tf.zeros([2, 5])])
    with pytest.raises(ValueError, match="pass states as initial_state="):
        made.begin(VALUES, summary=[summary])


def test_parts_of_another_kind_are_refused_and_a_list_is_joined():
    with pytest.raises(ValueError, match="cell: expected a cell of seqattn_tf"):
        Decoder("gru", Attention("dot"))
    with pytest.raises(ValueError, match="attention: expected an Attention"):
        Decoder(GRUCell(3), "dot")
    joined = Decoder(GRUCell(3), [Attention("dot"), Attention("general")])
    assert isinstance(joined.attention, JointAttention)


def test_a_memory_may_be_shared_by_beams():
    memory = DecoderMemory("look", "values")
    shared = SharedMemory(memory, 3)
    assert (memory.beams, shared.beams) == (1, 3)
    assert tuple(shared) == tuple(memory)


def test_steps_that_are_not_kept_are_zero():
    mask = tf.constant([[1, 0], [1, 1]])
    [found] = zero_steps(mask, tf.constant([[[1.0], [np.nan]], [[2.0], [3.0]]]))
    assert found.numpy().tolist() == [[[1.0], [0.0]], [[2.0], [3.0]]]
    assert zero_steps(None, "as it is") == ("as it is",)
    assert time_mask(None, mask) is None
    assert time_mask(mask == 1, mask).numpy().tolist() == [[True, True], [False, True]]


def test_a_cell_of_keras_is_refused_with_what_takes_its_place():
    expected = r"cell: expected a cell of seqattn_tf\.cells \(its LSTMCell and GRUCell have the weights .* of Keras's\)"
    with pytest.raises(ValueError, match=expected):
        AttentionDecoder(keras.layers.LSTMCell(4), Attention(units=4), 5)
