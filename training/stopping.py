"""Signals that end a training: heeded where nothing is half done."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Stopped(Exception):
    """A training was told to end, and has saved itself; `number` is that of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Stop:
    """While it is open, SIGTERM and Ctrl-C wait until the training heeds them; a second one ends the process at once.

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
        if threading.current_thread() is threading.main_thread():  # no other may
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
        """End the training."""
        raise Stopped(self.asked or signal.SIGTERM)

    @contextlib.contextmanager
    def rest(self) -> Iterator[None]:
        """A stretch in which the training stands still: here a signal is heeded at once."""
        if self.asked:
            self.end()
        self.resting = True
        try:
            yield
        finally:
            self.resting = False
