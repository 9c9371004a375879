"""TF Serving's gRPC services over a repository, on the official protos.

Methods that are not written here answer UNIMPLEMENTED: the generated base classes do that.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

import grpc
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    model_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

from seqattn_tf.serving.api.inference import Inference
from seqattn_tf.serving.api.messages import SIGNATURE_DEF, metadata_message, status_message
from seqattn_tf.serving.api.metrics import Metrics
from seqattn_tf.serving.api.tensor_protos import read_tensor, write_tensor
from seqattn_tf.serving.errors import ServingError, from_exception
from seqattn_tf.serving.models.repository import ModelRepository
from seqattn_tf.serving.models.servable import Servable

LOG = logging.getLogger(__name__)
Response = TypeVar("Response")
_NO_DEADLINE = 365 * 86400.0


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict, Classify, Regress, MultiInference and GetModelMetadata.

    Args:
        repository: where the models are.
        metrics: where Predict, Classify and Regress are counted; TF Serving does not count the others.
        as_content: whether outputs of Predict are written as bytes, rather than into the field of their dtype.
    """

    def __init__(self, repository: ModelRepository, metrics: Metrics | None = None, as_content: bool = False):
        self._repository = repository
        self._metrics = metrics or Metrics()
        self._as_content = as_content

    def Predict(self, request: predict_pb2.PredictRequest, context: grpc.ServicerContext) -> Any:
        """Runs a signature on the tensors of a request."""
        return self._counted("Predict", context, self._predict, request)

    def Classify(self, request: classification_pb2.ClassificationRequest, context: grpc.ServicerContext) -> Any:
        """Tells the classes and scores of examples."""
        return self._counted("Classify", context, self._classify, request)

    def Regress(self, request: regression_pb2.RegressionRequest, context: grpc.ServicerContext) -> Any:
        """Tells a value for each example."""
        return self._counted("Regress", context, self._regress, request)

    def MultiInference(self, request: inference_pb2.MultiInferenceRequest, context: grpc.ServicerContext) -> Any:
        """Classifies and regresses the same examples by several signatures of one version."""
        return _answer(context, self._multi_inference, request)

    def GetModelMetadata(
        self, request: get_model_metadata_pb2.GetModelMetadataRequest, context: grpc.ServicerContext
    ) -> Any:
        """Tells the signatures of a model."""
        return _answer(context, self._metadata, request)

    def _counted(
        self,
        api: str,
        context: grpc.ServicerContext,
        method: Callable[[Any, grpc.ServicerContext], Response],
        request: Any,
    ) -> Response:
        start = time.perf_counter()

        def record(status: str) -> None:
            self._metrics.answered(request.model_spec.name, api, "GRPC", status, time.perf_counter() - start)

        return _answer(context, method, request, record)

    def _inference(self, spec: model_pb2.ModelSpec, context: grpc.ServicerContext) -> Inference:
        return Inference(_servable(self._repository, spec), _timeout(context), self._metrics)

    def _predict(
        self, request: predict_pb2.PredictRequest, context: grpc.ServicerContext
    ) -> predict_pb2.PredictResponse:
        _check_spec(request)
        inference = self._inference(request.model_spec, context)
        inference.servable.check(request.model_spec.signature_name, request.inputs.keys())
        inputs = {alias: read_tensor(alias, proto) for alias, proto in request.inputs.items()}
        outputs = inference.predict(request.model_spec.signature_name, inputs, list(request.output_filter))
        response = predict_pb2.PredictResponse(model_spec=inference.model_spec(request.model_spec.signature_name))
        for alias, array in outputs.items():
            write_tensor(array, response.outputs[alias], self._as_content)
        return response

    def _classify(
        self, request: classification_pb2.ClassificationRequest, context: grpc.ServicerContext
    ) -> classification_pb2.ClassificationResponse:
        _check_spec(request)
        inference, name = self._inference(request.model_spec, context), request.model_spec.signature_name
        result = inference.classify(name, request.input)
        return classification_pb2.ClassificationResponse(model_spec=inference.model_spec(name), result=result)

    def _regress(
        self, request: regression_pb2.RegressionRequest, context: grpc.ServicerContext
    ) -> regression_pb2.RegressionResponse:
        _check_spec(request)
        inference, name = self._inference(request.model_spec, context), request.model_spec.signature_name
        result = inference.regress(name, request.input)
        return regression_pb2.RegressionResponse(model_spec=inference.model_spec(name), result=result)

    def _multi_inference(
        self, request: inference_pb2.MultiInferenceRequest, context: grpc.ServicerContext
    ) -> inference_pb2.MultiInferenceResponse:
        spec = request.tasks[0].model_spec if request.tasks else model_pb2.ModelSpec()
        return self._inference(spec, context).multi(request.tasks, request.input)

    def _metadata(
        self, request: get_model_metadata_pb2.GetModelMetadataRequest, context: grpc.ServicerContext
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        _check_spec(request)
        if not request.metadata_field:
            raise ServingError("INVALID_ARGUMENT", "GetModelMetadataRequest must specify at least one metadata_field")
        for field in request.metadata_field:
            if field != SIGNATURE_DEF:
                raise ServingError("INVALID_ARGUMENT", f"Metadata field {field} is not supported")
        return metadata_message(_servable(self._repository, request.model_spec))


class ModelService(model_service_pb2_grpc.ModelServiceServicer):
    """GetModelStatus and HandleReloadConfigRequest.

    Args:
        repository: where the models are.
        metrics: the counters whose growth during a reload a client may ask for.
    """

    def __init__(self, repository: ModelRepository, metrics: Metrics | None = None):
        self._repository = repository
        self._metrics = metrics or Metrics()

    def GetModelStatus(self, request: get_model_status_pb2.GetModelStatusRequest, context: grpc.ServicerContext) -> Any:
        """Tells the state of a model's versions."""
        return _answer(context, self._status, request)

    def HandleReloadConfigRequest(
        self, request: model_management_pb2.ReloadConfigRequest, context: grpc.ServicerContext
    ) -> Any:
        """Serves the models of another list. A list that cannot be served is an error of the call."""
        return _answer(context, self._reload, request)

    def _status(
        self, request: get_model_status_pb2.GetModelStatusRequest, context: grpc.ServicerContext
    ) -> get_model_status_pb2.GetModelStatusResponse:
        _check_spec(request)
        return status_message(self._repository.status(request.model_spec.name, _version(request.model_spec)))

    def _reload(
        self, request: model_management_pb2.ReloadConfigRequest, context: grpc.ServicerContext
    ) -> model_management_pb2.ReloadConfigResponse:
        if request.config.WhichOneof("config") != "model_config_list":
            raise ServingError(
                "INVALID_ARGUMENT",
                "ServerModelConfig type not supported by HandleReloadConfigRequest."
                " Only ModelConfigList is currently supported",
            )
        before = {name: self._metrics.value(name) for name in request.metric_names}
        self._repository.reload(request.config)
        response = model_management_pb2.ReloadConfigResponse()
        response.status.error_message = ""  # a status that says OK, rather than none
        for name, value in before.items():
            response.metric.add(name=name, int64_value_increase=self._metrics.value(name) - value)
        return response


def _answer(
    context: grpc.ServicerContext,
    method: Callable[[Any, grpc.ServicerContext], Response],
    request: Any,
    record: Callable[[str], None] = lambda status: None,
) -> Response:
    """Runs a method; its error becomes the status of the call. `record` hears how it ended."""
    try:
        response = method(request, context)
    except Exception as error:
        code, details = _failure(error)
    else:
        record("OK")
        return response
    record(code)
    return context.abort(grpc.StatusCode[code], details)  # raises


def _failure(error: Exception) -> tuple[str, str]:
    """Code and details of an error. Not the error itself, which holds on to the servable that raised it."""
    if not isinstance(error, ServingError):
        LOG.exception("a request failed for a reason of the server's own")
    failure = from_exception(error)
    return failure.code, failure.grpc_details


def _timeout(context: grpc.ServicerContext) -> float | None:
    """Seconds until the client's deadline. A client that gives none has one in some centuries, by gRPC's account."""
    seconds = context.time_remaining()
    return seconds if seconds is not None and seconds < _NO_DEADLINE else None


def _check_spec(request: Any) -> None:
    if not request.HasField("model_spec"):
        raise ServingError("INVALID_ARGUMENT", "Missing ModelSpec")


def _servable(repository: ModelRepository, spec: model_pb2.ModelSpec) -> Servable:
    if not spec.name:
        raise ServingError("INVALID_ARGUMENT", "ModelSpec has no name specified.")
    return repository.get(spec.name, _version(spec), spec.version_label)


def _version(spec: model_pb2.ModelSpec) -> int | None:
    return spec.version.value if spec.HasField("version") else None
