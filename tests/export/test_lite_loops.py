"""Loops whose steps move an input to the place of another, which LiteRT computes wrongly unless it is copied."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from tensorflow.lite.tools import flatbuffer_utils

from seqattn_tf.core import edge, scan
from seqattn_tf.decoding.record import alike
from seqattn_tf.export.forms import lite
from seqattn_tf.export.lite_loops import moves_inputs

FIRST = np.ones([1, 2], "float32"), np.zeros([1, 2], "float32")


def fibonacci(a, b):
    return a + b, a


def exchange(a, b):
    return b, a


def scanned(step, length):
    return scan.scan(lambda _, carry: step(*carry), tf.zeros([length, 1]), FIRST)[1]


def folded(step, length):
    return scan.fold(lambda _, carry: step(*carry), tf.zeros([length, 1]), FIRST)


def repeated(step, length):
    return scan.repeat(lambda time, *_: time < length, lambda time, *carry: (time + 1, *step(*carry)), (0, *FIRST), 99)[
        1:
    ]


def decoded(step, length):
    def body(time, carry):
        return time + 1, alike(step(*carry), carry)

    first = tuple(map(tf.constant, FIRST))
    return tf.while_loop(lambda time, _: time < length, body, (tf.constant(0), first))[1]


def signature(loop, step):
    def run(length):
        return dict(zip(("first", "second"), loop(step, length), strict=True))

    return tf.function(run, autograph=False).get_concrete_function(tf.TensorSpec([], tf.int32, "length"))


@pytest.mark.parametrize("step", [fibonacci, exchange])
@pytest.mark.parametrize("loop", [scanned, folded, repeated, decoded])
def test_our_loops_copy_what_a_step_moves(loop, step, monkeypatch):
    monkeypatch.setattr(lite, "edge_signature", lambda *_: signature(loop, step))
    run = Interpreter(model_content=lite.convert(None)).get_signature_runner()
    for length in (5, 1, 4):
        expected = FIRST
        for _ in range(length):
            expected = step(*expected)
        found = run(length=np.int32(length))
        np.testing.assert_array_equal(found["first"], expected[0])
        np.testing.assert_array_equal(found["second"], expected[1])


def test_another_loop_that_moves_an_input_is_refused(monkeypatch):
    """Catches a layer with a loop of its own, which would give wrong answers on a device."""
    monkeypatch.setattr(edge, "apart", lambda results, _: results)
    monkeypatch.setattr(lite, "edge_signature", lambda *_: signature(repeated, exchange))
    with pytest.raises(
        ValueError, match=r"expected loops whose steps return no input in the place of another.*--no-lite"
    ):
        lite.convert(None)


def test_loops_store_their_steps_in_rows_unless_told_otherwise(monkeypatch):
    """Catches a file with tensor arrays, which takes almost twice the time."""

    def sums(x):
        return {"sums": scan.scan(lambda one, total: total + one, x, tf.zeros([1, 2]))[0]}

    def operators(arrays):
        model = flatbuffer_utils.convert_bytearray_to_object(bytearray(lite.convert(None, arrays=arrays)))
        return {flatbuffer_utils.opcode_to_name(model, number) for number in range(len(model.operatorCodes))}

    spec = tf.TensorSpec([None, 1, 2])
    monkeypatch.setattr(lite, "edge_signature", lambda *_: tf.function(sums).get_concrete_function(spec))
    rows, arrays = operators(False), operators(True)
    assert "DYNAMIC_UPDATE_SLICE" in rows - arrays
    assert "CONCATENATION" in arrays - rows


def test_files_without_such_a_loop_pass():
    def keep(a, b):
        return a + 1, b

    for run in (signature(repeated, keep), tf.function(lambda x: x + 1).get_concrete_function(tf.TensorSpec([2]))):
        assert not moves_inputs(tf.lite.TFLiteConverter.from_concrete_functions([run], tf.Module()).convert())
