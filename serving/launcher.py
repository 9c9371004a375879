"""TensorFlow Serving as a subprocess or container: find, configure, start, monitor and stop it.

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
_LAST_LINES = 20  # lines of its log, shown if it fails


def find() -> str | None:
    """Return the path of the server's binary, or None if it is not installed."""
    return shutil.which(BINARY)


class TensorFlowServing:
    """A running TensorFlow Serving, either the binary or a container.

    Args:
        config: The configuration. A folder of models is converted to the config file that TensorFlow Serving requires.
        container_image: The image to run with Docker; if empty, the binary is run.
        log: A function that receives every line of the server's output.
        timeout: The number of seconds within which all models must be available.

    Raises:
        ValueError: If the configuration uses a feature that TensorFlow Serving does not have.
    """

    def __init__(
        self,
        config: ServerConfig,
        container_image: str = "",
        log: Callable[[str], None] = lambda line: print(line, file=sys.stderr),
        timeout: float = 300.0,
    ):
        unknown = sorted(set(config.changed(ours=True)) - {"models", "only", "host", "drain_seconds"})
        if unknown:
            raise ValueError(f"expected flags of TensorFlow Serving. Received: {', '.join(unknown)}")
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
        """The URL of the REST API."""
        return f"http://127.0.0.1:{self.config.rest_api_port}"

    @property
    def grpc_address(self) -> str:
        """The address of the gRPC API."""
        return f"127.0.0.1:{self.config.port}"

    def start(self) -> TensorFlowServing:
        """Write the config files, start the server and wait until every model is available.

        Raises:
            OSError: If the server cannot be started.
            ServingError: If it exits, or if a model is not available in time. The message contains the end of its log.
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
        """Stop the server with SIGTERM, or with SIGKILL after a timeout; return its exit code."""
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
        """Raise a ServingError with the end of the log if the server has exited or was never started."""
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
        message = f"TensorFlow Serving: expected it to start. Received: {how}. End of its log:\n{log}"
        return ServingError("UNAVAILABLE", message)


def serve(config: ServerConfig, container_image: str = "") -> None:
    """Run TensorFlow Serving until SIGTERM or SIGINT, or until it exits. Only for the main thread of a process.

    Raises:
        ServingError: If the server exits without a signal.
    """
    with stop_signals() as told, TensorFlowServing(config, container_image) as server:
        grpc = "grpcs" if config.ssl_config_file else "grpc"  # its REST API has no TLS
        print(f"REST  {server.rest_url}\ngRPC  {grpc}://{server.grpc_address}", flush=True)
        while not told.wait(0.2):
            server.check()


@dataclass(frozen=True)
class _Plan:
    command: list[str]
    names: list[str]  # names of the models to wait for


def _plan(config: ServerConfig, folder: Path, image: str) -> _Plan:
    """Return the command for the configuration, and write the files that it needs."""
    from seqattn_tf.serving.models.model_config import folder_of_models, list_models, read_config_file

    always = ("rest_api_port", "port", "enable_model_warmup")
    flags = config.changed(ours=False) | {name: getattr(config, name) for name in always}
    mounts: dict[Path, str] = {}

    def seen(path: Path, there: str) -> str:
        """Return the path from the server's point of view: in a container, the path of the mount."""
        if not image:
            return str(path.absolute())
        mounts[path.absolute()] = there
        return there

    if config.models is not None:
        models = folder_of_models(config.models.absolute(), config.only)()
        if not models:
            raise ValueError(f"models: expected a folder with NAME/VERSION/saved_model.pb. Received: {config.models}")
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
    """Format a value for TensorFlow Serving: booleans in lower case, and whole seconds as 2 instead of 2.0."""
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
    """Return the given port, or a free port for 0, which TensorFlow Serving does not support."""
    if wanted:
        return wanted
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]
