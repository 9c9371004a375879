"""The batcher alone, with functions instead of models."""

import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from serving_toys import until

from seqattn_tf.serving.errors import ServingError, invalid
from seqattn_tf.serving.models.batcher import Batcher
from seqattn_tf.serving.models.batching import BatchingParameters

FOREVER = 60_000_000  # microseconds


class Doubles:
    """Doubles its rows, records its inputs, and waits for a gate while it is closed."""

    def __init__(self):
        self.batches, self.timeouts = [], []
        self.open = threading.Event()
        self.open.set()

    def __call__(self, inputs, timeout):
        x = inputs["x"]
        self.batches.append(x.ravel().tolist())
        self.timeouts.append(timeout)
        assert self.open.wait(20)
        if (x < 0).any():
            raise invalid("negative")
        if (x == 13).any():
            raise ServingError("INTERNAL", "thirteen")
        if (x == 17).any():
            raise RuntimeError("seventeen")
        return {"y": 2 * x, "rows": np.full(len(x), len(x))}


@pytest.fixture
def make():
    """A function that creates a queue; the threads end with the test."""
    batchers = []

    def made(run, **parameters):
        batchers.append(Batcher(BatchingParameters(**parameters)))
        return batchers[-1].queue(run)

    yield made
    for batcher in batchers:
        batcher.close()
        for thread in batcher._threads:
            thread.join(20)
            assert not thread.is_alive()


def ask(queue, *values, timeout=None):
    return queue({"x": np.array(values, np.float64)[:, None]}, timeout)["y"].ravel().tolist()


def outcome(call, *arguments, **more):
    try:
        return call(*arguments, **more)
    except ServingError as error:
        return f"{error.code}: {error.message}"


def test_a_full_batch_runs_at_once_and_a_batch_that_is_due_runs_as_it_is(make):
    run = Doubles()
    queue = make(run, max_batch_size=4, batch_timeout_micros=FOREVER)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(ask, queue, 1, 2, 3)
        until(lambda: queue.batches)
        assert not first.done()
        assert ask(queue, 4) == [8]
        assert first.result(20) == [2, 4, 6]
    assert run.batches == [[1, 2, 3, 4]]
    short = make(run, max_batch_size=4, batch_timeout_micros=10_000)
    start = time.monotonic()
    assert ask(short, 5) == [10]
    assert time.monotonic() - start >= 0.01


def test_who_does_not_fit_begins_a_batch_and_closes_the_one_before(make):
    run = Doubles()
    queue = make(run, max_batch_size=4, batch_timeout_micros=FOREVER)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(ask, queue, 1, 2, 3)
        until(lambda: queue.batches)
        second = threads.submit(ask, queue, 4, 5)
        assert first.result(20) == [2, 4, 6]  # need not wait for more rows
        until(lambda: queue.batches)
        assert not second.done()
        assert ask(queue, 6, 7) == [12, 14]
        assert second.result(20) == [8, 10]
    assert run.batches == [[1, 2, 3], [4, 5, 6, 7]]


def test_a_full_queue_is_unavailable_and_takes_nothing(make):
    run = Doubles()
    run.open.clear()
    queue = make(run, max_batch_size=2, max_enqueued_batches=2, num_batch_threads=1)
    with ThreadPoolExecutor(4) as threads:
        running = threads.submit(ask, queue, 1)
        until(lambda: run.batches)
        waiting = [threads.submit(ask, queue, value, value) for value in (2, 3)]
        until(lambda: len(queue.batches) == 2)
        with pytest.raises(
            ServingError, match=r"full; currently 2 batches enqueued and max_enqueued_batches is 2$"
        ) as e:
            ask(queue, 4)
        assert e.value.code == "UNAVAILABLE"
        run.open.set()
        assert running.result(20) == [2]
        assert [call.result(20) for call in waiting] == [[4, 4], [6, 6]]
    assert ask(queue, 5) == [10]


def test_a_request_may_wait_no_longer_than_its_deadline_and_then_does_not_run(make):
    run = Doubles()
    run.open.clear()
    queue = make(run, max_batch_size=2, num_batch_threads=1)
    with ThreadPoolExecutor(3) as threads:
        running = threads.submit(ask, queue, 1)
        until(lambda: run.batches)
        start = time.monotonic()
        with pytest.raises(ServingError, match=r"^DEADLINE_EXCEEDED: Timed out waiting for notification$"):
            ask(queue, 2, timeout=0.1)
        assert 0.1 <= time.monotonic() - start < 10
        with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
            ask(queue, 3, timeout=-1)
        patient = threads.submit(ask, queue, 4)
        until(lambda: len(queue.batches) == 2)
        run.open.set()
        assert running.result(20) == [2]
        assert patient.result(20) == [8]
    assert run.batches == [[1], [4]]


