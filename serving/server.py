"""The embedded server: it serves models with TF Serving's REST and gRPC APIs in the current process.

>>> with Server(ServerConfig(Path("models"), rest_api_port=0, port=0)) as server:  # doctest: +SKIP
...     print(server.rest_url, server.grpc_address)
"""

from __future__ import annotations

import contextlib
import gc
import logging
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from seqattn_tf.export.versions import EXTRA
from seqattn_tf.serving import protos
from seqattn_tf.serving.api.exchange import Reply, Request
from seqattn_tf.serving.api.grpc_services import ModelService, PredictionService
from seqattn_tf.serving.api.metrics import CONTENT_TYPE, Metrics
from seqattn_tf.serving.api.rest import RestApi
from seqattn_tf.serving.config import ServerConfig
from seqattn_tf.serving.cores import usable_cores
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.front import health, reflection
from seqattn_tf.serving.front.access import Certificates, Token
from seqattn_tf.serving.front.access_log import AccessLog
from seqattn_tf.serving.front.grpc_server import GrpcServer, Stream
from seqattn_tf.serving.front.http_server import HttpServer
from seqattn_tf.serving.front.page import MODELS_PATH, Page
from seqattn_tf.serving.front.site import Site, probe
from seqattn_tf.serving.models.batcher import Batcher
from seqattn_tf.serving.models.batching import BatchingParameters
from seqattn_tf.serving.models.engine import Engine
from seqattn_tf.serving.models.lite import LiteEngine
from seqattn_tf.serving.models.lite_export import LiteExportEngine
from seqattn_tf.serving.models.model_config import (
    ModelConfig,
    Models,
    folder_of_models,
    list_models,
    read_config_file,
)
from seqattn_tf.serving.models.repository import ModelRepository
from seqattn_tf.serving.models.servable import Servable
from seqattn_tf.serving.models.version_folders import LITE_FILE, lite_exports, saved_models
from seqattn_tf.serving.protos import ModelServerConfig
from seqattn_tf.serving.protos.services import MODEL, PREDICTION, methods
from seqattn_tf.serving.signals import stop_signals
from seqattn_tf.serving.text_protos import read
from seqattn_tf.serving.warmup import warm

LOG = logging.getLogger(__name__)
_SETTLE_SECONDS = 0.05  # wait in each step of a shutdown, for calls on their way through gRPC
# Seconds for which a busy thread may hold up an event loop after each of its system calls. With Python's default of
# 5 ms, one thread that writes a large reply delays hundreds of connections by seconds.
_SWITCH_SECONDS = 0.0002
_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
_BATCHING_THREADS = 64  # requests that may wait for a batch at once
_METRICS_PATH = "/monitoring/prometheus/metrics"
# Service names for health checks; TF Serving supports the short ones.
_HEALTH_NAMES = ("", "ModelService", "PredictionService")
_SERVICES = (PREDICTION, MODEL)


