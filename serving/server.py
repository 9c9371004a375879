"""The embedded server: models served by TF Serving's REST and gRPC APIs, in this process.

>>> with Server(ServerConfig(Path("models"), rest_api_port=0, port=0)) as server:  # doctest: +SKIP
...     print(server.rest_url, server.grpc_address)
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent import futures
from pathlib import Path

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from tensorflow.core.protobuf import config_pb2
from tensorflow_serving.apis import (
    model_service_pb2,
    model_service_pb2_grpc,
    prediction_service_pb2,
    prediction_service_pb2_grpc,
)

from seqattn_tf.serving.api.exchange import Reply, Request
from seqattn_tf.serving.api.grpc_services import ModelService, PredictionService
from seqattn_tf.serving.api.metrics import CONTENT_TYPE, Metrics
from seqattn_tf.serving.api.rest import RestApi
from seqattn_tf.serving.config import ServerConfig
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.front.access import Certificates, Token
from seqattn_tf.serving.front.http_server import DrainingHttpServer
from seqattn_tf.serving.front.page import MODELS_PATH, Page
from seqattn_tf.serving.front.shutdown import ShutdownInterceptor
from seqattn_tf.serving.front.site import Site, probe
from seqattn_tf.serving.models.batcher import Batcher
from seqattn_tf.serving.models.batching import BatchingParameters
from seqattn_tf.serving.models.engine import Engine
from seqattn_tf.serving.models.lite import LITE_FILE, LiteEngine
from seqattn_tf.serving.models.model_config import (
    ModelConfig,
    Models,
    folder_of_models,
    list_models,
    read_config_file,
)
from seqattn_tf.serving.models.repository import ModelRepository
from seqattn_tf.serving.models.servable import Servable
from seqattn_tf.serving.models.session import SessionEngine
from seqattn_tf.serving.signals import stop_signals
from seqattn_tf.serving.text_protos import read
from seqattn_tf.serving.warmup import warm

LOG = logging.getLogger(__name__)
_SETTLE_SECONDS = 0.05  # of each step of a stop, for calls on their way through gRPC
_METRICS_PATH = "/monitoring/prometheus/metrics"
# Names that a probe may ask for; TF Serving has the short ones.
_HEALTH_NAMES = ("", "ModelService", "PredictionService")
_SERVICES = tuple(
    module.DESCRIPTOR.services_by_name[name].full_name
    for module, name in ((model_service_pb2, "ModelService"), (prediction_service_pb2, "PredictionService"))
)


class Server:
    """Serves models until stopped. Ports open when the models are loaded.

    Args:
        config: what to serve and where.

    Raises:
        ValueError: a file that the config names cannot be read.
    """

    def __init__(self, config: ServerConfig):
        self.config = config
        self.metrics = Metrics()
        self._session_config = _session_config(config)
        self._batcher = Batcher(_batching(config)) if config.enable_batching else None
        self._certificates = Certificates.from_file(config.ssl_config_file) if config.ssl_config_file else None
        self._token = Token.from_file(config.bearer_token_file) if config.bearer_token_file else Token()
        self.repository = ModelRepository(
            _models(config),
            config.file_system_poll_wait_seconds,
            self._load,
            labels_need_a_version=not config.allow_version_labels_for_unavailable_models,
        )
        self._health = health.HealthServicer()
        self._shutdown_interceptor = ShutdownInterceptor()
        self._http: DrainingHttpServer | None = None
        self._grpc: grpc.Server | None = None
        self._grpc_port = 0
        self._draining = False
        self._stopped = threading.Event()

    @property
    def rest_url(self) -> str:
        """Where the REST API answers, with the real port."""
        if self._http is None:
            raise ValueError("rest_url: expected a started server. Received: one that was not started")
        return f"{'https' if self._certificates else 'http'}://{self.config.host}:{self._http.server_port}"

    @property
    def grpc_address(self) -> str:
        """Where the gRPC API answers, `host:port` with the real port."""
        if self._grpc is None:
            raise ValueError("grpc_address: expected a started server. Received: one that was not started")
        return f"{self.config.host}:{self._grpc_port}"

    @property
    def ready(self) -> bool:
        """Whether requests are welcome: every model serves, and nobody has asked the server to stop."""
        return not self._draining and not self._stopped.is_set() and not self.repository.missing()

    def start(self) -> Server:
        """Loads the models, then opens the ports.

        Raises:
            ValueError: there is no model, or none that loads.
            OSError: a port cannot be had.
        """
        with contextlib.ExitStack() as undo:
            undo.callback(self.repository.stop)
            self._load_models()
            self._http = self._listen()
            undo.callback(self._http.server_close)
            self._grpc = self._listen_grpc()
            undo.pop_all()
        self._set_health(health_pb2.HealthCheckResponse.SERVING)
        self._grpc.start()
        self._http.start()
        file = self.config.model_config_file
        if file is not None and self.config.model_config_file_poll_wait_seconds > 0:
            threading.Thread(target=self._follow, args=(file,), name="config-poll", daemon=True).start()
        return self

    def stop(self) -> None:
        """Says that it is not ready, refuses new requests, finishes those in flight, closes the ports."""
        if self._http is None or self._grpc is None or self._draining:
            return
        self._draining = True
        self._set_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        self._stopped.wait(self.config.drain_delay_seconds + _SETTLE_SECONDS)  # calls that have arrived are handed out
        self._shutdown_interceptor.close()
        self._stopped.wait(_SETTLE_SECONDS)  # and those that came since are told so
        grpc_done = self._grpc.stop(self.config.drain_seconds)
        self._http.drain(self.config.drain_seconds)
        grpc_done.wait()
        self.repository.stop()
        if self._batcher is not None:
            self._batcher.close()
        self._stopped.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Blocks until the server has stopped; False when `timeout` seconds pass first."""
        return self._stopped.wait(timeout)

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _load(self, name: str, version: int, path: Path) -> Servable:
        """Loads a version and runs its warmup requests."""
        servable = Servable(
            name, version, self._engine(path), self._batcher, self.config.enable_signature_method_name_check, path
        )
        if self.config.enable_model_warmup:
            start, status = time.perf_counter(), "OK"
            try:
                warmed = warm(servable, path, self.config.num_request_iterations_for_warmup)
            except ServingError as error:
                warmed, status = 1, error.code
                raise
            finally:
                if warmed:
                    self.metrics.warmed(name, version, time.perf_counter() - start, status)
        return servable

    def _engine(self, path: Path) -> Engine:
        """What runs the model of a version folder."""
        if self.config.prefer_tflite_model and (path / LITE_FILE).is_file():
            pools = self.config.num_tflite_pools or os.cpu_count() or 1
            return LiteEngine(path / LITE_FILE, pools * self.config.num_tflite_interpreters_per_pool)
        return SessionEngine(path, self._session_config, self.config.saved_model_tags.split(","))

    def _load_models(self) -> None:
        """One model must serve. Others may fail to load: their status says why."""
        where = self.config.source
        if self.config.models is not None and not self.config.models.is_dir():
            raise ValueError(_no_model(self.config))
        self.repository.start()
        names = self.repository.names()
        if not names:
            raise ValueError(_no_model(self.config))
        if len(self.repository.missing()) == len(names):
            statuses = [(name, status) for name in names for status in self.repository.status(name)]
            faults = "; ".join(f"{name}/{status.version}: {status.error_message}" for name, status in statuses)
            raise ValueError(f"expected a model that loads in {where}. Received: {faults}")

    def _listen(self) -> DrainingHttpServer:
        config, page = self.config, Page(self.repository)
        api = RestApi(
            self.repository, self.metrics, config.rest_api_timeout_in_ms / 1000, config.rest_api_enable_cors_support
        )
        site = Site(
            api.handle,
            private={MODELS_PATH: page.models} | {path: self._metrics_page for path in _metrics_path(config)},
            public={"/healthz": probe(lambda: True), "/readyz": probe(lambda: self.ready)},
            page=page.answer,
            token=self._token,
        )
        tls = self._certificates.context() if self._certificates else None
        try:
            return DrainingHttpServer(config.host, config.rest_api_port, site.handle, tls, config.max_request_bytes)
        except OSError as error:
            where = f"{config.host}:{config.rest_api_port} ({error.strerror})"
            raise OSError(f"rest_api_port: expected a free port. Received: {where}") from error

    def _metrics_page(self, _: Request) -> Reply:
        return Reply(200, self.metrics.render(), CONTENT_TYPE)

    def _listen_grpc(self) -> grpc.Server:
        config = self.config
        server = grpc.server(
            futures.ThreadPoolExecutor(config.grpc_max_threads, thread_name_prefix="grpc"),
            interceptors=[self._shutdown_interceptor, *self._token.interceptors()],
            options=(
                *config.grpc_options,  # of two that are the same the first one counts
                ("grpc.max_receive_message_length", config.max_request_bytes or -1),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),  # a port in use is an error, not a port shared with a stranger
            ),
        )
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
            PredictionService(self.repository, self.metrics, config.enable_serialization_as_tensor_content), server
        )
        model_service_pb2_grpc.add_ModelServiceServicer_to_server(ModelService(self.repository, self.metrics), server)
        services = [*_SERVICES, reflection.SERVICE_NAME]
        if config.enable_grpc_healthcheck_service:
            health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
            services.append(health.SERVICE_NAME)
        reflection.enable_server_reflection(services, server)
        try:
            self._grpc_port = self._bind(server, f"{config.host}:{config.port}")
            if config.grpc_socket_path:
                self._bind(server, f"unix:{config.grpc_socket_path}")
        except RuntimeError as error:
            raise OSError(f"port: expected a free port. Received: {config.host}:{config.port}") from error
        return server

    def _bind(self, server: grpc.Server, address: str) -> int:
        if self._certificates is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, self._certificates.grpc())

    def _set_health(self, status: int) -> None:
        for name in (*_HEALTH_NAMES, *_SERVICES):
            self._health.set(name, status)

    def _follow(self, config_file: Path) -> None:
        """Serves what the config file says whenever it has changed; a file that cannot be served changes nothing."""
        known = read_config_file(config_file)
        while not self._stopped.wait(self.config.model_config_file_poll_wait_seconds) and not self._draining:
            try:
                config = read_config_file(config_file)
                if config != known:
                    known = config
                    self.repository.reload(config)
            except (ValueError, ServingError) as error:
                LOG.warning("the model config file was refused: %s", error)