def test_a_batch_may_take_as_long_as_the_most_patient_of_it(make):
    run = Doubles()
    queue = make(run, max_batch_size=2, batch_timeout_micros=FOREVER)
    for timeouts, expected in (((5.0, 50.0), 50.0), ((5.0, None), None)):
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda timeout: ask(queue, 1, timeout=timeout), timeouts))
        assert run.timeouts[-1] == expected or expected - 2 < run.timeouts[-1] <= expected


def test_a_fault_reaches_only_its_sender_where_it_can_be_known_who_that_is(make):
    run = Doubles()
    queue = make(run, max_batch_size=3, batch_timeout_micros=FOREVER)
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda value: outcome(ask, queue, value), (1, -1, 2)))
    assert found == [[2], "INVALID_ARGUMENT: negative", [4]]
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda value: outcome(ask, queue, value), (1, 13, 2)))
    assert found == ["INTERNAL: thirteen"] * 3  # an error of the server, so nothing is repeated
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda value: outcome(ask, queue, value), (1, 17, 2)))
    assert found == ["INTERNAL: RuntimeError: seventeen"] * 3
    assert ask(queue, 1, 2, 3) == [2, 4, 6]  # its threads are still running


def test_who_runs_again_runs_alone_within_the_limits(make):
    run = Doubles()
    sizes = {"max_batch_size": 12, "enable_large_batch_splitting": True, "max_execution_batch_size": 4}
    queue = make(run, batch_timeout_micros=FOREVER, num_batch_threads=1, allowed_batch_sizes=(2, 4), **sizes)
    with ThreadPoolExecutor(2) as threads:
        bad = threads.submit(outcome, ask, queue, -1)
        until(lambda: queue.batches)
        assert ask(queue, 1, 2, 3, 4, 5, 6, 7) == [2, 4, 6, 8, 10, 12, 14]
        assert bad.result(20) == "INVALID_ARGUMENT: negative"
    assert run.batches[:2] == [[-1, 1, 2, 3], [4, 5, 6, 7]]
    assert sorted(run.batches[2:]) == [[-1, -1], [1, 2, 3, 1]]  # the valid part has its result


@pytest.mark.parametrize("code", ["OUT_OF_RANGE", "NOT_FOUND", "FAILED_PRECONDITION", "UNIMPLEMENTED"])
def test_any_fault_of_a_request_is_its_own(make, code):
    def fussy(inputs, timeout):
        if (inputs["x"] < 0).any():
            raise ServingError(code, "negative")
        return {"y": inputs["x"]}

    queue = make(fussy, max_batch_size=2, batch_timeout_micros=FOREVER)
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda value: outcome(ask, queue, value), (1, -1)))
    assert found == [[1], f"{code}: negative"]


def test_outputs_as_wide_as_their_run_are_not_torn(make):
    """The whole of a split request runs again if the results of its parts have different widths."""

    def widest(inputs, timeout):
        x = inputs["x"]
        return {"y": np.broadcast_to(x, [len(x), int(x.max())])}

    queue = make(widest, max_batch_size=8, enable_large_batch_splitting=True, max_execution_batch_size=2)
    found = queue({"x": np.array([[1], [2], [3]])}, None)["y"]
    assert found.tolist() == [[1, 1, 1], [2, 2, 2], [3, 3, 3]]


def test_a_closed_batcher_takes_nothing(make):
    queue = make(Doubles())
    assert ask(queue, 1) == [2]
    queue._batcher.close()
    assert outcome(ask, queue, 1) == "UNAVAILABLE: the server is shutting down"


def test_a_single_request_is_not_run_twice_for_its_fault(make):
    run = Doubles()
    queue = make(run, max_batch_size=3)
    assert outcome(ask, queue, -1, 2) == "INVALID_ARGUMENT: negative"
    assert len(run.batches) == 1


def test_large_requests_are_split_into_what_runs_at_once(make):
    run = Doubles()
    split = {"max_batch_size": 9, "enable_large_batch_splitting": True, "max_execution_batch_size": 3}
    queue = make(run, num_batch_threads=1, **split)
    assert ask(queue, *range(7)) == [2 * value for value in range(7)]
    assert run.batches == [[0, 1, 2], [3, 4, 5], [6]]
    run.batches.clear()
    waits = make(run, num_batch_threads=1, batch_timeout_micros=FOREVER, **split)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(ask, waits, 10)
        until(lambda: waits.batches)
        assert ask(waits, *range(5)) == [0, 2, 4, 6, 8]
        assert first.result(20) == [20]
    assert run.batches == [[10, 0, 1], [2, 3, 4]]  # the open batch is filled first
    assert outcome(ask, waits, *range(10)) == (
        "INVALID_ARGUMENT: Task size 10 is larger than maximum input batch size 9"
    )
    few = make(run, max_enqueued_batches=2, **split)
    assert "UNAVAILABLE" in outcome(ask, few, *range(9))
    assert not few.batches  # all or nothing


