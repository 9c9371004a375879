"""Warm-up requests, which TensorFlow Serving runs before it serves a version, so that no client waits for tracing."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

FILE = "tf_serving_warmup_requests"  # in assets.extra
_SIZES = (1, 2, 8)  # numbers of rows per request


def write_warmup(folder: Path, name: str, rows: Sequence[Mapping[str, str | bytes]]) -> None:
    """Write requests of several sizes for the default signature.

    Args:
        folder: The `assets.extra` folder of a version.
        name: The name of the model.
        rows: The rows of the requests.
    """
    with tf.io.TFRecordWriter(str(folder / FILE)) as writer:
        for size in _SIZES:
            log = prediction_log_pb2.PredictionLog()
            request = log.predict_log.request
            request.model_spec.name = name
            request.model_spec.signature_name = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
            for alias in rows[0]:
                request.inputs[alias].CopyFrom(tf.make_tensor_proto([row[alias] for row in rows[:size]]))
            writer.write(log.SerializeToString())
