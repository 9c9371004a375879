"""What something takes of memory."""

from collections.abc import Callable
from pathlib import Path

import tensorflow as tf

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _peak() -> float:
    return next(int(line.split()[1]) for line in STATUS.read_text().splitlines() if line.startswith("VmHWM")) / 1e3


def more_at_peak(asked: Callable[[], object]) -> int | None:
    """How many megabytes more than before something takes at its peak; None where the system does not tell."""
    told = STATUS.is_file() and CLEAR.is_file()
    if told:
        CLEAR.write_text("5")
    before = _peak() if told else 0.0
    asked()
    return round(_peak() - before) if told else None


def peak_of(asked: Callable[[], object]) -> str:
    """Whether something is answered or refused, and how much more memory its peak takes, where the system tells."""
    said = "read"

    def ask() -> None:
        nonlocal said
        try:
            asked()
        except (ValueError, tf.errors.InvalidArgumentError):
            said = "refused"

    more = more_at_peak(ask)
    return f"{said}, memory is not told by this system" if more is None else f"{said}, {more:,} MB more at the peak"
