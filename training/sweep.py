"""Sweeps: the same training with all combinations of some settings, each with several seeds.

    sweeps/translate/
        align=softmax,seed=0/    an ordinary run, and `sweep.log`, what it printed
        align=crf,seed=0/
        sweep.json               which runs are finished, and the commands that they were trained with

Every run is trained by a process of its own, so it can be evaluated, exported and resumed like any other run.
"""

import contextlib
import dataclasses
import fcntl
import itertools
import json
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from tqdm import tqdm

from seqattn_tf.core.atomic_io import write_json
from seqattn_tf.training.interrupts import Stop
from seqattn_tf.training.processes import Runner, run_process
from seqattn_tf.training.runs import Run, epochs_of, find_runs

STATE, LOG = "sweep.json", "sweep.log"
SCHEDULERS = ("local", "ray")
_STOPPED = (75, 130)  # statuses of `seqattn train` after a signal
_POLL = 0.5  # seconds between looks at the progress
_WAIT = 60.0  # seconds to wait for the processes of a sweep that was killed


@dataclasses.dataclass(frozen=True, eq=False)
class Trial:
    """One run of a sweep.

    Args:
        folder: The folder of the run.
        settings: The settings in which the runs differ, by name.
    """

    folder: Path
    settings: Mapping[str, str]

    @property
    def assignments(self) -> list[str]:
        """The settings as `NAME=VALUE`."""
        return [f"{name}={value}" for name, value in self.settings.items()]


@dataclasses.dataclass(frozen=True)
class Failure:
    """A run that ended with an error: its trial, the status of its process, and the last line that it printed."""

    trial: Trial
    status: int
    message: str


def trials(folder: Path, grid: Mapping[str, Sequence[str]], seeds: Sequence[int]) -> list[Trial]:
    """Return a trial for each combination of the values of all settings and a seed.

    >>> [trial.folder.name for trial in trials(Path("sweeps"), {"align": ["softmax", "crf"]}, [0, 1])]
    ['align=softmax,seed=0', 'align=softmax,seed=1', 'align=crf,seed=0', 'align=crf,seed=1']
    """
    if "seed" in grid:
        raise ValueError("grid: expected settings other than seed. Received: seed; use --seeds")
    for name, values in [*grid.items(), ("seeds", seeds)]:
        if not values or len(set(values)) < len(values):
            raise ValueError(f"{name}: expected at least one value, all different. Received: {list(values)}")
    found = []
    for chosen in itertools.product(*grid.values(), map(str, seeds)):
        settings = dict(zip([*grid, "seed"], chosen, strict=True))
        name = ",".join(f"{name}={re.sub(r'[^A-Za-z0-9_.+-]', '_', value)}" for name, value in settings.items())
        found.append(Trial(folder / name, settings))
    if len({trial.folder for trial in found}) < len(found):
        raise ValueError(f"grid: expected values that differ in letters or digits. Received: {dict(grid)}")
    return found


def sweep(
    recipe: str,
    grid: Mapping[str, Sequence[str]],
    seeds: Sequence[int] = (0,),
    *,
    folder: str | Path,
    arguments: Sequence[str] = (),
    epochs: int = 1,
    jobs: int = 1,
    scheduler: str = "local",
    address: str | None = None,
    evaluate: bool = False,
) -> tuple[list[Run], list[Failure]]:
    """Train all runs of a sweep that are not finished, and return all runs and the failures.

    Args:
        recipe: The name of the recipe, or a Python file that defines one.
        grid: The values of each setting to combine.
        seeds: The seeds.
        folder: The folder of the sweep.
        arguments: Further arguments of `seqattn train`, such as `["--data", "pairs.csv", "--set", "units=64"]`.
        epochs: The number of epochs of a run, for the progress bar.
        jobs: The number of runs to train at the same time.
        scheduler: `local`, or `ray` to train on the nodes of a Ray cluster, which need the same paths.
        address: The address of the cluster; by default `RAY_ADDRESS`, or a local cluster on this machine.
        evaluate: Whether to evaluate each run on its test split after training.

    Raises:
        KeyboardInterrupt: If a signal stopped the sweep. The same call resumes it.
    """
    if scheduler not in SCHEDULERS:
        raise ValueError(f"scheduler: expected one of {SCHEDULERS}. Received: {scheduler!r}")
    if jobs < 1:
        raise ValueError(f"jobs: expected a number of at least 1. Received: {jobs}")
    folder = Path(folder).resolve()
    state, chosen = _State(folder), trials(folder, grid, seeds)
    commands = {trial: _command(recipe, trial, arguments, evaluate) for trial in chosen}
    with _only_one(folder) as lock, _runner(scheduler, address, jobs, lock) as run:
        left = [trial for trial in chosen if not state.is_finished(trial, commands[trial])]
        failures = _run_all(run, left, chosen, commands, state, epochs, jobs)
    return find_runs([trial.folder for trial in chosen if (trial.folder / "config.json").is_file()]), failures


