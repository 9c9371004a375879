"""The number of cores that this process may use, in a container too."""

from __future__ import annotations

import math
import os
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # "max 100000", or the microseconds of CPU time per period, and the period


def usable_cores(quota: Path = _QUOTA) -> int:
    """Return the number of cores by the affinity of the process and the quota of its control group; at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        allowed, period = quota.read_text().split()
        cores = min(cores, math.ceil(int(allowed) / int(period)))
    except (OSError, ValueError):  # no control groups, or no quota
        pass
    return max(1, cores)
