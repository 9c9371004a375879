"""A tiny SavedModel with a signature for each behavior, and functions for raw requests to a server."""

import contextlib
import http.client
import json
import os
import shutil
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

from seqattn_tf.serving.api.grpc_services import ModelService, PredictionService
from seqattn_tf.serving.api.rest import RestApi
from seqattn_tf.serving.front.grpc_server import GrpcServer
from seqattn_tf.serving.front.http_connection import State
from seqattn_tf.serving.front.http_server import HttpServer
from seqattn_tf.serving.models.servable import Servable
from seqattn_tf.serving.models.session import SessionEngine
from seqattn_tf.serving.protos.services import MODEL, PREDICTION, methods
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

    @tf.function(input_signature=[_spec([None], tf.string, "text")])
    def joined(self, text):
        return {"all": tf.strings.reduce_join(text), "count": tf.size(text)}

    @tf.function(input_signature=[_spec([None], tf.float32, "x")])
    def uneven(self, x):
        return {"a": x, "b": tf.concat([x, x], 0)}

    @tf.function(input_signature=[_spec([None], tf.float16, "x")])
    def half(self, x):
        return {"y": x}

    @tf.function(input_signature=[_spec([None], tf.string, "gate")])
    def wait(self, gate):
        """Block until the named pipe `gate` is read: a request of any duration at no cost."""
        with tf.control_dependencies([tf.io.write_file(gate[0], "through")]):
            return {"version": self._versions(gate), "name": gate}


def export(version: int, path: Path) -> None:
    toy = Toy(version)
    names = ("scale", "single", "scalar", "joined", "uneven", "half", "wait")
    signatures = {name: getattr(toy, name) for name in names} | {"serving_default": toy.shout}
    tf.saved_model.save(toy, str(path), signatures=signatures)


def export_fixed(path: Path, outputs: dict, inputs=("text",), dtype=tf.string) -> None:
    """Save a model with fixed outputs for every row; outputs may be functions of the inputs by name."""

    def serve(**given):
        copies = tf.shape(given[inputs[0]])[0]
        return {
            name: value(given) if callable(value) else tf.repeat(tf.constant(value)[None], copies, 0)
            for name, value in outputs.items()
        }

    specs = {name: _spec([None], dtype, name) for name in inputs}
    module = tf.Module()
    module.serve = tf.function(serve)
    signature = module.serve.get_concrete_function(**specs)
    tf.saved_model.save(module, str(path), signatures={"serving_default": signature})


def answering(text, score=-0.5, **more) -> dict:
    """Return the outputs of a seqattn model, without alternatives; `text` may be a function of the inputs."""
    tokens = more.pop("tokens", text.split() if isinstance(text, str) else ["?"])
    none = {"alternatives": np.zeros(0, np.bytes_), "alternative_scores": np.zeros(0, np.float32)}
    return {"text": text, "score": score, "tokens": tokens, **none, **more}