def serve(config: ServerConfig) -> None:
    """Serves until SIGTERM or SIGINT, then drains. For the main thread of a process.

    Prints one line for each address and for each model.
    """
    gc.collect()
    gc.freeze()  # what the imports made stays; the collector need not look at it for every few hundred requests
    with stop_signals() as told, Server(config) as server:
        print(f"page  {server.rest_url}/")
        print(f"REST  {server.rest_url}")
        print(f"gRPC  grpc://{server.grpc_address}")
        for name in server.repository.names():
            print(f"model {name} {_served_version(server.repository, name)}", flush=True)
        while not told.wait(0.2):
            pass
        print("draining", flush=True)


def _models(config: ServerConfig) -> Callable[[], Models]:
    if config.models is not None:
        return folder_of_models(config.models.absolute())
    if config.model_base_path is not None:
        one = ModelConfig(config.model_name, config.model_base_path.absolute())
        return lambda: {one.name: one}
    try:
        models = list_models(read_config_file(config.source))
    except ServingError as error:
        raise ValueError(f"model_config_file: {error.message}") from error
    return lambda: models


def _session_config(config: ServerConfig) -> config_pb2.ConfigProto:
    """How sessions run: what the flags say, or the file, which replaces them all."""
    if config.tensorflow_session_config_file is not None:
        return read(config.tensorflow_session_config_file, config_pb2.ConfigProto(), "tensorflow_session_config_file")
    wanted = config_pb2.ConfigProto(
        intra_op_parallelism_threads=config.tensorflow_intra_op_parallelism,
        inter_op_parallelism_threads=config.tensorflow_inter_op_parallelism,
    )
    wanted.gpu_options.per_process_gpu_memory_fraction = config.per_process_gpu_memory_fraction
    return wanted


def _batching(config: ServerConfig) -> BatchingParameters:
    if config.batching_parameters_file is None:
        return BatchingParameters()
    return BatchingParameters.from_file(config.batching_parameters_file)


def _metrics_path(config: ServerConfig) -> list[str]:
    """Where the monitoring config wants the metrics; nowhere without one."""
    if config.monitoring_config_file is None:
        return []
    wanted = read(config.monitoring_config_file, "MonitoringConfig", "monitoring_config_file").prometheus_config
    return [wanted.path or _METRICS_PATH] if wanted.enable else []


def _served_version(repository: ModelRepository, name: str) -> str:
    try:
        return f"version {repository.get(name).version}"
    except ServingError:
        return f"not served: {repository.status(name)[0].error_message}"


def _no_model(config: ServerConfig) -> str:
    if config.model_base_path is not None:
        return f"model_base_path: expected a folder that holds VERSION/saved_model.pb. Received: {config.source}"
    return f"models: expected a folder that holds NAME/VERSION/saved_model.pb. Received: {config.source}"
