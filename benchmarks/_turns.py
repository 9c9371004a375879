"""Measuring in turns: what else the machine does hits all alike."""

import statistics
import time
from collections.abc import Callable

ROUNDS, ROUND_SECONDS = 9, 0.2
PAUSE = 0.25  # longer than OpenMP's threads go on spinning after a turn, on the cores of whoever is next


def in_turns(
    ways: dict[str, Callable[[], object]],
    clock: Callable[[], float] = time.perf_counter,
    rounds: int = ROUNDS,
    seconds: float = ROUND_SECONDS,
) -> dict[str, float]:
    """Milliseconds of each way: the median over rounds in which everyone has a turn of that many seconds."""
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
    """One line: everybody's milliseconds, and how many times the first one's."""
    first, *others = times
    rest = "".join(f"   {name} {times[name]:.3g} ms ({times[name] / times[first]:.2f}x)" for name in others)
    print(f"{label:<30} {first} {times[first]:.3g} ms{rest}", flush=True)
