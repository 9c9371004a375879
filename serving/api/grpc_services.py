"""TF Serving's gRPC services on top of a model repository.

Methods that are not implemented here return UNIMPLEMENTED, as in any gRPC server.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

import grpc

from seqattn_tf.serving import protos
from seqattn_tf.serving.api.inference import Inference
from seqattn_tf.serving.api.messages import SIGNATURE_DEF, metadata_message, status_message
from seqattn_tf.serving.api.metrics import Metrics
from seqattn_tf.serving.errors import ServingError, from_exception
from seqattn_tf.serving.models.repository import ModelRepository
from seqattn_tf.serving.models.servable import Servable
from seqattn_tf.serving.protos.tensors import read_tensor, write_tensor

LOG = logging.getLogger(__name__)
Response = TypeVar("Response")
_NO_DEADLINE = 365 * 86400.0


class PredictionService:
    """The service with Predict, Classify, Regress, MultiInference and GetModelMetadata.

    Args:
        repository: The repository with the models.
        metrics: The metrics that count Predict, Classify and Regress; TF Serving does not count the others.
        as_content: Whether the outputs of Predict are written as bytes instead of into the field of their dtype.
    """

    def __init__(self, repository: ModelRepository, metrics: Metrics | None = None, as_content: bool = False):
        self._repository = repository
        self._metrics = metrics or Metrics()
        self._as_content = as_content

    def Predict(self, request: protos.PredictRequest, context: grpc.ServicerContext) -> Any:
        """Run a signature on the tensors of a request."""
        return self._counted("Predict", context, self._predict, request)

    def Classify(self, request: protos.ClassificationRequest, context: grpc.ServicerContext) -> Any:
        """Return the classes and scores of examples."""
        return self._counted("Classify", context, self._classify, request)

    def Regress(self, request: protos.RegressionRequest, context: grpc.ServicerContext) -> Any:
        """Return a value for each example."""
        return self._counted("Regress", context, self._regress, request)

    def MultiInference(self, request: protos.MultiInferenceRequest, context: grpc.ServicerContext) -> Any:
        """Classify and regress the same examples with several signatures of one version."""
        return _answer(context, self._multi_inference, request)

    def GetModelMetadata(self, request: protos.GetModelMetadataRequest, context: grpc.ServicerContext) -> Any:
        """Return the signatures of a model."""
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

    def _inference(self, spec: protos.ModelSpec, context: grpc.ServicerContext) -> Inference:
        return Inference(_servable(self._repository, spec), _timeout(context), self._metrics)

    def _predict(self, request: protos.PredictRequest, context: grpc.ServicerContext) -> protos.PredictResponse:
        _check_spec(request)
        inference = self._inference(request.model_spec, context)
        inference.servable.check(request.model_spec.signature_name, request.inputs.keys())
        inputs = {alias: read_tensor(alias, proto) for alias, proto in request.inputs.items()}
        outputs = inference.predict(request.model_spec.signature_name, inputs, list(request.output_filter))
        response = protos.PredictResponse(model_spec=inference.model_spec(request.model_spec.signature_name))
        for alias, array in outputs.items():
            write_tensor(array, response.outputs[alias], self._as_content)
        return response

    def _classify(
        self, request: protos.ClassificationRequest, context: grpc.ServicerContext
    ) -> protos.ClassificationResponse:
        _check_spec(request)
        inference, name = self._inference(request.model_spec, context), request.model_spec.signature_name
        result = inference.classify(name, request.input)
        return protos.ClassificationResponse(model_spec=inference.model_spec(name), result=result)

    def _regress(self, request: protos.RegressionRequest, context: grpc.ServicerContext) -> protos.RegressionResponse:
        _check_spec(request)
        inference, name = self._inference(request.model_spec, context), request.model_spec.signature_name
        result = inference.regress(name, request.input)
        return protos.RegressionResponse(model_spec=inference.model_spec(name), result=result)

    def _multi_inference(
        self, request: protos.MultiInferenceRequest, context: grpc.ServicerContext
    ) -> protos.MultiInferenceResponse:
        spec = request.tasks[0].model_spec if request.tasks else protos.ModelSpec()
        return self._inference(spec, context).multi(request.tasks, request.input)

    def _metadata(
        self, request: protos.GetModelMetadataRequest, context: grpc.ServicerContext
    ) -> protos.GetModelMetadataResponse:
        _check_spec(request)
        if not request.metadata_field:
            raise ServingError("INVALID_ARGUMENT", "GetModelMetadataRequest must specify at least one metadata_field")
        for field in request.metadata_field:
            if field != SIGNATURE_DEF:
                raise ServingError("INVALID_ARGUMENT", f"Metadata field {field} is not supported")
        return metadata_message(_servable(self._repository, request.model_spec))


class ModelService:
    """The service with GetModelStatus and HandleReloadConfigRequest.

    Args:
        repository: The repository with the models.
        metrics: The counters whose increase during a reload can be requested.
    """

    def __init__(self, repository: ModelRepository, metrics: Metrics | None = None):
        self._repository = repository
        self._metrics = metrics or Metrics()

    def GetModelStatus(self, request: protos.GetModelStatusRequest, context: grpc.ServicerContext) -> Any:
        """Return the states of the versions of a model."""
        return _answer(context, self._status, request)

    def HandleReloadConfigRequest(self, request: protos.ReloadConfigRequest, context: grpc.ServicerContext) -> Any:
        """Replace the list of served models. If the new list cannot be served, the call fails."""
        return _answer(context, self._reload, request)

    def _status(
        self, request: protos.GetModelStatusRequest, context: grpc.ServicerContext
    ) -> protos.GetModelStatusResponse:
        _check_spec(request)
        return status_message(self._repository.status(request.model_spec.name, _version(request.model_spec)))

    def _reload(
        self, request: protos.ReloadConfigRequest, context: grpc.ServicerContext
    ) -> protos.ReloadConfigResponse:
        if request.config.WhichOneof("config") != "model_config_list":
            raise ServingError(
                "INVALID_ARGUMENT",
                "ServerModelConfig type not supported by HandleReloadConfigRequest."
                " Only ModelConfigList is currently supported",
            )
        before = {name: self._metrics.value(name) for name in request.metric_names}
        self._repository.reload(request.config)
        response = protos.ReloadConfigResponse()
        response.status.error_message = ""  # creates a status of OK instead of no status
        for name, value in before.items():
            response.metric.add(name=name, int64_value_increase=self._metrics.value(name) - value)
        return response


def _answer(
    context: grpc.ServicerContext,
    method: Callable[[Any, grpc.ServicerContext], Response],
    request: Any,
    record: Callable[[str], None] = lambda status: None,
) -> Response:
    """Run a method, with errors converted to the status of the call, and pass the resulting code to `record`."""
    try:
        response = method(request, context)
    except Exception as error:
        code, details = _failure(error)
    else:
        record("OK")
        return response
    record(code)
    return context.abort(grpc.StatusCode[code], details)


def _failure(error: Exception) -> tuple[str, str]:
    """Return the code and details of an error.

    The error itself is not returned, because its traceback keeps the servable that raised it in memory.
    """
    if not isinstance(error, ServingError):
        LOG.exception("a request failed because of an internal error")
    failure = from_exception(error)
    return failure.code, failure.grpc_details


def _timeout(context: grpc.ServicerContext) -> float | None:
    """Return the seconds until the client's deadline, or None. Without a deadline, gRPC reports several centuries."""
    seconds = context.time_remaining()
    return seconds if seconds is not None and seconds < _NO_DEADLINE else None


def _check_spec(request: Any) -> None:
    if not request.HasField("model_spec"):
        raise ServingError("INVALID_ARGUMENT", "Missing ModelSpec")


def _servable(repository: ModelRepository, spec: protos.ModelSpec) -> Servable:
    if not spec.name:
        raise ServingError("INVALID_ARGUMENT", "ModelSpec has no name specified.")
    return repository.get(spec.name, _version(spec), spec.version_label)


def _version(spec: protos.ModelSpec) -> int | None:
    return spec.version.value if spec.HasField("version") else None
