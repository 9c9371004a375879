"""TF Serving's gRPC services on top of a model repository.

Methods that are not implemented here return UNIMPLEMENTED, as in any gRPC server.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from seqattn_tf.serving import protos
from seqattn_tf.serving.api.inference import Inference
from seqattn_tf.serving.api.messages import SIGNATURE_DEF, metadata_message, status_message
from seqattn_tf.serving.api.metrics import Metrics
from seqattn_tf.serving.api.request_limits import check_reply, check_rows
from seqattn_tf.serving.errors import ServingError, deadline_exceeded, from_exception
from seqattn_tf.serving.limits import NO_LIMITS, Limits
from seqattn_tf.serving.models.repository import ModelRepository
from seqattn_tf.serving.models.servable import Servable
from seqattn_tf.serving.protos.tensors import read_tensor, write_tensor

Step = Callable[[], Any]  # returns a response or a further step


class PredictionService:
    """The service with Predict, Classify, Regress, MultiInference and GetModelMetadata.

    Every method takes a request and its deadline, in the time of `time.monotonic`. It returns the response, or the step
    that leads to it if that may take more than a millisecond.

    Args:
        repository: The repository with the models.
        metrics: The metrics that count Predict, Classify and Regress; TF Serving does not count the others.
        as_content: Whether the outputs of Predict are written as bytes instead of into the field of their dtype.
        limits: The limits of requests and replies; none by default.
    """

    def __init__(
        self,
        repository: ModelRepository,
        metrics: Metrics | None = None,
        as_content: bool = False,
        limits: Limits | None = None,
    ):
        self._repository = repository
        self._metrics = metrics or Metrics()
        self._as_content = as_content
        self._limits = limits or NO_LIMITS

    def Predict(self, request: protos.PredictRequest, end: float | None) -> Any:
        """Run a signature on the tensors of a request."""
        return self._counted("Predict", request, partial(self._predict, request, end))

    def Classify(self, request: protos.ClassificationRequest, end: float | None) -> Any:
        """Return the classes and scores of examples."""
        return partial(self._counted, "Classify", request, partial(self._classify, request, end))

    def Regress(self, request: protos.RegressionRequest, end: float | None) -> Any:
        """Return a value for each example."""
        return partial(self._counted, "Regress", request, partial(self._regress, request, end))

    def MultiInference(self, request: protos.MultiInferenceRequest, end: float | None) -> Any:
        """Classify and regress the same examples with several signatures of one version."""
        spec = request.tasks[0].model_spec if request.tasks else protos.ModelSpec()
        return lambda: self._inference(_servable(self._repository, spec), end).multi(request.tasks, request.input)

    def GetModelMetadata(self, request: protos.GetModelMetadataRequest, end: float | None) -> Any:
        """Return the signatures of a model."""
        return partial(self._metadata, request)

    def _counted(self, api: str, request: Any, compute: Step, start: float | None = None) -> Any:
        """Compute a response, or a further step, and count the outcome."""
        start = time.perf_counter() if start is None else start
        status = "OK"
        try:
            response = compute()
            if callable(response):
                status = ""
                return partial(self._counted, api, request, response, start)
            return response
        except Exception as error:
            status = from_exception(error).code
            raise
        finally:
            if status:
                self._metrics.answered(request.model_spec.name, api, "GRPC", status, time.perf_counter() - start)

    def _inference(self, servable: Servable, end: float | None) -> Inference:
        left = None if end is None else end - time.monotonic()
        if left is not None and left <= 0:
            raise deadline_exceeded()
        return Inference(servable, left, self._metrics)

    def _predict(self, request: protos.PredictRequest, end: float | None) -> Any:
        _check_spec(request)
        name, output_filter = request.model_spec.signature_name, list(request.output_filter)
        servable = _servable(self._repository, request.model_spec)
        servable.check(name, request.inputs.keys())
        inputs = {alias: read_tensor(alias, proto) for alias, proto in request.inputs.items()}
        check_rows(inputs, self._limits, self._metrics.limited)

        quick = None if output_filter else servable.quick_run(name, inputs)

        def run() -> protos.PredictResponse:
            inference = self._inference(servable, end)
            outputs = inference.predict(name, inputs, output_filter, quick)
            check_reply(outputs, self._limits, self._metrics.limited)
            response = protos.PredictResponse(model_spec=inference.model_spec(name))
            for alias, array in outputs.items():
                write_tensor(array, response.outputs[alias], self._as_content)
            return response

        return run if quick is None else run()

    def _classify(self, request: protos.ClassificationRequest, end: float | None) -> protos.ClassificationResponse:
        _check_spec(request)
        inference, name = (
            self._inference(_servable(self._repository, request.model_spec), end),
            request.model_spec.signature_name,
        )
        result = inference.classify(name, request.input)
        return protos.ClassificationResponse(model_spec=inference.model_spec(name), result=result)

    def _regress(self, request: protos.RegressionRequest, end: float | None) -> protos.RegressionResponse:
        _check_spec(request)
        inference, name = (
            self._inference(_servable(self._repository, request.model_spec), end),
            request.model_spec.signature_name,
        )
        result = inference.regress(name, request.input)
        return protos.RegressionResponse(model_spec=inference.model_spec(name), result=result)

    def _metadata(self, request: protos.GetModelMetadataRequest) -> protos.GetModelMetadataResponse:
        _check_spec(request)
        if not request.metadata_field:
            raise ServingError("INVALID_ARGUMENT", "GetModelMetadataRequest must specify at least one metadata_field")
        for field in request.metadata_field:
            if field != SIGNATURE_DEF:
                raise ServingError("INVALID_ARGUMENT", f"Metadata field {field} is not supported")
        return metadata_message(_servable(self._repository, request.model_spec))


class ModelService:
    """The service with GetModelStatus and HandleReloadConfigRequest; see `PredictionService` for its methods.

    Args:
        repository: The repository with the models.
        metrics: The counters whose increase during a reload can be requested.
    """

    def __init__(self, repository: ModelRepository, metrics: Metrics | None = None):
        self._repository = repository
        self._metrics = metrics or Metrics()

    def GetModelStatus(self, request: protos.GetModelStatusRequest, end: float | None) -> Any:
        """Return the states of the versions of a model."""
        return partial(self._status, request)

    def HandleReloadConfigRequest(self, request: protos.ReloadConfigRequest, end: float | None) -> Any:
        """Replace the list of served models. If the new list cannot be served, the call fails."""
        return partial(self._reload, request)

    def _status(self, request: protos.GetModelStatusRequest) -> protos.GetModelStatusResponse:
        _check_spec(request)
        return status_message(self._repository.status(request.model_spec.name, _version(request.model_spec)))

    def _reload(self, request: protos.ReloadConfigRequest) -> protos.ReloadConfigResponse:
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


def _check_spec(request: Any) -> None:
    if not request.HasField("model_spec"):
        raise ServingError("INVALID_ARGUMENT", "Missing ModelSpec")


def _servable(repository: ModelRepository, spec: protos.ModelSpec) -> Servable:
    if not spec.name:
        raise ServingError("INVALID_ARGUMENT", "ModelSpec has no name specified.")
    if spec.WhichOneof("version_choice") == "version_label" and not spec.version_label:
        raise ServingError("INVALID_ARGUMENT", "Unrecognized servable version label: ")
    return repository.get(spec.name, _version(spec), spec.version_label)


def _version(spec: protos.ModelSpec) -> int | None:
    return spec.version.value if spec.HasField("version") else None
