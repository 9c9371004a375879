"""The embedded server: a folder of models, served by TF Serving's REST and gRPC APIs in this process.

>>> with Server(ServerConfig(Path("models"), rest_api_port=0, port=0)) as server:  # doctest: +SKIP
...     print(server.rest_url, server.grpc_address)
"""

from __future__ import annotations

import signal
import threading
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path

import grpc
from tensorflow_serving.apis import model_service_pb2_grpc, prediction_service_pb2_grpc

from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.grpc_services import ModelService, PredictionService
from seqattn_tf.serving.http_server import DrainingHttpServer
from seqattn_tf.serving.repository import ModelRepository
from seqattn_tf.serving.rest import RestApi

DRAIN_SECONDS = 30.0  # the longest that stop() waits for requests
_GRPC_THREADS = 32
_GRPC_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.so_reuseport", 0),  # a port in use is an error, not a port shared with a stranger
)


@dataclass(frozen=True)
class ServerConfig:
    """What to serve and where; the names are those of TF Serving's flags."""

    model_base_path: Path  # holds NAME/VERSION/saved_model.pb
    rest_api_port: int = 8501  # 0: a free port that the system chooses
    port: int = 8500  # gRPC; 0 likewise
    host: str = "127.0.0.1"  # only this machine, unless asked otherwise
    file_system_poll_wait_seconds: float = 1.0  # 0: look for versions once


class Server:
    """Serves every model of a folder until stopped. Ports open when the models are loaded.

    Args:
        config: what to serve and where.
    """

    def __init__(self, config: ServerConfig):
        self.config = config
        self.repository = ModelRepository(config.model_base_path, config.file_system_poll_wait_seconds)
        self._http: DrainingHttpServer | None = None
        self._grpc: grpc.Server | None = None
        self._grpc_port = 0
        self._stopped = threading.Event()

    @property
    def rest_url(self) -> str:
        """Where the REST API answers, with the real port."""
        if self._http is None:
            raise ValueError("rest_url: expected a started server. Received: one that was not started")
        return f"http://{self.config.host}:{self._http.server_port}"

    @property
    def grpc_address(self) -> str:
        """Where the gRPC API answers, `host:port` with the real port."""
        if self._grpc is None:
            raise ValueError("grpc_address: expected a started server. Received: one that was not started")
        return f"{self.config.host}:{self._grpc_port}"

    def start(self) -> Server:
        """Loads the models, then opens both ports.

        Raises:
            ValueError: there is no model in the folder, or none that loads.
            OSError: a port cannot be had.
        """
        if not self.config.model_base_path.is_dir():
            raise ValueError(_no_model(self.config.model_base_path))
        self.repository.start()
        try:
            self._check_models()
            self._http = _listen(self.config, self.repository)
            self._grpc, self._grpc_port = _grpc_server(self.config, self.repository)
        except BaseException:
            self.repository.stop()
            if self._http is not None:
                self._http.server_close()
            raise
        self._grpc.start()
        self._http.start()
        return self

    def stop(self) -> None:
        """Refuses new requests, finishes those in flight, closes the ports."""
        if self._http is None or self._grpc is None or self._stopped.is_set():
            return
        grpc_done = self._grpc.stop(DRAIN_SECONDS)
        self._http.drain(DRAIN_SECONDS)
        grpc_done.wait()
        self.repository.stop()
        self._stopped.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Blocks until the server has stopped; False when `timeout` seconds pass first."""
        return self._stopped.wait(timeout)

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _check_models(self) -> None:
        """One model must serve. Others may fail to load: their status says why."""
        names = self.repository.names()
        if not names:
            raise ValueError(_no_model(self.config.model_base_path))
        statuses = {name: self.repository.status(name) for name in names}
        if any(status.state == "AVAILABLE" for versions in statuses.values() for status in versions):
            return
        faults = [f"{name}/{status.version}: {status.error_message}" for name in names for status in statuses[name]]
        raise ValueError(f"expected a model that loads in {self.config.model_base_path}. Received: {'; '.join(faults)}")


def serve(config: ServerConfig) -> None:
    """Serves until SIGTERM or SIGINT, then drains. For the main thread of a process.

    Prints one line for each address and for each model.
    """
    signalled = threading.Event()
    previous = {number: signal.signal(number, lambda *_: signalled.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with Server(config) as server:
            print(f"REST  {server.rest_url}")
            print(f"gRPC  grpc://{server.grpc_address}")
            for name in server.repository.names():
                print(f"model {name} {_served_version(server.repository, name)}", flush=True)
            while not signalled.wait(0.2):  # a signal that another thread took does not end the wait of this one
                pass
            print("draining", flush=True)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _served_version(repository: ModelRepository, name: str) -> str:
    try:
        return f"version {repository.get(name).version}"
    except ServingError:
        return f"not served: {repository.status(name)[0].error_message}"


def _listen(config: ServerConfig, repository: ModelRepository) -> DrainingHttpServer:
    try:
        return DrainingHttpServer(config.host, config.rest_api_port, RestApi(repository).handle)
    except OSError as error:
        raise OSError(
            f"rest_api_port: expected a free port. Received: {config.host}:{config.rest_api_port} ({error.strerror})"
        ) from error


def _grpc_server(config: ServerConfig, repository: ModelRepository) -> tuple[grpc.Server, int]:
    threads = futures.ThreadPoolExecutor(_GRPC_THREADS, thread_name_prefix="grpc")
    server = grpc.server(threads, options=_GRPC_OPTIONS)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(PredictionService(repository), server)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(ModelService(repository), server)
    try:
        return server, server.add_insecure_port(f"{config.host}:{config.port}")
    except RuntimeError as error:
        raise OSError(f"port: expected a free port. Received: {config.host}:{config.port}") from error


def _no_model(folder: Path) -> str:
    return f"model_base_path: expected a folder that holds NAME/VERSION/saved_model.pb. Received: {folder}"
