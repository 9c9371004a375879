"""The models of the conformance suite, and the config files of a server for them.

model           versions    description
half_plus_two   123         the model of TF Serving's documentation: y = x / 2 + 2, also for tf.Example
readings        1           the three inputs in the documentation's example of row and columnar format
types           1           one signature for each dtype, which returns its input
toy             1, 2        text input, several outputs; signatures that fail in known ways
examples        1           classify and regress, and invalid signatures for them
native          1           half_plus_two written by TensorFlow 2: every signature is for predict; one has a default
counter         1           signatures without inputs, whose outputs have no shape
lite            1           y = x / 2 + 3 as a SavedModel and y = x / 2 + 2 as a LiteRT file
moving          1, 2, 3     y = x / 2 + version; served only by the reload cases
"""

from __future__ import annotations

from pathlib import Path

import serving_toys
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

# Signature of `types` -> its dtype and the name of its output.
_TYPES = {name: (tf.as_dtype(name), "y") for name in ("bool", "string", "int8", "uint8", "int16", "int32", "int64")}
_TYPES |= {"uint32": (tf.uint32, "y"), "uint64": (tf.uint64, "y"), "half": (tf.half, "y")}
_TYPES |= {"float": (tf.float32, "y"), "double": (tf.double, "y"), "bytes": (tf.string, "y_bytes")}
_TYPES |= {"bfloat16": (tf.bfloat16, "y"), "uint16": (tf.uint16, "y")}
_CAST = ("half", "uint16", "bfloat16")  # signature to_DTYPE: floats cast to that type

CONFIG = """\
model_config_list {
  config { name: "half_plus_two" base_path: "FOLDER/half_plus_two" model_platform: "tensorflow"
           version_labels { key: "stable" value: 123 } }
  config { name: "readings" base_path: "FOLDER/readings" model_platform: "tensorflow" }
  config { name: "types" base_path: "FOLDER/types" model_platform: "tensorflow" }
  config { name: "toy" base_path: "FOLDER/toy" model_platform: "tensorflow"
           model_version_policy { specific { versions: 1 versions: 2 } }
           version_labels { key: "stable" value: 1 } version_labels { key: "canary" value: 2 } }
  config { name: "examples" base_path: "FOLDER/examples" model_platform: "tensorflow" }
  config { name: "native" base_path: "FOLDER/native" model_platform: "tensorflow" }
  config { name: "counter" base_path: "FOLDER/counter" model_platform: "tensorflow" }
  config { name: "lite" base_path: "FOLDER/lite" model_platform: "tensorflow" }
}
"""
# The flags of a second server for the same models, for the cases that need them.
FLAGGED = [
    "--prefer_tflite_model",
    "--enable_batching",
    "--enable_signature_method_name_check",
    "--enable_serialization_as_tensor_content=true",
    "--grpc_channel_arguments=grpc.max_concurrent_streams=100,grpc.lb_policy_name=grpclb",
]
MONITORING = 'prometheus_config { enable: true path: "/monitoring/prometheus/metrics" }\n'


def write(folder: Path, seen_as: Path) -> list[str]:
    """Write models and config files to an empty folder.

    Args:
        folder: The folder to write to.
        seen_as: The path of the folder for the server, which is different in a container.

    Returns:
        The flags of a server for the models, TF Serving or ours, without its ports.
    """
    _half_plus_two(folder / "half_plus_two" / "00000123")
    readings = _Readings()
    tf.saved_model.save(readings, str(folder / "readings" / "1"), signatures=readings.total)
    types = tf.Module()
    signatures = {name: _echo(name) for name in _TYPES} | {f"to_{name}": _cast(name) for name in _CAST}
    tf.saved_model.save(types, str(folder / "types" / "1"), signatures=signatures)
    _native(folder / "native" / "1")
    counter = _Counter()
    names = ("get_counter", "incr_counter", "reset_counter", "incr_counter_by")
    signatures = {name: getattr(counter, name) for name in names}
    tf.saved_model.save(counter, str(folder / "counter" / "1"), signatures=signatures)
    for version in (1, 2):
        serving_toys.export(version, folder / "toy" / str(version))
    serving_toys.export_examples(folder / "examples" / "1")
    for version in (1, 2, 3):
        moving = _Moving(version)
        tf.saved_model.save(moving, str(folder / "moving" / str(version)), signatures=moving.run)
    tf.saved_model.save(moving, str(folder / "lite" / "1"), signatures=moving.run)
    lite = tf.lite.TFLiteConverter.from_saved_model(str(folder / "moving" / "2")).convert()
    (folder / "lite" / "1" / "model.tflite").write_bytes(lite)
    (folder / "models.config").write_text(config(seen_as))
    (folder / "monitoring.config").write_text(MONITORING)
    return [
        f"--model_config_file={seen_as}/models.config",
        f"--monitoring_config_file={seen_as}/monitoring.config",
        # TF Serving reads the labels of its first config before any version is loaded.
        "--allow_version_labels_for_unavailable_models=true",
        "--rest_api_enable_cors_support=true",
        "--enable_grpc_healthcheck_service=true",
    ]


