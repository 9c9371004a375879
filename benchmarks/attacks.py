"""The embedded server under attack: how long probes and requests of polite clients take meanwhile, and its memory.

    ONLY="churn numbers" python -m benchmarks attacks    # some of them

The server runs with `ulimit -n 1024`, its default limits, and a model that does almost nothing. Each attack runs in a
process of its own (see `_attacks.py`). Targets: no probe takes 100 ms or more, no request 1 s or more, and memory stays
within 300 MB of what it was before.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tensorflow as tf
import trustme
from tensorflow_serving.apis import predict_pb2

from benchmarks._attacks import ATTACKS
from benchmarks._watch import Watch

SECONDS = 6.0
PROBE, REQUEST, MEGABYTES = 0.1, 1.0, 300
BODY = {"instances": [1.0]}
TOKEN = "a-token"


def save_model(folder: Path) -> None:
    """Save a model that halves numbers, returns many of them, or keeps a core busy."""

    class Half(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
        def half(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"y": x / 2 + 2}

        @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="count")])
        def fill(self, count: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"y": tf.fill([count], 1 / 3)}

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="seconds")])
        def spin(self, seconds: tf.Tensor) -> dict[str, tf.Tensor]:
            end = tf.timestamp() + tf.cast(seconds[0], tf.float64)
            turns = tf.while_loop(lambda _: tf.timestamp() < end, lambda turn: turn + 1, [tf.constant(0, tf.int64)])
            return {"turns": tf.fill(tf.shape(seconds), turns[0])}

    half = Half()
    signatures = {"serving_default": half.half, "fill": half.fill, "spin": half.spin}
    tf.saved_model.save(half, str(folder / "half" / "1"), signatures=signatures)


def message() -> bytes:
    """Return an encoded request to the model."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "half"
    request.inputs["x"].CopyFrom(tf.make_tensor_proto([1.0], tf.float32))
    return request.SerializeToString()


def write_tls(folder: Path) -> tuple[Path, bytes]:
    """Write an SSL config, and return its path and the certificate of its authority."""
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    key, certificate = issued.private_key_pem.bytes().decode(), issued.cert_chain_pems[0].bytes().decode()
    path = folder / "ssl.config"
    escaped = [text.replace("\n", "\\n") for text in (key, certificate)]
    path.write_text(f'server_key: "{escaped[0]}" server_cert: "{escaped[1]}"')
    return path, authority.cert_pem.bytes()


def start(folder: Path, *flags: str) -> tuple[subprocess.Popen, int, int]:
    """Start a server with at most 1024 file descriptors, and return it with its ports."""
    serve = (
        f'"{sys.executable}" -m seqattn_tf.cli serve "{folder}" --embedded --rest_api_port=0 --port=0 {" ".join(flags)}'
    )
    process = subprocess.Popen(
        ["bash", "-c", f"ulimit -n 1024; exec {serve}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    ports = {}
    for line in process.stdout:
        kind, _, rest = line.strip().partition(" ")
        if kind in ("REST", "gRPC"):
            ports[kind] = int(rest.rpartition(":")[2])
        if kind == "model":
            return process, ports["REST"], ports["gRPC"]
    raise RuntimeError("the server did not start")


def attack(
    name: str, process: int, rest: int, grpc_port: int, token: str = "", sent: str = "", tls: bytes = b""
) -> Watch:
    """Watch a server during an attack, which sends a token or none."""
    watch = Watch(process, rest, grpc_port, message(), BODY, token, tls)
    command = [sys.executable, "-m", "benchmarks._attacks", name, str(SECONDS), str(rest), str(grpc_port), str(rest)]
    subprocess.run([*command, *([sent] if sent else [])], check=True, stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    watch.stop()
    return watch


def main() -> None:
    """Print what polite clients see during each attack."""
    names = os.environ.get("ONLY", "").split() or list(ATTACKS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        save_model(folder / "models")
        (folder / "token").write_text(TOKEN)
        config, certificate = write_tls(folder)
        servers = [
            ("", [], [name for name in names if name != "slow_tls"], "", b""),
            (
                " with a token",
                [f"--bearer_token_file={folder / 'token'}"],
                [name for name in names if "silent" in name],
                TOKEN,
                b"",
            ),
            (" with TLS", [f"--ssl_config_file={config}"], [name for name in names if "tls" in name], "", certificate),
        ]
        print(
            f"{'attack':<34} {'probe':>9} {'request':>9} {'gRPC probe':>11} {'gRPC request':>13} {'MB more':>8}  faults"
        )
        for label, flags, chosen, token, tls in servers:
            if not chosen:
                continue
            process, rest, grpc_port = start(folder / "models", *flags)
            try:
                for name in chosen:
                    for sent in dict.fromkeys(("", token)):
                        watch = attack(name, process.pid, rest, grpc_port, token, sent, tls)
                        show(name + label + (", not sent" if token and not sent else ""), watch)
            finally:
                process.terminate()
                process.wait()


def show(name: str, watch: Watch) -> None:
    """Print one line, marked if it misses a target."""
    times = [watch.slowest(kind) for kind in ("probe", "request", "gRPC probe", "gRPC request")]
    more = watch.megabytes - watch.idle
    met = (
        max(times[0], times[2]) < PROBE and max(times[1], times[3]) < REQUEST and more < MEGABYTES and not watch.faults
    )
    cells = [f"{seconds * 1e3:6.0f} ms" for seconds in times]
    print(
        f"{name:<34} {cells[0]:>9} {cells[1]:>9} {cells[2]:>11} {cells[3]:>13} {more:8.0f}  {len(watch.faults)}"
        f"{'' if met else '   MISSED ' + '; '.join(watch.faults[:2])}",
        flush=True,
    )


if __name__ == "__main__":
    main()