def test_rows_are_filled_up_and_lengths_padded(make):
    run = Doubles()
    queue = make(run, max_batch_size=4, allowed_batch_sizes=(2, 4))
    assert queue({"x": np.ones([3, 1])}, None)["rows"].tolist() == [4, 4, 4]
    assert ask(queue, 7, 8, 9) == [14, 16, 18]
    assert run.batches[-1] == [7, 8, 9, 7]  # the first row of the last request
    apart = make(run, max_batch_size=2, batch_timeout_micros=FOREVER)
    inputs = [{"x": np.full([1, width], 2.0)} for width in (2, 3)]
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda one: apart(one, None), inputs))
    assert [one["y"].tolist() for one in found] == [[[4, 4]], [[4, 4, 4]]]
    assert [one["rows"].tolist() for one in found] == [[1], [1]]
    padded = make(run, max_batch_size=2, batch_timeout_micros=FOREVER, pad_variable_length_inputs=True)
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda one: padded(one, None), inputs))
    assert [one["y"].tolist() for one in found] == [[[4, 4, 4]], [[4, 4, 4]]]
    assert [one["rows"].tolist() for one in found] == [[2], [2]]


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (np.float32(1.0), "Batched output tensor has 0 dimensions"),
        (np.ones(3), "0th dimension does not equal the sum of the 0th dimension sizes of the input tensors"),
    ],
)
def test_outputs_must_have_the_rows_of_the_inputs(make, outputs, message):
    queue = make(lambda inputs, timeout: {"y": np.asarray(outputs)})
    with pytest.raises(ServingError, match=f"FAILED_PRECONDITION: .*{message}"):
        queue({"x": np.ones(2)}, None)


def test_queues_share_threads_but_never_a_batch(make):
    first, second = Doubles(), Doubles()
    queue = make(first, max_batch_size=8, batch_timeout_micros=1000, num_batch_threads=1)
    other = queue._batcher.queue(second)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda value: ask((queue, other)[value % 2], value), range(20, 60)))
    assert found == [[2 * value] for value in range(20, 60)]
    assert all(value % 2 == 0 for batch in first.batches for value in batch)
    assert all(value % 2 == 1 for batch in second.batches for value in batch)
    assert len(queue._batcher._threads) == 1


def test_the_threads_do_not_hold_what_ran(make):
    run = Doubles()
    queue = make(run)
    assert ask(queue, 1) == [2]
    gone = weakref.ref(run)
    del run, queue
    gc.collect()
    until(lambda: gone() is None)


def test_many_at_once(make):
    run = Doubles()
    queue = make(run, max_batch_size=16, batch_timeout_micros=500, max_enqueued_batches=1000, num_batch_threads=2)
    with ThreadPoolExecutor(32) as threads:
        found = list(threads.map(lambda value: ask(queue, value, value + 0.5, timeout=60.0), range(20, 1000)))
    assert found == [[2.0 * value, 2.0 * value + 1] for value in range(20, 1000)]
    assert max(map(len, run.batches)) <= 16
    assert len(run.batches) < 980  # some requests ran together


def test_a_request_that_fits_into_the_open_batch_needs_no_other(make):
    """If the queue is full, its last batch may still accept rows, but not one more than it has space for."""
    run = Doubles()
    run.open.clear()
    queue = make(
        run, max_batch_size=3, max_enqueued_batches=1, num_batch_threads=1, batch_timeout_micros=FOREVER // 100
    )
    with ThreadPoolExecutor(4) as threads:
        running = threads.submit(ask, queue, 1, 1, 1)
        until(lambda: run.batches)
        waiting = [threads.submit(ask, queue, 2)]
        until(lambda: queue.batches and queue.batches[0].rows == 1)
        assert outcome(ask, queue, 9, 9, 9).startswith("UNAVAILABLE")  # two rows are free, not three
        waiting.append(threads.submit(ask, queue, 3, 3))  # exactly the free rows
        until(lambda: queue.batches and queue.batches[0].rows == 3)
        assert outcome(ask, queue, 4).startswith("UNAVAILABLE")
        run.open.set()
        assert running.result(20) == [2, 2, 2]
        assert [call.result(20) for call in waiting] == [[4], [6, 6]]
