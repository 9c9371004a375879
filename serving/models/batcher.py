"""A batcher that runs concurrent requests together, with one pool of threads and one queue for each signature.

A batch is open until it is full, or until its waiting time is over and a thread is free; then it runs. Each caller
waits for its own rows until its deadline.
"""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

import numpy as np

from seqattn_tf.serving.cores import usable_cores
from seqattn_tf.serving.errors import ServingError, deadline_exceeded, from_exception, invalid
from seqattn_tf.serving.models.batching import BatchingParameters
from seqattn_tf.serving.models.engine import Arrays
from seqattn_tf.serving.models.padding import concat_and_pad

# Error codes that are not caused by a single request in a batch. After any other error, each request runs alone.
_NOBODYS_FAULT = frozenset({"CANCELLED", "DEADLINE_EXCEEDED", "INTERNAL", "UNAVAILABLE"})
Outputs = dict[str, np.ndarray]
Record = Callable[[str, Sequence[float], Sequence[int], int], None]
Run = Callable[[Arrays, "float | None"], Outputs]  # inputs, and the time limit in seconds


class Batcher:
    """A pool of threads that run batches: first full ones, then those whose waiting time is over.

    Args:
        parameters: The sizes and time limits.
        record: A function that is called for each run, with the name of the threads, the seconds that each request
            waited, the rows of each request, and the rows of the run.
    """

    def __init__(self, parameters: BatchingParameters, record: Record = lambda pool, seconds, rows, size: None):
        self.parameters = parameters
        self.record = record
        self._changed = threading.Condition()
        self._full: collections.deque[_Batch] = collections.deque()
        # All wait equally long, so the first one is due first.
        self._open: collections.deque[_Batch] = collections.deque()
        self._threads: list[threading.Thread] = []
        self._closed = False

    def queue(self, run: Run) -> Queue:
        """Return a separate queue for a function that runs one signature.

        All inputs and outputs of the function must have rows as their first axis.
        """
        return Queue(self, run)

    def close(self) -> None:
        """End the threads once no batch is left."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def enqueue(self, queue: Queue, parts: Sequence[_Part]) -> None:
        """Add the parts of a request to the batches of a queue: either all of them, or none if the queue is full."""
        largest, limit = self.parameters.largest_run, self.parameters.max_enqueued_batches
        with self._changed:
            if self._closed:
                raise ServingError("UNAVAILABLE", "the server is shutting down")
            free = largest - queue.batches[-1].rows if queue.batches else 0
            enqueued = len(queue.batches)
            if enqueued + len(parts) - (parts[0].rows <= free) > limit:
                raise ServingError(
                    "UNAVAILABLE",
                    "The batch scheduling queue to which this task was submitted is full; currently "
                    f"{enqueued} batches enqueued and max_enqueued_batches is {limit}",
                )
            for part in parts:
                if not queue.batches or queue.batches[-1].rows + part.rows > largest:
                    self._begin(queue)
                batch = queue.batches[-1]
                batch.add(part)
                if batch.rows == largest:
                    self._fill(batch)

    def free_rows(self, queue: Queue) -> int:
        """Return the number of rows that the open batch of a queue still accepts."""
        with self._changed:
            return self.parameters.largest_run - queue.batches[-1].rows if queue.batches else 0

    def _begin(self, queue: Queue) -> None:
        if queue.batches:
            self._fill(queue.batches[-1])
        batch = _Batch(queue, time.monotonic() + self.parameters.batch_timeout_micros / 1e6)
        queue.batches.append(batch)
        self._open.append(batch)
        if not self._threads:
            count = self.parameters.num_batch_threads or usable_cores()
            self._threads = [threading.Thread(target=self._work, name="batching", daemon=True) for _ in range(count)]
            for thread in self._threads:
                thread.start()
        self._changed.notify()

    def _fill(self, batch: _Batch) -> None:
        """Mark a batch that accepts no more rows as full, so that it does not wait."""
        if batch in self._open:
            self._open.remove(batch)
            self._full.append(batch)
            self._changed.notify()

    def _work(self) -> None:
        while (batch := self._next()) is not None:
            batch.run(self.parameters, self.record)
            del batch  # the batch keeps a version of a model in memory

    def _next(self) -> _Batch | None:
        with self._changed:
            while True:
                wait = self._open[0].due - time.monotonic() if self._open else None
                if self._full:
                    batch = self._full.popleft()
                elif wait is not None and wait <= 0:
                    batch = self._open.popleft()
                elif self._closed and not self._open:
                    return None
                else:
                    self._changed.wait(wait)
                    continue
                batch.queue.batches.remove(batch)
                return batch


class Queue:
    """A callable that runs one signature, on batches that may contain rows of several requests."""

    def __init__(self, batcher: Batcher, run: Run):
        self.run = run
        self.batches: list[_Batch] = []  # batches that have not started; only the last one may be open
        self._batcher = batcher

    def __call__(self, inputs: Arrays, timeout: float | None) -> Outputs:
        """Return the outputs for the rows of a request.

        Raises:
            ServingError: INVALID_ARGUMENT for more rows than a batch may have, UNAVAILABLE if the queue is full,
                DEADLINE_EXCEEDED, or the error of the run.
        """
        parameters, rows = self._batcher.parameters, len(next(iter(inputs.values())))
        if rows > parameters.max_batch_size:
            raise invalid(f"Task size {rows} is larger than maximum input batch size {parameters.max_batch_size}")
        end = None if timeout is None else time.monotonic() + timeout
        parts = self._split(inputs, rows, end) if rows > parameters.largest_run else [_Part(inputs, rows, end)]
        self._batcher.enqueue(self, parts)
        try:
            found = [self._rest(part) for part in parts]
        except ServingError:
            for part in parts:
                part.left = True  # the remaining parts need not run
            raise
        if len(found) == 1:
            return found[0]
        if any(array.shape[1:] != found[0][alias].shape[1:] for outputs in found for alias, array in outputs.items()):
            # Outputs are as wide as the widest row of their run, so a common width requires a run of all rows.
            return self.run(inputs, None if end is None else end - time.monotonic())
        return {alias: np.concatenate([outputs[alias] for outputs in found]) for alias in found[0]}

    def _rest(self, part: _Part) -> Outputs:
        """Return the outputs of a part; if another part of its batch may have caused an error, run it alone."""
        outputs = part.wait()
        return _run_together(self.run, [part], self._batcher.parameters) if outputs is None else outputs

    def _split(self, inputs: Arrays, rows: int, end: float | None) -> list[_Part]:
        """Split a request that is too large for one run: the first part fills the open batch, the others follow."""
        largest = self._batcher.parameters.largest_run
        bounds = [0, *range(self._batcher.free_rows(self) or largest, rows, largest), rows]
        return [
            _Part({alias: array[start:stop] for alias, array in inputs.items()}, stop - start, end)
            for start, stop in pairwise(bounds)
        ]


class _Part:
    """Rows of a request that run at once, with a means to wait for their outputs."""

    def __init__(self, inputs: Arrays, rows: int, end: float | None):
        self.inputs, self.rows, self.end = inputs, rows, end
        self.enqueued = time.monotonic()
        self.left = False  # whether the caller has stopped waiting
        self._told = threading.Lock()  # held until there is an outcome; cheaper than an Event
        self._told.acquire()
        self._outcome: Outputs | ServingError | None = None

    def wait(self) -> Outputs | None:
        """Return the outputs, or None if the batch failed with an error that another request may have caused."""
        left = -1 if self.end is None else min(max(self.end - time.monotonic(), 0), threading.TIMEOUT_MAX)
        if not self._told.acquire(timeout=left):
            self.left = True
            raise deadline_exceeded()
        if isinstance(self._outcome, ServingError):
            raise self._outcome
        return self._outcome

    def set_result(self, outcome: Outputs | ServingError | None) -> None:
        """Set the outcome, which ends the wait; must be called exactly once."""
        self._outcome = outcome
        self._told.release()

    def kind(self, padded: bool) -> tuple:
        """Return a key that parts must share in order to run together."""
        return tuple((alias, a.dtype, a.ndim if padded else a.shape[1:]) for alias, a in self.inputs.items())


class _Batch:
    """Parts of requests to one signature that are due at the same time."""

    def __init__(self, queue: Queue, due: float):
        self.queue, self.due = queue, due
        self.rows = 0
        self._parts: list[_Part] = []

    def add(self, part: _Part) -> None:
        self._parts.append(part)
        self.rows += part.rows

    def run(self, parameters: BatchingParameters, record: Record) -> None:
        """Run compatible parts together and set the outcomes of all parts."""
        now = time.monotonic()
        alike: dict[tuple, list[_Part]] = {}
        for part in self._parts:
            if not part.left:
                alike.setdefault(part.kind(parameters.pad_variable_length_inputs), []).append(part)
        for parts in alike.values():
            rows = [part.rows for part in parts]
            waited = [now - part.enqueued for part in parts]
            record(parameters.thread_pool_name, waited, rows, parameters.run_size(sum(rows)))
            try:
                outputs = _run_together(self.queue.run, parts, parameters)
            except Exception as error:
                failure = from_exception(error)
                alone = len(parts) > 1 and failure.code not in _NOBODYS_FAULT
                for part in parts:  # a separate error for each part, because a thread that raises an error modifies it
                    part.set_result(None if alone else ServingError(failure.code, failure.message))
                continue
            stops = accumulate(part.rows for part in parts)
            for part, stop in zip(parts, stops, strict=True):
                part.set_result({alias: array[stop - part.rows : stop] for alias, array in outputs.items()})


def _run_together(run: Run, parts: Sequence[_Part], parameters: BatchingParameters) -> Outputs:
    """Run parts of one kind as a batch, and return the outputs of their rows in the same order."""
    rows = sum(part.rows for part in parts)
    size = parameters.run_size(rows)
    inputs = {alias: concat_and_pad([part.inputs[alias] for part in parts], size - rows) for alias in parts[0].inputs}
    ends = [part.end for part in parts if part.end is not None]
    outputs = run(inputs, max(ends) - time.monotonic() if len(ends) == len(parts) else None)
    for array in outputs.values():
        if not array.ndim:
            raise ServingError("FAILED_PRECONDITION", "Batched output tensor has 0 dimensions")
        if len(array) != size:
            raise ServingError(
                "FAILED_PRECONDITION",
                "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes "
                "of the input tensors",
            )
    return {alias: array[:rows] for alias, array in outputs.items()}
