"""Measurements in turns, so that other load on the machine affects all candidates alike."""

import statistics
import time
from collections.abc import Callable

ROUNDS, ROUND_SECONDS = 9, 0.2
PAUSE = 0.25  # longer than OpenMP threads keep spinning on the cores after a turn


def in_turns(
    ways: dict[str, Callable[[], object]],
    clock: Callable[[], float] = time.perf_counter,
    rounds: int = ROUNDS,
    seconds: float = ROUND_SECONDS,
) -> dict[str, float]:
    """Return the milliseconds per call of each way: the median over rounds with a turn of some seconds for each."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()
    for _ in range(rounds):
        for name, way in ways.items():
            time.sleep(PAUSE)
            way()
            began, repeats = clock(), 0
            while repeats == 0 or clock() - began < seconds:
                way()
                repeats += 1
            times[name].append(1e3 * (clock() - began) / repeats)
    return {name: statistics.median(found) for name, found in times.items()}


def report(label: str, times: dict[str, float]) -> None:
    """Print one line with the milliseconds of each way, and their ratio to the first."""
    first, *others = times
    rest = "".join(f"   {name} {times[name]:.3g} ms ({times[name] / times[first]:.2f}x)" for name in others)
    print(f"{label:<30} {first} {times[first]:.3g} ms{rest}", flush=True)
