"""The time and the memory that commands take, compared with the import of TensorFlow alone."""

import os
import signal
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

from seqattn_tf.presets import presets

REPEATS = 3
SEQATTN = [sys.executable, "-m", "seqattn_tf.cli"]
COMMANDS = {
    'python -c "import tensorflow"': [sys.executable, "-c", "import tensorflow"],
    "seqattn query pronounce hello": [*SEQATTN, "query", "pronounce", "hello"],
    "  with --engine keras": [*SEQATTN, "query", "pronounce", "hello", "--engine", "keras"],
    "seqattn recipes": [*SEQATTN, "recipes"],
    "seqattn train --help": [*SEQATTN, "train", "--help"],
}


def measure(command: list[str]) -> tuple[float, float]:
    """Return the CPU seconds of a command and its peak memory in MB."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


SERVERS = {
    "seqattn serve": [*SEQATTN, "serve"],
    "  with --engine tensorflow": [*SEQATTN, "serve", "--engine", "tensorflow"],  # of exports that exist already
}


class Served(NamedTuple):
    """How soon the eight presets are served."""

    opened: float  # seconds until the ports are open
    ready: float  # seconds until all models answer
    cpu: float
    megabytes: float


def measure_server(command: list[str]) -> Served:
    """Start a server, wait until all models are ready, and stop it."""
    start, opened, models = time.perf_counter(), 0.0, 0
    process = subprocess.Popen(
        [*command, "--rest_api_port", "0", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    while not opened or models < len(presets()):
        line = process.stdout.readline()
        if not line:
            raise subprocess.CalledProcessError(process.wait(), command)
        passed = time.perf_counter() - start
        opened = passed if line.startswith("gRPC") else opened
        models += line.startswith("model ")
    process.send_signal(signal.SIGTERM)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Served(opened, passed, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def main() -> None:
    """Print the medians of each command, and its time in relation to the first."""
    rounds = [{name: measure(command) for name, command in COMMANDS.items()} for _ in range(REPEATS)]
    first = 0.0
    for name in COMMANDS:
        seconds, megabytes = (statistics.median(values) for values in zip(*(one[name] for one in rounds), strict=True))
        first = first or seconds
        print(f"{name:<32} {seconds:6.2f} CPU s {megabytes:6.0f} MB   {seconds / first:5.2f}")
    measure_server(SERVERS["  with --engine tensorflow"])  # exports the models, if this has not been done
    served = [{name: measure_server(command) for name, command in SERVERS.items()} for _ in range(REPEATS)]
    for name in SERVERS:
        one = Served(*(statistics.median(values) for values in zip(*(turn[name] for turn in served), strict=True)))
        print(
            f"{name:<32} ports open after {one.opened:.1f} s, all ready after {one.ready:.1f} s"
            f" {one.cpu:6.2f} CPU s {one.megabytes:6.0f} MB"
        )
