"""A tiny SavedModel with a signature for each behaviour, and raw ways to talk to a server."""

import http.client
import json
import os
import shutil
import time
from pathlib import Path

import tensorflow as tf

from seqattn_tf.serving.server import ServerConfig

LIMIT = 64


def _spec(shape, dtype, name):
    return tf.TensorSpec(shape, dtype, name=name)


class Toy(tf.Module):
    def __init__(self, version):
        super().__init__()
        self.version = tf.Variable(version)

    def _versions(self, like):
        return tf.fill(tf.shape(like), self.version)

    @tf.function(input_signature=[_spec([None], tf.string, "text")])
    def shout(self, text):
        length = tf.strings.length(text)
        longest = tf.reduce_max(tf.concat([[0], length], 0))
        message = ["text: expected at most 64 symbols, received", longest]
        with tf.control_dependencies([tf.debugging.Assert(longest <= LIMIT, message)]):
            upper = tf.strings.upper(text)
        return {
            "upper": upper,
            "score": tf.cast(length, tf.float32) / 10,
            "raw_bytes": text,
            "version": self._versions(text),
        }

    @tf.function(input_signature=[_spec([None, 2], tf.float32, "x"), _spec([None], tf.int32, "k")])
    def scale(self, x, k):
        return {"y": x * tf.cast(k, tf.float32)[:, None], "k_out": k}

    @tf.function(input_signature=[_spec([None], tf.float32, "x")])
    def single(self, x):
        return {"y": x}

    @tf.function(input_signature=[_spec([None], tf.float32, "x")])
    def scalar(self, x):
        return {"mean": tf.reduce_mean(x)}

    @tf.function(input_signature=[_spec([None], tf.float32, "x")])
    def uneven(self, x):
        return {"a": x, "b": tf.concat([x, x], 0)}

    @tf.function(input_signature=[_spec([None], tf.float16, "x")])
    def half(self, x):
        return {"y": x}

    @tf.function(input_signature=[_spec([None], tf.string, "gate")])
    def wait(self, gate):
        """Blocks until somebody reads the named pipe `gate`: in flight for as long as a test likes, at no cost."""
        with tf.control_dependencies([tf.io.write_file(gate[0], "through")]):
            return {"version": self._versions(gate), "name": gate}


def export(version: int, path: Path) -> None:
    toy = Toy(version)
    names = ("scale", "single", "scalar", "uneven", "half", "wait")
    signatures = {name: getattr(toy, name) for name in names} | {"serving_default": toy.shout}
    tf.saved_model.save(toy, str(path), signatures=signatures)


def install(source: Path, model: Path, version: int) -> None:
    """Brings a version in as an exporter does: written aside, then renamed."""
    aside = model / f".tmp-{version}"
    shutil.copytree(source, aside)
    aside.rename(model / str(version))


def config(root: Path) -> ServerConfig:
    return ServerConfig(root, rest_api_port=0, port=0, file_system_poll_wait_seconds=0.05)


class Gate:
    """A named pipe that holds a request of the signature `wait` until it is opened."""

    def __init__(self, path: Path):
        os.mkfifo(path)
        self.path = str(path)
        self._end = None

    def open(self) -> None:
        if self._end is None:
            self._end = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def close(self) -> None:
        self.open()
        os.close(self._end)


def until(condition, seconds=15.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def http_request(url, method, path, body=None, headers=None):
    """Status, parsed body and raw text of one request on a fresh connection."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        text = response.read().decode("utf-8")
        return response.status, json.loads(text) if text else None, text
    finally:
        connection.close()


def post(url, body, path="/v1/models/toy:predict", headers=None):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return http_request(url, "POST", path, raw, headers)[:2]
