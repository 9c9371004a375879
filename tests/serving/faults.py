"""Helpers of the fault tests: a server process, clients that distinguish cut responses from missing ones, and load."""

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import tensorflow as tf
from serving_toys import LIMIT, http_request, install, until
from support import forked
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

SECRETS = re.compile(
    r"Traceback|File \"|\.py\b|__inference|\{\{(?:function_)?node|\[Op:|site-packages"
    r"|(?<![\w.:/])/(?:home|tmp|usr|root|work|var|opt|private|etc|mnt)\b"
)
SERVERS_OWN = "a reason of the server's own"  # logged for an unexpected error


def check_error(text, *folders):
    """Check that an error message contains no stack trace and no local path."""
    found = SECRETS.search(text)
    assert not found, f"{found.group()!r} in {text[:500]!r}"
    for folder in folders:
        assert str(folder) not in text


class Model(tf.Module):
    """A model that returns its version, a long output, or an output after some time."""

    def __init__(self, version, megabytes=0):
        super().__init__()
        self.version = tf.Variable(version)
        self.ballast = tf.Variable(tf.ones([megabytes, 2**18]))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def tell(self, text):
        longest = tf.reduce_max(tf.concat([[0], tf.strings.length(text)], 0))
        with tf.control_dependencies([tf.debugging.Assert(longest <= LIMIT, ["expected a short text"])]):
            return {"text": tf.identity(text), "version": tf.fill(tf.shape(text), self.version)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, name="kilobytes")])
    def long(self, kilobytes):
        answer = tf.strings.reduce_join(tf.fill([kilobytes[0]], "x" * 1024))
        return {"answer": tf.fill(tf.shape(kilobytes), answer)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="seconds")])
    def spin(self, seconds):
        end = tf.timestamp() + tf.cast(seconds[0], tf.float64)
        turns = tf.while_loop(lambda _: tf.timestamp() < end, lambda turn: turn + 1, [tf.constant(0, tf.int64)])
        return {"turns": tf.fill(tf.shape(seconds), turns[0])}


def export(version, path, megabytes=0):
    model = Model(version, megabytes)
    signatures = {"serving_default": model.tell, "long": model.long, "spin": model.spin}
    tf.saved_model.save(model, str(path), signatures=signatures)


class ServerProcess:
    """The embedded server as a separate process that can be inspected and killed."""

    def __init__(self, folder, *flags, rest_port=0, grpc_port=0):
        command = [sys.executable, "-m", "seqattn_tf.cli", "serve", str(folder), "--embedded"]
        command += [f"--rest_api_port={rest_port}", f"--port={grpc_port}", "--file_system_poll_wait_seconds=0.05"]
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  open for as long as the process
        self.process = forked.Popen(
            command + list(flags),
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            # A slow run occupies one of these threads, and small machines have only few of them.
            env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_NUM_INTEROP_THREADS": "8"},
        )
        told = {}
        while "model" not in told:
            line = self.process.stdout.readline()
            assert line, self.log
            kind, _, rest = line.partition(" ")
            told[kind] = rest.strip()
        assert told["page"] == f"{told['REST']}/"
        self.models = told["model"]
        self.rest_url = told["REST"]
        self.grpc_address = told["gRPC"].removeprefix("grpc://")

    @property
    def log(self):
        self._log.seek(0)
        return self._log.read()

    @property
    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    @property
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    @property
    def resident_mb(self):
        return resident_mb(self.process.pid)

    @property
    def cpu_seconds(self):
        user, system = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self._log.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def reload(server, export, root, name, version):
    """Install version `version`, remove the previous one, and wait for both."""
    bring(server, export, root, name, version)
    shutil.rmtree(root / name / str(version - 1))
    until(lambda: '"END"' in status_of(server, name, version - 1))


def bring(server, export, root, name, version=1):
    """Install a version and wait until it is served."""
    install(export, root / name, version)
    until(lambda: '"AVAILABLE"' in status_of(server, name, version))


def status_of(server, name, version):
    """Return the status of a version as JSON; empty if there is none."""
    status, _, text = http_request(server.rest_url, "GET", f"/v1/models/{name}/versions/{version}")
    check_error(text)
    return text if status == 200 else ""


