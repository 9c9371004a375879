"""Signals that stop a serving process."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """Return an event that SIGTERM or SIGINT sets during the block. Only for the main thread of a process.

    Wait for the event in a loop with a timeout: a signal that reaches another thread does not interrupt the wait.
    """
    told = threading.Event()
    previous = {number: signal.signal(number, lambda *_: told.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield told
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
