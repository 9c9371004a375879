"""How a process that serves is told to stop."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM or SIGINT sets, while the block runs. For the main thread of a process.

    Wait for it with a timeout, again and again: a signal that another thread took does not end the wait of this one.
    """
    told = threading.Event()
    previous = {number: signal.signal(number, lambda *_: told.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield told
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
