"""TensorFlow Serving itself: found, configured, started, waited for, listened to and stopped.

>>> with TensorFlowServing(ServerConfig(Path("models"))) as server:  # doctest: +SKIP
...     print(server.rest_url, server.grpc_address)
"""

from __future__ import annotations

import collections
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from seqattn_tf.serving.client import RestClient
from seqattn_tf.serving.config import ServerConfig
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.signals import stop_signals

BINARY = "tensorflow_model_server"
_LAST_LINES = 20  # of its log, shown when it fails


def find() -> str | None:
    """The path of the server's binary; None where it is not installed."""
    return shutil.which(BINARY)


class TensorFlowServing:
    """A running TensorFlow Serving, the binary or a container of it.

    Args:
        config: what to serve and where. A folder of models is written down as the config file that the server wants.
        container_image: the image to run with Docker; empty runs the binary.
        log: takes every line that the server writes.
        timeout: seconds until all models must serve.

    Raises:
        ValueError: the config asks for something that TensorFlow Serving does not have.
    """

    def __init__(
        self,
        config: ServerConfig,
        container_image: str = "",
        log: Callable[[str], None] = lambda line: print(line, file=sys.stderr),
        timeout: float = 300.0,
    ):
        unknown = sorted(set(config.changed(ours=True)) - {"models", "host", "drain_seconds"})
        if unknown:
            raise ValueError(f"expected flags that TensorFlow Serving has. Received: {', '.join(unknown)}")
        self.config = replace(config, rest_api_port=_port(config.rest_api_port), port=_port(config.port))
        self._image = container_image
        self._log = log
        self._timeout = timeout
        self._last: collections.deque[str] = collections.deque(maxlen=_LAST_LINES)
        self._folder: tempfile.TemporaryDirectory | None = None
        self._process: subprocess.Popen | None = None
        self._reader: threading.Thread | None = None

    @property
    def rest_url(self) -> str:
        """Where the REST API answers."""
        return f"http://127.0.0.1:{self.config.rest_api_port}"

    @property
    def grpc_address(self) -> str:
        """Where the gRPC API answers."""
        return f"127.0.0.1:{self.config.port}"

    def start(self) -> TensorFlowServing:
        """Writes the config files, starts the server and waits until every model serves.

        Raises:
            OSError: it cannot be started.
            ServingError: it ended, or a model did not become available in time; with the end of its log.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="seqattn-serving-")
        try:
            plan = _plan(self.config, Path(self._folder.name), self._image)
            self._process = subprocess.Popen(
                plan.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
            )
            self._reader = threading.Thread(
                target=self._read, args=(self._process.stdout,), name="tensorflow-serving-log", daemon=True
            )
            self._reader.start()
            self._wait_until_ready(plan.names)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> int | None:
        """Ends the server: SIGTERM, and SIGKILL when it does not listen; its exit code."""
        code = None
        if self._process is not None:
            self._process.terminate()
            try:
                code = self._process.wait(self.config.drain_seconds)
            except subprocess.TimeoutExpired:
                self._process.kill()
                code = self._process.wait()
            if self._reader is not None:
                self._reader.join()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
        return code

    def check(self) -> None:
        """Raises ServingError, with the end of its log, if the server has ended or was never started."""
        if self._process is None or self._reader is None:
            raise self._failed("not running")
        if self._process.poll() is not None:
            self._reader.join()
            raise self._failed(f"ended with exit code {self._process.returncode}")

    def __enter__(self) -> TensorFlowServing:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _read(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._last.append(line.rstrip("\n"))
            self._log(self._last[-1])

    def _wait_until_ready(self, names: list[str]) -> None:
        end = time.monotonic() + self._timeout
        waiting = list(names)
        with closing(RestClient(self.rest_url, retries=0, timeout=5)) as client:
            while waiting:
                self.check()
                if time.monotonic() > end:
                    raise self._failed(f"not ready after {self._timeout:g} s: {', '.join(waiting)}")
                if _serves(client, waiting[0]):
                    waiting.pop(0)
                else:
                    time.sleep(0.1)

    def _failed(self, how: str) -> ServingError:
        log = "\n".join(self._last)
        message = f"TensorFlow Serving: expected it to serve. Received: {how}. The end of its log:\n{log}"
        return ServingError("UNAVAILABLE", message)


def serve(config: ServerConfig, container_image: str = "") -> None:
    """Runs TensorFlow Serving until SIGTERM or SIGINT, or until it ends. For the main thread of a process.

    Raises:
        ServingError: it ended by itself.
    """
    with stop_signals() as told, TensorFlowServing(config, container_image) as server:
        print(f"REST  {server.rest_url}\ngRPC  grpc://{server.grpc_address}", flush=True)
        while not told.wait(0.2):
            server.check()


@dataclass(frozen=True)
class _Plan:
    command: list[str]
    names: list[str]  # of the models to wait for


def _plan(config: ServerConfig, folder: Path, image: str) -> _Plan:
    """The command that serves what the config says, and the files it needs."""
    from seqattn_tf.serving.models.model_config import folder_of_models, list_models, read_config_file

    always = ("rest_api_port", "port", "enable_model_warmup")
    flags = config.changed(ours=False) | {name: getattr(config, name) for name in always}
    mounts: dict[Path, str] = {}

    def seen(path: Path, there: str) -> str:
        """A path as the server sees it."""
        if not image:
            return str(path.absolute())
        mounts[path.absolute()] = there
        return there

    if config.models is not None:
        models = folder_of_models(config.models.absolute())()
        if not models:
            raise ValueError(
                f"models: expected a folder that holds NAME/VERSION/saved_model.pb. Received: {config.models}"
            )
        listed = "".join(
            f"  config {{ name: {json.dumps(name)} base_path: {json.dumps(seen(model.base_path, f'/models/{name}'))} "
            f'model_platform: "tensorflow" }}\n'
            for name, model in models.items()
        )
        path = folder / "models.config"
        path.write_text(f"model_config_list {{\n{listed}}}\n", encoding="utf-8")
        flags["model_config_file"] = path
        names = list(models)
    elif config.model_base_path is not None:
        flags["model_base_path"] = seen(config.model_base_path, f"/models/{config.model_name}")
        names = [config.model_name]
    else:
        models = list_models(read_config_file(config.source))
        for model in models.values():
            seen(model.base_path, str(model.base_path))
        names = list(models)
    for name, value in flags.items():
        if name.endswith("_file"):
            flags[name] = seen(Path(value), f"/config/{name}")
    arguments = [f"--{name}={_spelled(value)}" for name, value in flags.items()]
    if not image:
        return _Plan([find() or BINARY, *arguments], names)
    ports = [f"--publish={config.host}:{number}:{number}" for number in (config.port, config.rest_api_port)]
    volumes = [f"--volume={path}:{there}:ro" for path, there in mounts.items()]
    return _Plan(["docker", "run", "--rm", *ports, *volumes, f"--entrypoint={BINARY}", image, *arguments], names)


def _spelled(value: object) -> str:
    """A value as TensorFlow Serving reads it: `true`, and 2 where it counts whole seconds, not 2.0."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _serves(client: RestClient, name: str) -> bool:
    try:
        versions = client.status(name)["model_version_status"]
    except ServingError:
        return False
    return any(version["state"] == "AVAILABLE" for version in versions)


def _port(wanted: int) -> int:
    """The port itself, or a free one: the server knows no port 0."""
    if wanted:
        return wanted
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]
