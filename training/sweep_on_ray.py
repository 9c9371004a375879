"""The runs of a sweep as tasks of a Ray cluster, whose nodes need the same Python environment and the same paths."""

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from seqattn_tf.core.ray_cluster import connected
from seqattn_tf.training.processes import Runner, run_process

_POLL = 0.5  # seconds between looks at a task


def _task(command: Sequence[str], log: str, folder: str) -> int:
    """Run a command on a node, in the working folder of the sweep."""
    os.chdir(folder)
    return run_process(command, Path(log), threading.Event())


@contextlib.contextmanager
def ray_runner(address: str | None) -> Iterator[Runner]:
    """Connect to a cluster and yield a function that runs a command on one of its nodes and returns its status."""
    with connected(address) as ray:
        remote = ray.remote(num_cpus=1, max_retries=2)(_task)

        def run(command: Sequence[str], log: Path, stop: threading.Event) -> int:
            task = remote.remote(list(command), str(log), os.getcwd())
            ready: list[Any] = []
            while not ready:
                ready, _ = ray.wait([task], timeout=_POLL)
                if stop.is_set() and not ready:
                    ray.cancel(task, force=True)  # its process sees the end of its input and saves its state
                    return 75
            try:
                return ray.get(task)
            except ray.exceptions.RayError as error:
                log.parent.mkdir(parents=True, exist_ok=True)
                with log.open("a", encoding="utf-8") as output:
                    output.write(f"\nRay: {type(error).__name__}: {str(error).strip().splitlines()[-1]}\n")
                return 1

        yield run
