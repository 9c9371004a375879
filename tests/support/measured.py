"""A child process that reads values with a field and measures the memory and CPU time of each call.

Run as a script, it answers pickled requests on its standard input; `Child` is the other end. TensorFlow is imported
once, and every graph is traced and run on a valid value before the first measurement.
"""

import os
import pickle
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from seqattn_tf.inputs import graph_field

TESTS = Path(__file__).resolve().parent.parent


class Cost(NamedTuple):
    """The cost of one call."""

    error: str  # empty on success
    megabytes: float  # peak of the resident memory, relative to that before
    seconds: float  # of all CPUs together


class Child:
    """A process for all tests that share it."""

    def __init__(self):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )

    def read(self, half, name, values, patience=60.0) -> Cost:
        """Return the cost of reading values with a field of `support.hostile.FIELDS`; `half` is "plain" or "graph"."""
        watch = threading.Timer(patience, self.process.kill)
        watch.start()
        try:
            pickle.dump((half, name, values), self.process.stdin)
            self.process.stdin.flush()
            return Cost(*pickle.load(self.process.stdout))
        except (EOFError, BrokenPipeError):
            raise TimeoutError(f"expected an answer within {patience:g} s. Received: none") from None
        finally:
            watch.cancel()

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def _memory(line):
    return int(re.search(rf"{line}:\s+(\d+)", Path("/proc/self/status").read_text()).group(1)) / 1024


def _readers(fields):
    import tensorflow as tf

    made = {}

    def plain(name, values):
        for value in values:
            fields[name].arrays(value)

    def graph(name, values):
        if name not in made:
            strings = [tf.TensorSpec([None], tf.string)]
            made[name] = tf.function(graph_field(fields[name], name).read, strings, autograph=False)
        made[name](tf.constant(values))

    return {"plain": plain, "graph": graph}


def _answer():
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    from support.hostile import FIELDS

    readers, warm = _readers(FIELDS), set()
    while True:
        try:
            half, name, values = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        if (half, name) not in warm:
            warm.add((half, name))
            readers[half](name, [FIELDS[name].raw(value) for value in FIELDS[name].sample_inputs(2)])
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak to the current resident memory
        before, began, error = _memory("VmRSS"), time.process_time(), ""
        try:
            readers[half](name, values)
        except Exception as raised:
            error = str(raised) or repr(raised)
        pickle.dump((error, _memory("VmHWM") - before, time.process_time() - began), answers)
        answers.flush()


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    _answer()
