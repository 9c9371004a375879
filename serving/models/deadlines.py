"""Stops computations that outlive the time their client gave them: one thread watches all of them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator


class Deadlines:
    """Calls back when a limit has passed while its block still runs.

    >>> with Deadlines().limit(60, print):
    ...     pass
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: dict[int, tuple[float, Callable[[], None]]] = {}
        self._thread: threading.Thread | None = None
        self._next_look = float("inf")
        self._count = 0

    @contextlib.contextmanager
    def limit(self, seconds: float, expired: Callable[[], None]) -> Iterator[None]:
        """Calls `expired` once, from another thread, if the block takes longer than `seconds`."""
        due = time.monotonic() + seconds
        with self._changed:
            self._count += 1
            key = self._count
            self._running[key] = (due, expired)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="deadlines", daemon=True)
                self._thread.start()
            elif due < self._next_look:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._running.pop(key, None)

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for key in [key for key, (due, _) in self._running.items() if due <= now]:
                    self._running.pop(key)[1]()
                self._next_look = min((due for due, _ in self._running.values()), default=float("inf"))
                self._changed.wait(min(max(self._next_look - now, 0.0), threading.TIMEOUT_MAX))
