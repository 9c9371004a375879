"""What something takes of memory."""

from collections.abc import Callable
from pathlib import Path

import tensorflow as tf


def peak_of(asked: Callable[[], object]) -> str:
    """Whether something is answered or refused, and how much more memory its peak takes, where the system tells."""
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")

    def peak() -> float:
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1e3

    told = status.is_file() and clear.is_file()
    if told:
        clear.write_text("5")
    before = peak() if told else 0.0
    try:
        asked()
        said = "read"
    except (ValueError, tf.errors.InvalidArgumentError):
        said = "refused"
    return (
        f"{said}, {peak() - before:,.0f} MB more at the peak" if told else f"{said}, memory is not told by this system"
    )