def rest_address(server):
    host, _, port = server.rest_url.removeprefix("http://").partition(":")
    return host, int(port)


def resident_mb(pid="self"):
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class NoAnswer(Exception):
    """The server did not accept the request: it did not send a single byte."""


class CutAnswer(Exception):
    """A response started but is incomplete."""


class Refused(Exception):
    """An error response: an HTTP status, or the name of a gRPC code."""

    def __init__(self, code, message):
        super().__init__(f"{code} {message}")
        check_error(message)
        self.code = code


class Wire:
    """A socket for raw HTTP. Responses are complete; otherwise one of the errors above is raised."""

    def __init__(self, address, receive_buffer=0):
        self.socket = socket.socket()
        self.socket.settimeout(30)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            self.socket.connect(address)
        except OSError as error:
            self.close()
            raise NoAnswer(repr(error)) from error
        self.sent_at = float("inf")
        self._bytes = b""

    def send(self, data):
        """Send as much as the server accepts; it may close the connection before."""
        with contextlib.suppress(OSError):
            self.socket.sendall(data)
            self.sent_at = time.monotonic()

    def receive(self):
        """Return status and text of the next response."""
        while b"\r\n\r\n" not in self._bytes:
            self._more()
        head, _, self._bytes = self._bytes.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        size = int(length[1]) if length else 0
        while len(self._bytes) < size:
            self._more(head)
        body, self._bytes = self._bytes[:size], self._bytes[size:]
        return status, body.decode()

    def ask(self, request):
        self.send(request)
        return self.receive()

    def at_end(self):
        """Return whether the server has closed the connection without sending anything else."""
        try:
            return not self._bytes and not self.socket.recv(1)
        except ConnectionError:
            return True

    def _more(self, head=b""):
        try:
            piece = self.socket.recv(1 << 20)
        except ConnectionError:
            piece = b""
        if not piece:
            raise CutAnswer(head + self._bytes) if head or self._bytes else NoAnswer("closed")
        self._bytes += piece

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def http(body=b"", path="/v1/models/toy:predict", method="POST", length=None, more=""):
    """Return the bytes of a request; `length` overrides the length of its body."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    length = len(raw) if length is None else length
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{more}\r\n"
    return head.encode() + raw


def predict_request(model, inputs, signature="serving_default"):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.model_spec.signature_name = signature
    for alias, value in inputs.items():
        request.inputs[alias].CopyFrom(tf.make_tensor_proto(value))
    return request


class RestAsker:
    """Queries the version of a `Model` over a persistent connection."""

    def __init__(self, server, model):
        self._path = f"/v1/models/{model}:predict"
        self._wire = Wire(rest_address(server))
        self.sent_at = float("inf")

    def versions(self, texts):
        self.sent_at = float("inf")
        self._wire.send(http({"instances": texts}, self._path))
        self.sent_at = self._wire.sent_at
        status, text = self._wire.receive()
        if status != 200:
            raise Refused(status, text)
        rows = json.loads(text)["predictions"]
        assert [row["text"] for row in rows] == texts
        return [row["version"] for row in rows]

    def close(self):
        self._wire.close()


class GrpcAsker:
    """Queries the version of a `Model` over a separate gRPC connection."""

    def __init__(self, server, model):
        self._channel = channel(server)
        self._stub = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._model = model
        self._requests = {}  # requests are cached, so that the load is that of the server rather than ours
        self.sent_at = float("inf")

    def versions(self, texts):
        key = tuple(texts)
        if key not in self._requests:
            self._requests[key] = predict_request(self._model, {"text": texts})
        self.sent_at = time.monotonic()  # approximate, because gRPC does not report it
        try:
            response = self._stub.Predict(self._requests[key], timeout=60)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.UNAVAILABLE:
                raise NoAnswer(error.details()) from error
            raise Refused(error.code().name, error.details()) from error
        assert [text.decode() for text in response.outputs["text"].string_val] == texts
        told = list(response.outputs["version"].int_val)
        assert set(told) == {response.model_spec.version.value}
        return told

    def close(self):
        self._channel.close()


class ClientAsker:
    """Queries the version of a `Model` with one of our clients."""

    def __init__(self, client, model):
        self._client, self._model = client, model

    def versions(self, texts):
        outputs = self._client.predict(self._model, {"text": texts})
        assert outputs["text"].tolist() == texts
        return outputs["version"].tolist()

    def close(self):
        self._client.close()


def channel(server, **options):
    """Return a separate connection, because channels of a process otherwise share one."""
    own = {"grpc.use_local_subchannel_pool": 1, "grpc.max_receive_message_length": -1} | options
    return grpc.insecure_channel(server.grpc_address, list(own.items()))


class Load:
    """Sends requests from one thread per asker during the block. Versions must be consistent and never decrease.

    Args:
        askers: Clients with `versions(texts)`.
        pace: The number of seconds between the requests of one asker; 0 for no pause.
    """

    def __init__(self, *askers, pace=0.0):
        self._askers = askers
        self._pace = pace
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(asker,)) for asker in askers]
        self.seconds = []  # of each request; several threads append to it
        self.seen = set()
        self.faults = []

    def _run(self, asker):
        last, count = 0, 0
        while not self._over.is_set():
            count += 1
            texts = [f"{count % 12} {row}" for row in range(1 + count % 3)]
            start = time.monotonic()
            try:
                told = asker.versions(texts)
                assert len(set(told)) == 1, f"mixed versions {told}"
                assert told[0] >= last, f"version {told[0]} after {last}"
            except Exception as error:
                self.faults.append((asker, error))
                return
            self.seconds.append(time.monotonic() - start)
            self.seen.add(told[0])
            last = told[0]
            if self._pace:
                self._over.wait(self._pace)

    def wait_for(self, count, seconds=120):
        until(lambda: len(self.seconds) >= count or self.faults, seconds)

    def finish(self):
        """Wait until every thread has finished its request."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def __str__(self):
        return f"{len(self.seconds)} requests, p50 {self.quantile(0.5):.1f} ms, p99 {self.quantile(0.99):.1f} ms"

    def quantile(self, part):
        """Return a quantile of the durations in milliseconds."""
        ordered = sorted(self.seconds)
        return ordered[min(int(part * len(ordered)), len(ordered) - 1)] * 1000

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception):
        self.finish()
        for asker in self._askers:
            asker.close()