class Server:
    """A server for models.

    Its ports open after SavedModels are loaded, as in TF Serving. LiteRT exports load in the background, and each
    answers as soon as it is ready.

    Args:
        config: The configuration of the server.
        attempted: A function that is called with the name of each model after the first attempt to load it.

    Raises:
        ValueError: If a file in the configuration cannot be read.
    """

    def __init__(self, config: ServerConfig, attempted: Callable[[str], None] = lambda name: None):
        self.config = config
        self.metrics = Metrics()
        self._open = self._lite_export if config.engine == "litert" else _saved_model_opener(config)
        self._batcher = Batcher(_batching(config), self.metrics.batched) if config.enable_batching else None
        self._certificates = Certificates.from_file(config.ssl_config_file) if config.ssl_config_file else None
        self._access_log = AccessLog(config.access_log) if config.access_log else None
        self._token = Token.from_file(config.bearer_token_file) if config.bearer_token_file else Token()
        file = config.model_config_file
        self._model_config = ModelServerConfig() if file is None else read_config_file(file)
        self.repository = ModelRepository(
            _models(config, self._model_config),
            self._load,
            config.file_system_poll_wait_seconds,
            labels_need_a_version=not config.allow_version_labels_for_unavailable_models,
            versions=lite_exports if config.engine == "litert" else saved_models,
            attempted=attempted,
        )
        self._health = health.Health((*_HEALTH_NAMES, *_SERVICES))
        self._http: HttpServer | None = None
        self._grpc: GrpcServer | None = None
        self._draining = False
        self._stopped = threading.Event()

    @property
    def rest_url(self) -> str:
        """The URL of the REST API, with the actual port."""
        if self._http is None:
            raise ValueError("rest_url: expected a running server. Received: a server that was not started")
        return f"{'https' if self._certificates else 'http'}://{self.config.host}:{self._http.server_port}"

    @property
    def grpc_address(self) -> str:
        """The address of the gRPC API, `host:port` with the actual port."""
        if self._grpc is None:
            raise ValueError("grpc_address: expected a running server. Received: a server that was not started")
        return f"{self.config.host}:{self._grpc.port}"

    @property
    def grpc_url(self) -> str:
        """The URL of the gRPC API, for clients of this package."""
        return f"{'grpcs' if self._certificates else 'grpc'}://{self.grpc_address}"

    @property
    def ready(self) -> bool:
        """Whether the server is ready for requests.

        That is so once each of the first models has been loaded or refused, if at least one is served, until the server
        stops. A model or version that cannot be loaded does not take the others out of service.
        """
        return not self._draining and not self._stopped.is_set() and self.repository.is_ready()

    def start(self) -> Server:
        """Load the models and open the ports.

        Raises:
            ValueError: If there is no model, or if none can be loaded.
            OSError: If a port is not available.
        """
        with contextlib.ExitStack() as undo:
            undo.callback(self.repository.stop)
            self._load_models()
            self._http = self._listen()
            undo.callback(self._http.close)
            self._grpc = self._listen_grpc()
            undo.pop_all()
        self._health.set(True)
        self._grpc.start()
        self._http.start()
        file = self.config.model_config_file
        if file is not None and self.config.model_config_file_poll_wait_seconds > 0:
            threading.Thread(target=self._follow, args=(file,), name="config-poll", daemon=True).start()
        return self

    def stop(self) -> None:
        """Report that the server is not ready, reject new requests, finish current requests, and close the ports."""
        if self._http is None or self._grpc is None or self._draining:
            return
        self._draining = True
        self._health.set(False)
        self._stopped.wait(self.config.drain_delay_seconds + _SETTLE_SECONDS)  # gRPC dispatches calls that have arrived
        self._grpc.refuse_calls()
        self._stopped.wait(_SETTLE_SECONDS)  # later calls receive an error
        draining = threading.Thread(target=self._http.drain, args=(self.config.drain_seconds,), name="drain")
        draining.start()
        self._grpc.stop(self.config.drain_seconds)
        draining.join()
        self.repository.stop()
        if self._batcher is not None:
            self._batcher.close()
        if self._access_log is not None:
            self._access_log.close()
        self._stopped.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the server has stopped; return False if `timeout` seconds pass first."""
        return self._stopped.wait(timeout)

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _load(self, name: str, version: int, path: Path) -> Servable:
        """Load a version and run its warmup requests."""
        if self.config.engine == "litert":
            return Servable(name, version, self._open(path), folder=path)
        check = self.config.enable_signature_method_name_check
        servable = Servable(name, version, self._open(path), self._batcher, check, path / EXTRA)
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

    def _lite_export(self, path: Path) -> Engine:
        return LiteExportEngine(path, _interpreters(self.config))

    def _load_models(self) -> None:
        """Load the models. At least one must load; the status of the others contains the error."""
        where = self.config.source
        if self.config.models is not None and not self.config.models.is_dir():
            raise ValueError(_no_model(self.config))
        self.repository.start(wait=self.config.engine != "litert")
        names = self.repository.names()
        if not names:
            raise ValueError(_no_model(self.config))
        if self.config.engine != "litert" and len(self.repository.missing()) == len(names):
            statuses = [(name, status) for name in names for status in self.repository.status(name)]
            faults = "; ".join(f"{name}/{status.version}: {status.error_message}" for name, status in statuses)
            raise ValueError(f"expected a model that loads in {where}. Received: {faults}")

    def _listen(self) -> HttpServer:
        config, page = self.config, Page(self.repository)
        api = RestApi(
            self.repository,
            self.metrics,
            config.rest_api_timeout_in_ms / 1000,
            config.rest_api_enable_cors_support,
            config.front_limits,
            self._token.is_needed,
        )
        site = Site(
            api.begin,
            private={MODELS_PATH: page.models} | {path: self._metrics_page for path in _metrics_path(config)},
            public={"/healthz": probe(lambda: True), "/readyz": probe(lambda: self.ready, self.repository.missing)},
            page=page.answer,
            token=self._token,
            headers=api.headers,
        )
        tls = self._certificates.context() if self._certificates else None
        try:
            return HttpServer(
                config.host,
                config.rest_api_port,
                site.begin,
                tls,
                config.front_limits,
                self.metrics.limited,
                site.probes,
                config.rest_api_num_threads or (_BATCHING_THREADS if config.enable_batching else 0),
                self._access_log,
            )
        except OSError as error:
            where = f"{config.host}:{config.rest_api_port} ({error.strerror})"
            raise OSError(f"rest_api_port: expected a free port. Received: {where}") from error

    def _metrics_page(self, _: Request) -> Reply:
        return Reply(200, self.metrics.render(), CONTENT_TYPE)

    def _listen_grpc(self) -> GrpcServer:
        config, limits = self.config, self.config.front_limits
        predictions = PredictionService(
            self.repository, self.metrics, config.enable_serialization_as_tensor_content, limits
        )
        answers = methods(PREDICTION, predictions) | methods(MODEL, ModelService(self.repository, self.metrics))
        services = [*_SERVICES, reflection.SERVICE_NAME]
        streams: dict[str, Stream] = {}
        if config.enable_grpc_healthcheck_service:
            answers |= self._health.methods
            streams |= self._health.streams
            services.append(health.SERVICE)
        return GrpcServer(
            [f"{config.host}:{config.port}", *([f"unix:{path}"] if (path := config.grpc_socket_path) else [])],
            answers,
            {**streams, **reflection.streams(services)},
            self._token,
            (f"/{health.SERVICE}/",),
            self._certificates.grpc() if self._certificates else None,
            limits,
            self.metrics.limited,
            config.grpc_max_threads,
            config.grpc_options,
            self._access_log,
        )

    def _follow(self, config_file: Path) -> None:
        """Reload the config file whenever it changes; a file that cannot be served has no effect."""
        known = self._model_config
        while not self._stopped.wait(self.config.model_config_file_poll_wait_seconds) and not self._draining:
            try:
                config = read_config_file(config_file)
                if config != known:
                    known = config
                    self.repository.reload(config)
            except (ValueError, ServingError) as error:
                LOG.warning("the model config file was rejected: %s", error)


def serve(config: ServerConfig) -> None:
    """Serve until SIGTERM or SIGINT, then drain. Only for the main thread of a process.

    Prints one line for each address and for each model: LiteRT exports as soon as they have loaded. SavedModels load
    before the ports open; until then, their progress appears on standard error.
    """
    early = config.engine == "litert"
    attempted: list[str] = []

    def show(name: str) -> None:
        attempted.append(name)
        progress = f"({len(attempted)} of {len(server.repository.names())})"
        line = f"model {name} {_served_version(server.repository, name)}"
        print(line, progress, file=sys.stdout if early else sys.stderr, flush=True)

    server = Server(config, show)
    gc.collect()
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.freeze()  # imported objects are permanent, so the garbage collector need not scan them repeatedly
    with stop_signals() as stopped, server:
        if config.host in _THIS_MACHINE:
            print("only this machine can connect; --host=0.0.0.0 lets others connect, too", file=sys.stderr)
        print(f"page  {server.rest_url}/")
        print(f"REST  {server.rest_url}")
        print(f"gRPC  {server.grpc_url}", flush=True)
        for name in () if early else server.repository.names():
            print(f"model {name} {_served_version(server.repository, name)}", flush=True)
        while not stopped.wait(0.2):
            pass
        print("draining", flush=True)


def _models(config: ServerConfig, model_config: ModelServerConfig) -> Callable[[], Models]:
    if config.models is not None:
        return folder_of_models(config.models.absolute(), config.only)
    if config.model_base_path is not None:
        one = ModelConfig(config.model_name, config.model_base_path.absolute())
        return lambda: {one.name: one}
    try:
        models = list_models(model_config)
    except ServingError as error:
        raise ValueError(f"model_config_file: {error.message}") from error
    return lambda: models


def _saved_model_opener(config: ServerConfig) -> Callable[[Path], Engine]:
    """Return a function that opens the SavedModel in a folder, or its LiteRT file if the config prefers that."""
    from seqattn_tf.serving.models.session import SessionEngine, session_config  # TensorFlow

    session, tags = session_config(config), config.saved_model_tags.split(",")

    def open_model(path: Path) -> Engine:
        if config.prefer_tflite_model and (path / LITE_FILE).is_file():
            return LiteEngine(path / LITE_FILE, _interpreters(config))
        return SessionEngine(path, session, tags)

    return open_model


def _interpreters(config: ServerConfig) -> int:
    """Return the maximum number of LiteRT interpreters of a model."""
    return (config.num_tflite_pools or usable_cores()) * config.num_tflite_interpreters_per_pool


def _batching(config: ServerConfig) -> BatchingParameters:
    if config.batching_parameters_file is None:
        return BatchingParameters()
    return BatchingParameters.from_file(config.batching_parameters_file)


def _metrics_path(config: ServerConfig) -> list[str]:
    """Return the path of the metrics in the monitoring config; empty if metrics are disabled."""
    if config.monitoring_config_file is None:
        return []
    wanted = read(config.monitoring_config_file, protos.MonitoringConfig(), "monitoring_config_file").prometheus_config
    return [wanted.path or _METRICS_PATH] if wanted.enable else []


def _served_version(repository: ModelRepository, name: str) -> str:
    try:
        return f"version {repository.get(name).version}"
    except ServingError:
        return f"not served: {repository.status(name)[0].error_message}"


def _no_model(config: ServerConfig) -> str:
    if config.engine == "litert":
        return f"models: expected a folder with NAME/VERSION/assets.extra/lite. Received: {config.source}"
    if config.model_base_path is not None:
        return f"model_base_path: expected a folder with VERSION/saved_model.pb. Received: {config.source}"
    return f"models: expected a folder with NAME/VERSION/saved_model.pb. Received: {config.source}"
