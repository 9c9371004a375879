"""Requests that a version brings along, run before it serves: the first client does not pay for tracing and tables."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from seqattn_tf.serving.api.inference import Inference
from seqattn_tf.serving.api.tensor_protos import read_tensor
from seqattn_tf.serving.errors import ServingError, from_exception
from seqattn_tf.serving.models.servable import Servable

FILE = Path("assets.extra", "tf_serving_warmup_requests")  # below the folder of a version
_MOST_RECORDS = 1000


def warm(servable: Servable, version_path: Path, iterations: int = 1) -> int:
    """Runs the warmup requests of a version, in their order, and says how many there were.

    Args:
        servable: the version, loaded.
        version_path: its folder.
        iterations: how often each request is run.

    Raises:
        ServingError: a record cannot be read or run; such a version does not serve, as in TF Serving.
    """
    if not (version_path / FILE).is_file():
        return 0
    count = 0
    try:
        for record in tf.data.TFRecordDataset(str(version_path / FILE)).as_numpy_iterator():
            count += 1
            if count > _MOST_RECORDS:
                raise ServingError(
                    "INVALID_ARGUMENT",
                    f"Number of warmup records exceeds the maximum ({_MOST_RECORDS}) at {servable.name}",
                )
            log = prediction_log_pb2.PredictionLog.FromString(record)
            for _ in range(iterations):
                _replay(Inference(servable), log)
    except tf.errors.DataLossError as error:
        raise ServingError("DATA_LOSS", "Please verify your warmup data is in TFRecord format") from error
    except ServingError:
        raise
    except Exception as error:
        raise from_exception(error) from error
    return count


def _replay(inference: Inference, log: prediction_log_pb2.PredictionLog) -> None:
    kind = log.WhichOneof("log_type")
    if kind == "predict_log":
        request = log.predict_log.request
        inputs = {alias: read_tensor(alias, proto) for alias, proto in request.inputs.items()}
        inference.predict(request.model_spec.signature_name, inputs, list(request.output_filter))
    elif kind == "classify_log":
        request = log.classify_log.request
        inference.classify(request.model_spec.signature_name, request.input)
    elif kind == "regress_log":
        request = log.regress_log.request
        inference.regress(request.model_spec.signature_name, request.input)
    elif kind == "multi_inference_log":
        request = log.multi_inference_log.request
        inference.multi(list(request.tasks), request.input)
    else:
        raise ServingError("UNIMPLEMENTED", f"Unsupported log_type for warmup: {kind}")