def _command(recipe: str, trial: Trial, arguments: Sequence[str], evaluate: bool) -> list[str]:
    own = [word for assignment in trial.assignments for word in ("--set", assignment)]
    test = ["--then-evaluate"] if evaluate else []
    return [*test, "train", recipe, *arguments, "--run", str(trial.folder), *own]


class _State:
    """The runs that are finished, in a file, with the commands that they were trained with."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / STATE

    def is_finished(self, trial: Trial, command: Sequence[str]) -> bool:
        """Return whether a trial has been trained with this command and its model is there."""
        there = (trial.folder / "config.json").is_file()
        return there and self._read().get(trial.folder.name) == list(command)

    def add(self, trial: Trial, command: Sequence[str]) -> None:
        """Store that a trial is finished."""
        write_json(self.path, {**self._read(), trial.folder.name: list(command)})

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}  # every run knows itself whether it is complete; this only saves starting it
        return found if isinstance(found, dict) else {}


@contextlib.contextmanager
def _only_one(folder: Path) -> Iterator[int]:
    """Hold a lock on a sweep, which its processes inherit; wait for those of a sweep that was killed.

    Raises:
        ValueError: If the sweep is running.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        for attempt in itertools.count():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if attempt * _POLL > _WAIT:
                    raise ValueError(f"{folder}: expected a sweep that is not running. Received: it is") from None
                if not attempt:
                    print("waiting for the processes of the last call to save their state ...", file=sys.stderr)
                time.sleep(_POLL)
        yield lock
    finally:
        os.close(lock)


@contextlib.contextmanager
def _runner(scheduler: str, address: str | None, jobs: int, lock: int) -> Iterator[Runner]:
    """Yield a function that runs a command in a process and returns its status."""
    if scheduler == "ray":
        from seqattn_tf.training.sweep_on_ray import ray_runner

        with ray_runner(address) as run:
            yield run
        return
    threads = str(max(1, (os.cpu_count() or 1) // jobs))
    environment = {"TF_NUM_INTRAOP_THREADS": threads, "OMP_NUM_THREADS": threads, **os.environ} if jobs > 1 else None
    yield lambda command, log, stop: run_process(command, log, stop, environment, lock)


def _run_all(
    run: Runner,
    left: Sequence[Trial],
    chosen: Sequence[Trial],
    commands: Mapping[Trial, Sequence[str]],
    state: _State,
    epochs: int,
    jobs: int,
) -> list[Failure]:
    """Train the runs that are left, with a progress bar over the epochs of all runs."""
    failures: list[Failure] = []
    stopping = threading.Event()
    done = {trial: epochs for trial in chosen if trial not in left}

    def train(trial: Trial) -> int | None:
        return None if stopping.is_set() else run(commands[trial], trial.folder / LOG, stopping)

    with (
        Stop() as stop,
        tqdm(total=epochs * len(chosen), initial=sum(done.values()), unit="epoch", smoothing=0, mininterval=1) as bar,
        ThreadPoolExecutor(jobs) as pool,
    ):
        futures: dict[Future[int | None], Trial] = {pool.submit(train, trial): trial for trial in left}
        while futures:
            finished, _ = wait(futures, timeout=_POLL, return_when=FIRST_COMPLETED)
            for future in finished:
                trial = futures.pop(future)
                status = future.result()
                if status == 0:
                    done[trial] = epochs
                    state.add(trial, commands[trial])
                elif status is not None and not (stopping.is_set() and status in _STOPPED):
                    failures.append(Failure(trial, status, _last_line(trial.folder / LOG)))
                    bar.write(f"{trial.folder.name}: {failures[-1].message}", file=sys.stderr)
            if stop.asked:
                stopping.set()
            now = sum(done.get(trial, min(epochs, epochs_of(trial.folder))) for trial in chosen)
            bar.set_postfix_str(f"{len(done)} of {len(chosen)} runs finished", refresh=False)
            bar.update(now - bar.n)
    if stop.asked:
        raise KeyboardInterrupt(f"{len(chosen) - len(done)} runs are left; run the same command again to resume")
    return failures


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.is_file() else []
    return lines[-1] if lines else "no output"
