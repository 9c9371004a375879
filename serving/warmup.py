"""Warmup requests of a version, run before it serves so that the first client does not wait for initialization."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seqattn_tf.serving.api.inference import Inference
from seqattn_tf.serving.errors import ServingError, from_exception
from seqattn_tf.serving.models.servable import Servable
from seqattn_tf.serving.protos.tensors import read_tensor

FILE = Path("assets.extra", "tf_serving_warmup_requests")  # in the folder of a version
_MOST_RECORDS = 1000


def warm(servable: Servable, version_path: Path, iterations: int = 1) -> int:
    """Run the warmup requests of a version, in order, and return their number.

    Args:
        servable: The loaded version.
        version_path: The folder of the version.
        iterations: How often each request is run.

    Raises:
        ServingError: If a record cannot be read or run; as in TF Serving, such a version does not serve.
    """
    if not (version_path / FILE).is_file():
        return 0
    import tensorflow as tf  # here, because only SavedModels have warmup requests
    from tensorflow_serving.apis import prediction_log_pb2

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


def _replay(inference: Inference, log: Any) -> None:
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
