"""Measurement of peak memory."""

from collections.abc import Callable
from pathlib import Path

import tensorflow as tf

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _peak() -> float:
    return next(int(line.split()[1]) for line in STATUS.read_text().splitlines() if line.startswith("VmHWM")) / 1e3


def more_at_peak(asked: Callable[[], object]) -> int | None:
    """Return the additional peak memory of a call in megabytes, or None if the system does not report it."""
    told = STATUS.is_file() and CLEAR.is_file()
    if told:
        CLEAR.write_text("5")
    before = _peak() if told else 0.0
    asked()
    return round(_peak() - before) if told else None


def peak_of(asked: Callable[[], object]) -> str:
    """Return whether a call reads or refuses its input, and its additional peak memory if the system reports it."""
    said = "read"

    def ask() -> None:
        nonlocal said
        try:
            asked()
        except (ValueError, tf.errors.InvalidArgumentError):
            said = "refused"

    more = more_at_peak(ask)
    return f"{said}, memory is not told by this system" if more is None else f"{said}, {more:,} MB more at the peak"
