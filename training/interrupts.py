"""Deferred handling of signals: training stops at a safe moment."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Stopped(Exception):
    """The exception raised after a signal has stopped training and the state is saved; `number` is the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Stop:
    """A context in which SIGTERM and Ctrl-C wait until training handles them; a second signal ends the process.

    >>> with Stop() as stop:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     stop.asked
    15
    """

    signals = (signal.SIGTERM, signal.SIGINT)

    def __init__(self) -> None:
        self.asked, self.resting = 0, False
        self.before: dict[int, Any] = {}

    def __enter__(self) -> "Stop":
        if threading.current_thread() is threading.main_thread():  # only the main thread may set signal handlers
            self.before = {number: signal.signal(number, self._heed) for number in self.signals}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _heed(self, number: int, frame: Any) -> None:
        if self.asked:
            signal.signal(number, self.before[number])
            signal.raise_signal(number)
        self.asked = number
        if self.resting:
            self.end()

    def end(self) -> None:
        """Raise `Stopped` to stop training."""
        raise Stopped(self.asked or signal.SIGTERM)

    @contextlib.contextmanager
    def rest(self) -> Iterator[None]:
        """Handle signals immediately inside this context, in which no training step runs."""
        if self.asked:
            self.end()
        self.resting = True
        try:
            yield
        finally:
            self.resting = False
