"""Loops traced for LiteRT, converted and compared with a loop by hand."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from support.layers import random

from seqattn_tf.core.edge import is_tracing, tracing
from seqattn_tf.core.scan import scan

UNITS = 3


def start(rows):
    """A carry of several types; the last tensor has no rows, so it cannot be masked."""
    return tf.ones([rows, UNITS]), tf.zeros([rows], tf.int32), tf.fill([rows], True), tf.constant(5)


def step(element, carry):
    total, count, is_even, *time = carry
    return 0.5 * total + element, count + 1, ~is_even, *(one + 2 for one in time)


def by_hand(elements, carry, mask, reverse):
    carry, carries = [one.numpy() for one in carry], []
    for t in reversed(range(len(elements))) if reverse else range(len(elements)):
        new = [np.asarray(one) for one in step(elements[t], carry)]
        if mask is not None:
            new = [np.where(mask[t].reshape([-1] + [1] * (n.ndim - 1)), n, o) for n, o in zip(new, carry, strict=True)]
        carry = new
        carries.append(carry)
    return [np.stack(each) for each in zip(*(carries[::-1] if reverse else carries), strict=True)], carry


def converted(function, *specs):
    """Return the signature of a function in LiteRT."""
    with tracing():
        traced = tf.function(function, autograph=False).get_concrete_function(*specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced], tf.Module())
    return Interpreter(model_content=converter.convert()).get_signature_runner()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    ("reverse", "rows", "time"), [(False, 1, None), (True, 1, None), (True, 2, None), (False, 2, 4)]
)
def test_equals_the_loop_by_hand_at_changing_lengths(masked, reverse, rows, time):
    first = start(rows)[:3] if masked else start(rows)

    def run(elements, mask):
        stacked, last = scan(step, elements, first, mask if masked else None, reverse)
        return {f"{name} {i}": one for name, each in (("all", stacked), ("last", last)) for i, one in enumerate(each)}

    specs = tf.TensorSpec([time, rows, UNITS], name="elements"), tf.TensorSpec([time, rows], tf.bool, name="mask")
    runner = converted(run, *specs)
    for length in (4, 4) if time else (4, 1, 7, 7, 2):
        elements, mask = random(length, rows, UNITS), random(length, rows) > 0
        found = runner(elements=elements, mask=mask)
        stacked, last = by_hand(elements, first, mask if masked else None, reverse)
        for i in range(len(first)):
            np.testing.assert_allclose(found[f"all {i}"], stacked[i], rtol=1e-5)
            np.testing.assert_allclose(found[f"last {i}"], last[i], rtol=1e-5)


def test_only_loops_in_the_context_are_traced_for_litert():
    """Catches a training whose loops copy all steps at every step, and a LiteRT file with tensor arrays."""

    def ops():
        traced = tf.function(lambda x: scan(lambda x, total: total + x, x, tf.zeros([1, 2])), autograph=False)
        graph = traced.get_concrete_function(tf.TensorSpec([None, 1, 2])).graph.as_graph_def()
        return {node.op for function in graph.library.function for node in function.node_def}

    with tracing():
        assert is_tracing()
        in_rows = ops()
    assert not is_tracing()
    in_arrays = ops()
    assert "XlaDynamicUpdateSlice" in in_rows - in_arrays
    assert "TensorListSetItem" in in_arrays - in_rows
