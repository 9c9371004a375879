import threading
import time

import pytest
import tensorflow as tf

from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.models.calls import Call


@pytest.fixture
def counting():
    """A call that counts to `n`, and how often it was begun."""
    begun = tf.Variable(0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="n")])
    def count(n):
        begun.assign_add(1)
        return tf.while_loop(lambda i: i < n, lambda i: (i + 1,), [tf.constant(0)])

    return Call(count.get_concrete_function(), ["n"], ["counted"]), begun


def run(call, n, **more):
    return call({"n": tf.constant(n)}, **more)["counted"].numpy()


def test_a_run_ends_when_it_is_late_or_nobody_waits(counting):
    call, begun = counting
    assert run(call, 3) == run(call, 3, timeout=60.0) == 3
    start = time.monotonic()
    with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
        run(call, 2**31 - 1, timeout=0.2)
    with pytest.raises(ServingError, match="CANCELLED: the client has left"):
        run(call, 2**31 - 1, gone=lambda left: threading.Timer(0.2, left).start())
    assert time.monotonic() - start < 30
    so_far = begun.numpy()
    with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
        run(call, 3, timeout=0.0)
    with pytest.raises(ServingError, match="CANCELLED"):
        run(call, 3, gone=lambda left: left())
    assert begun.numpy() == so_far  # who comes too late is not begun
    assert run(call, 3) == 3


def test_the_first_run_is_alone(counting):
    call, begun = counting
    threads = [threading.Thread(target=run, args=(call, 10**5)) for _ in range(4)]
    for thread in threads:
        thread.start()
    seen = {begun.numpy().item() for _ in range(200) if call._first is not None}
    assert seen <= {0, 1}  # while the first has not ended, no other has begun
    for thread in threads:
        thread.join()
    assert (begun.numpy(), call._first) == (4, None)


def test_a_failed_first_run_is_not_the_last_word():
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="n")])
    def fussy(n):
        with tf.control_dependencies([tf.debugging.Assert(n > 0, ["expected more than", 0])]):
            return tf.identity(n)

    call = Call(fussy.get_concrete_function(), ["n"], ["counted"])
    with pytest.raises(ServingError, match="INVALID_ARGUMENT: assertion failed"):
        run(call, 0, timeout=5.0)
    assert run(call, 2) == 2


def test_names_must_fit():
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="n")])
    def same(n):
        return n

    with pytest.raises(ValueError, match="outputs: expected 1 names"):
        Call(same.get_concrete_function(), ["n"], ["a", "b"])