def export_examples(path: Path) -> None:
    """Save a model with signatures that classify and regress `tf.Example`s, which only TensorFlow 1 supports.

    Examples have `x` (two floats), `name` (bytes) and `n` (an int64); missing features are zero or empty.
    """
    v1, utils = tf.compat.v1, tf.compat.v1.saved_model.signature_def_utils
    with tf.Graph().as_default(), v1.Session() as session:
        serialized = v1.placeholder(tf.string, [None], name="examples")
        features = {
            "x": tf.io.FixedLenFeature([2], tf.float32, [0.0, 0.0]),
            "name": tf.io.FixedLenFeature([], tf.string, ""),
            "n": tf.io.FixedLenFeature([], tf.int64, 0),
        }
        parsed = tf.io.parse_example(serialized, features)
        bias = v1.get_variable("bias", initializer=0.5)
        scores = parsed["x"] + bias  # [batch, 2]
        name = parsed["name"][:, None]
        classes = tf.concat([tf.strings.join([name, "-a"]), tf.strings.join([name, "-b"])], 1)
        total = tf.reduce_sum(scores, 1) + tf.cast(parsed["n"], tf.float32)  # [batch]
        signatures = {
            "serving_default": utils.classification_signature_def(serialized, classes, scores),
            "classes": utils.classification_signature_def(serialized, classes, None),
            "scores": utils.classification_signature_def(serialized, None, scores),
            "regress": utils.regression_signature_def(serialized, total),
            "column": utils.regression_signature_def(serialized, total[:, None]),
            "predict": utils.predict_signature_def({"examples": serialized}, {"total": total, "scores": scores}),
        }
        kept = {
            "classes_rank": ("classify", "inputs", {"classes": classes[:, 0]}),
            "classes_type": ("classify", "inputs", {"classes": scores}),
            "classes_batch": ("classify", "inputs", {"classes": classes[:1]}),
            "scores_type": ("classify", "inputs", {"scores": classes}),
            "scores_rank": ("classify", "inputs", {"classes": classes, "scores": scores[:, :, None]}),
            "scores_batch": ("classify", "inputs", {"classes": classes, "scores": scores[:1]}),
            "uneven": ("classify", "inputs", {"classes": classes, "scores": scores[:, :1]}),
            "three": ("classify", "inputs", {"classes": classes, "scores": scores, "more": total}),
            "neither": ("classify", "inputs", {"logits": scores}),
            "classify_input": ("classify", "examples", {"scores": scores}),
            "regress_rank": ("regress", "inputs", {"outputs": scores}),
            "regress_batch": ("regress", "inputs", {"outputs": total[:1]}),
            "regress_type": ("regress", "inputs", {"outputs": parsed["n"]}),
            "regress_two": ("regress", "inputs", {"outputs": total, "more": total}),
            "regress_output": ("regress", "inputs", {"total": total}),
            "regress_input": ("regress", "examples", {"outputs": total}),
        }
        info = v1.saved_model.build_tensor_info
        for key, (method, alias, outputs) in kept.items():
            signatures[key] = utils.build_signature_def(
                {alias: info(serialized)},
                {output: info(tensor) for output, tensor in outputs.items()},
                f"tensorflow/serving/{method}",
            )
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(str(path))
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()


def install(source: Path, model: Path, version: int) -> None:
    """Install a version as an exporter does: write it to another folder, then rename that."""
    aside = model / f".tmp-{version}"
    shutil.copytree(source, aside)
    aside.rename(model / str(version))


def load_saved_model(name, version, path):
    """Load a SavedModel that runs each request alone."""
    return Servable(name, version, SessionEngine(path))


def config(root: Path, **more) -> ServerConfig:
    return ServerConfig(root, rest_api_port=0, port=0, file_system_poll_wait_seconds=0.05, **more)


@contextlib.contextmanager
def apis(repository, metrics=None, **options):
    """Serve both APIs of a repository without the rest of a server; return the REST URL and the gRPC address."""
    http_server = HttpServer("127.0.0.1", 0, RestApi(repository, metrics, **options).begin)
    predictions, models = PredictionService(repository, metrics), ModelService(repository, metrics)
    grpc_server = GrpcServer(["127.0.0.1:0"], methods(PREDICTION, predictions) | methods(MODEL, models))
    grpc_server.start()
    http_server.start()
    try:
        yield f"http://127.0.0.1:{http_server.server_port}", f"127.0.0.1:{grpc_server.port}"
    finally:
        http_server.drain(5)
        grpc_server.stop(5)


class Gate:
    """A named pipe that blocks a request to the signature `wait` until it is opened."""

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


def is_working(server):
    """Return whether a server works on a REST request."""
    return any(connection.state is State.WORKING for connection in server._http.connections)


def until(condition, seconds=15.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def http_request(url, method, path, body=None, headers=None):
    """Return status, parsed body and raw text of one request on a new connection."""
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
