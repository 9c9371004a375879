import numpy as np
import pytest
import tensorflow as tf
from support.layers import random, roundtrip

from seqattn_tf.attention import Attention, JointAttention

QUERY, VALUES = tf.constant(random(2, 3)), tf.constant(random(2, 5, 4, seed=1))
MASK = tf.constant([[True] * 5, [True, True, False, False, False]])


@pytest.fixture
def parts():
    return [Attention("general"), Attention("additive", "sigmoid", units=4)]


def joint_of(parts):
    joint = JointAttention(parts)
    joint(QUERY, VALUES)
    return joint


def test_contexts_and_weights_stand_side_by_side(parts):
    context, weights = joint_of(parts)(QUERY, VALUES, mask=MASK)
    for place, part in enumerate(parts):
        own_context, own_weights = part(QUERY, VALUES, mask=MASK)
        np.testing.assert_allclose(context[:, 4 * place : 4 * place + 4], own_context, rtol=1e-6)
        np.testing.assert_allclose(weights[:, 5 * place : 5 * place + 5], own_weights, rtol=1e-6)
    assert (weights.numpy()[1, [2, 3, 4, 7, 8, 9]] == 0).all()


def test_what_is_read_through_a_kernel_is_the_contexts_times_the_kernel(parts):
    joint, kernel = joint_of(parts), random(8, 6, seed=2)
    context, weights = joint(QUERY, VALUES, mask=MASK)
    memory = joint.prepare(VALUES, MASK)
    memory = memory._replace(values=joint.through(memory.values, kernel))
    read, same, states = joint.attend(QUERY, memory)
    np.testing.assert_allclose(read, context @ kernel, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(same, weights, rtol=1e-6)
    assert len(states) == 2
    again = joint.read(weights[:, None], memory.values, QUERY[:, None])
    np.testing.assert_allclose(again[:, 0], read, rtol=1e-4, atol=1e-5)


def test_one_that_remembers_makes_all_remember():
    assert not joint_of([Attention("general")]).stateful
    joint = joint_of([Attention("general"), Attention("coverage", units=4)])
    assert joint.stateful
    assert not joint.random
    assert joint_of([Attention("general"), Attention("general", "hard")]).random


def test_sizes_are_known_before_a_call(parts):
    joint = JointAttention(parts)
    assert joint.context_size(4) == 8
    assert joint.compute_output_shape((2, 7, 3), (2, 5, 4)) == ((2, 7, 8), (2, 7, 10))
    assert joint.compute_output_shape((2, 3), (2, None, 4)) == ((2, 8), (2, None))


def test_its_parts_survive_saving(parts):
    again = roundtrip(JointAttention(parts))
    assert [part.get_config() for part in again.attentions] == [part.get_config() for part in parts]


@pytest.mark.parametrize("wrong", [[], ["dot"], [Attention("dot"), None]])
def test_other_parts_are_refused(wrong):
    with pytest.raises(ValueError, match="attentions: expected at least one Attention"):
        JointAttention(wrong)