MANY = [f"{row}" for row in range(300)]
MIXTURE = [  # body, path, HTTP status, gRPC request, its code; ten valid requests for each invalid or large one
    *[({"instances": ["a"]}, "steady", 200, {"text": ["a"]}, "OK")] * 10,
    ({"instances": MANY}, "steady", 200, {"text": MANY}, "OK"),
    ({"instances": ["x" * 100_000]}, "steady", 400, {"text": ["x" * 100_000]}, "INVALID_ARGUMENT"),
    ({"instances": ["a"]}, "nobody", 404, {"text": ["a"]}, "NOT_FOUND"),
    ({"instances": [1]}, "steady", 400, {"text": [1]}, "INVALID_ARGUMENT"),
    (b'{"instances": ["a"', "steady", 400, {"no": ["a"]}, "INVALID_ARGUMENT"),
]


def mixed_load(server, count, threads=2):
    """Send `count` requests of every kind in REST and gRPC, and check the responses."""
    each = count // (2 * threads)
    steps = list(range(len(MIXTURE)))
    requests = [predict_request(model, inputs) for _, model, _, inputs, _ in MIXTURE]
    bodies = [http(body, f"/v1/models/{model}:predict") for body, model, *_ in MIXTURE]

    def by_rest():
        with Wire(rest_address(server)) as wire:
            for step in itertools.islice(itertools.cycle(steps), each):
                status, text = wire.ask(bodies[step])
                assert status == MIXTURE[step][2], text

    def by_grpc():
        with channel(server) as own:
            predict = prediction_service_pb2_grpc.PredictionServiceStub(own).Predict
            for step in itertools.islice(itertools.cycle(steps), each):
                call = predict.future(requests[step])
                assert call.code().name == MIXTURE[step][4], call.details()

    with ThreadPoolExecutor(2 * threads) as pool:
        for asking in [pool.submit(ask) for ask in (by_rest, by_grpc) for _ in range(threads)]:
            asking.result()
