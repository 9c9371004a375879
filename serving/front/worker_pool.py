"""Threads that work for clients in turn, so that one client with many requests delays only itself."""

from __future__ import annotations

import collections
import logging
import threading
from collections.abc import Callable

from seqattn_tf.serving.models.denormals import flush_denormals

LOG = logging.getLogger(__name__)


class WorkerPool:
    """A pool of threads with one queue for each client; the threads take from the queues in turn.

    Args:
        threads: The number of threads; they start when they are first needed.
        name: The name of the threads.
    """

    def __init__(self, threads: int, name: str):
        self._limit = threads
        self._name = name
        self._changed = threading.Condition()
        self._queues: collections.OrderedDict[str, collections.deque[Callable[[], object]]] = collections.OrderedDict()
        self._started = 0
        self._idle = 0
        self._waiting = 0
        self._closed = False

    @property
    def waiting(self) -> int:
        """The number of functions that no thread has started."""
        return self._waiting

    def submit(self, client: str, work: Callable[[], object]) -> None:
        """Add work for a client; it must not raise."""
        with self._changed:
            self._queues.setdefault(client, collections.deque()).append(work)
            self._waiting += 1
            if self._waiting > self._idle and self._started < self._limit:
                self._started += 1
                threading.Thread(target=self._work, name=self._name, daemon=True).start()
            else:
                self._changed.notify()

    def close(self) -> None:
        """End the threads once no work is left."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _work(self) -> None:
        flush_denormals()
        while (work := self._next()) is not None:
            try:
                work()
            except Exception:
                LOG.exception("a worker failed")
            del work  # it may keep a model in memory

    def _next(self) -> Callable[[], object] | None:
        with self._changed:
            while not self._queues:
                if self._closed:
                    return None
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
            client, queue = self._queues.popitem(last=False)
            work = queue.popleft()
            self._waiting -= 1
            if queue:
                self._queues[client] = queue  # at the end: other clients come first
            return work