def config(seen_as: Path) -> str:
    """Return the initial ModelServerConfig of the suite as text."""
    return CONFIG.replace("FOLDER", str(seen_as))


def _half_plus_two(path: Path) -> None:
    """Write a model whose signatures can classify and regress, which only TensorFlow 1 supports."""
    v1, utils = tf.compat.v1, tf.compat.v1.saved_model.signature_def_utils
    with tf.Graph().as_default(), v1.Session() as session:
        half = v1.get_variable("half", initializer=0.5)
        x = v1.placeholder(tf.float32, [None], name="x")
        serialized = v1.placeholder(tf.string, [None], name="tf_example")
        parsed = tf.io.parse_example(serialized, {"x": tf.io.FixedLenFeature([1], tf.float32)})["x"]
        by_example = half * parsed + 2.0  # [batch, 1]
        signatures = {
            "serving_default": utils.predict_signature_def({"x": x}, {"y": half * x + 2.0}),
            "tensorflow/serving/regress": utils.regression_signature_def(serialized, by_example),
            "classify_x_to_y": utils.classification_signature_def(serialized, None, by_example),
        }
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(str(path))
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()


class _Native(tf.Module):
    def __init__(self):
        super().__init__()
        self.half = tf.Variable(0.5)

    def _halves(self, serialized):  # [batch, 1]
        return self.half * tf.io.parse_example(serialized, {"x": tf.io.FixedLenFeature([1], tf.float32)})["x"]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="inputs")])
    def classify_x_to_y(self, inputs):
        return {"scores": self._halves(inputs) + 2.0}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="inputs")])
    def regress_x_to_y(self, inputs):
        return {"outputs": self._halves(inputs) + 2.0}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="inputs")])
    def regress_x_to_y2(self, inputs):
        return {"outputs": self._halves(inputs) + 3.0}

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.float32, name="x"), tf.TensorSpec([], tf.float32, name="added")]
    )
    def plus(self, x, added):
        return {"y": self.half * x + added}


def _native(path: Path) -> None:
    """Write the model and add the default 2 for `added` by hand; no Python API supports this for all functions."""
    native = _Native()
    names = ("classify_x_to_y", "regress_x_to_y", "regress_x_to_y2", "plus")
    tf.saved_model.save(native, str(path), signatures={name: getattr(native, name) for name in names})
    saved = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
    signature = saved.meta_graphs[0].signature_def["plus"]
    signature.defaults["added"].CopyFrom(tf.make_tensor_proto(2.0))
    (path / "saved_model.pb").write_bytes(saved.SerializeToString())


class _Counter(tf.Module):
    def __init__(self):
        super().__init__()
        self.count = tf.Variable(0.0)

    @tf.function(input_signature=[])
    def get_counter(self):
        return {"output": self.count.read_value()}

    @tf.function(input_signature=[])
    def incr_counter(self):
        return {"output": self.count.assign_add(1.0)}

    @tf.function(input_signature=[])
    def reset_counter(self):
        return {"output": self.count.assign(0.0)}

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="delta")])
    def incr_counter_by(self, delta):
        return {"output": self.count.assign_add(delta)}


class _Readings(tf.Module):
    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, name="tag"),
            tf.TensorSpec([None, 5], tf.int32, name="signal"),
            tf.TensorSpec([None, 2, 2], tf.float32, name="sensor"),
        ]
    )
    def total(self, tag, signal, sensor):
        sums = tf.cast(tf.reduce_sum(signal, 1), tf.float32) + tf.reduce_sum(sensor, [1, 2])
        return {"name": tf.strings.upper(tag), "total": sums}


class _Moving(tf.Module):
    def __init__(self, version):
        super().__init__()
        self.added = tf.Variable(float(version))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def run(self, x):
        return {"y": x / 2 + self.added}


def _echo(name):
    dtype, output = _TYPES[name]
    return tf.function(lambda x: {output: tf.identity(x)}, input_signature=[tf.TensorSpec(None, dtype, name="x")])


def _cast(name):
    spec = tf.TensorSpec(None, tf.float32, name="x")
    return tf.function(lambda x: {"y": tf.cast(x, tf.as_dtype(name))}, input_signature=[spec])
