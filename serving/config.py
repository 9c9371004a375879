"""What to serve and where, as one value and as command-line flags with TF Serving's names. Loads nothing heavy."""

# ruff: noqa: RUF009  a default here is a field with its help text

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_DRAIN_SECONDS = 30.0


def _flag(default: Any, told: str, *, ours: bool = False) -> Any:
    """A field with its help text; `ours` where TF Serving has no such flag."""
    return dataclasses.field(default=default, metadata={"help": told, "ours": ours, "why": ""})


def _idle(default: Any, why: str) -> Any:
    """A flag of TF Serving that is taken, handed on to TF Serving, and otherwise changes nothing: why."""
    told = f"for TensorFlow Serving only: {why}"
    return dataclasses.field(default=default, metadata={"help": told, "ours": False, "why": why})


@dataclasses.dataclass(frozen=True)
class ServerConfig:
    """What to serve and where. Every field but the first is a flag of the same name; all of TF Serving's are here."""

    models: Path | None = _flag(None, "a folder that holds NAME/VERSION/saved_model.pb", ours=True)
    model_name: str = _flag("default", "of the one model at model_base_path")
    model_base_path: Path | None = _flag(None, "of one model: holds VERSION/saved_model.pb")
    model_config_file: Path | None = _flag(None, "the models, a ModelServerConfig in text form")
    model_config_file_poll_wait_seconds: float = _flag(0.0, "how often that file is read again; 0: once")
    file_system_poll_wait_seconds: float = _flag(1.0, "how often versions are looked for; 0: once")
    allow_version_labels_for_unavailable_models: bool = _flag(False, "labels may name versions that do not serve yet")
    enable_model_warmup: bool = _flag(True, "run the requests in assets.extra before a version serves")
    num_request_iterations_for_warmup: int = _flag(1, "how often each of them")
    rest_api_port: int = _flag(8501, "of REST, the page and the probes; 0: a free one")
    port: int = _flag(8500, "of gRPC; 0: a free one")
    grpc_socket_path: str = _flag("", "a UNIX socket for gRPC besides")
    grpc_channel_arguments: str = _flag("", "of the gRPC server, as KEY=VALUE,KEY=VALUE")
    tensorflow_intra_op_parallelism: int = _flag(0, "threads for one operation; 0: TensorFlow's choice")
    tensorflow_inter_op_parallelism: int = _flag(0, "threads for operations at once; 0: TensorFlow's choice")
    tensorflow_session_parallelism: int = _flag(0, "threads for either, where neither is said")
    grpc_max_threads: int = _flag(64, "requests by gRPC that run at once, and so the most rows of a batch")
    rest_api_timeout_in_ms: int = _flag(30_000, "how long a request by REST may run")
    rest_api_enable_cors_support: bool = _flag(False, "pages of other sites may ask")
    enable_batching: bool = _flag(False, "requests that arrive together run together")
    batching_parameters_file: Path | None = _flag(None, "how, as BatchingParameters in text form")
    monitoring_config_file: Path | None = _flag(None, "a MonitoringConfig in text form, for Prometheus")
    ssl_config_file: Path | None = _flag(None, "an SSLConfig in text form, for both ports")
    enable_signature_method_name_check: bool = _flag(False, "a signature answers only what its method_name says")
    enable_serialization_as_tensor_content: bool = _flag(False, "outputs by gRPC as bytes, not in fields by dtype")
    saved_model_tags: str = _flag("serve", "of the graph that is loaded, separated by commas")
    tensorflow_session_config_file: Path | None = _flag(None, "a ConfigProto in text form, for the sessions")
    per_process_gpu_memory_fraction: float = _flag(0.0, "how much of an accelerator's memory is taken; 0: as needed")
    prefer_tflite_model: bool = _flag(False, "run model.tflite of a version, where it has one")
    num_tflite_interpreters_per_pool: int = _flag(1, "how many requests a pool answers at once from such a file")
    num_tflite_pools: int = _flag(0, "how many pools; 0: one a core")
    enable_grpc_healthcheck_service: bool = _flag(True, "grpc.health.v1.Health")
    enable_per_model_batching_parameters: bool = _idle(False, "one set of batching parameters is for all models")
    enable_profiler: bool = _idle(True, "it has no profiler service")
    flush_filesystem_caches: bool = _idle(True, "the caches of files are the system's own business")
    load_retry_interval_micros: int = _idle(60_000_000, "a version that failed is tried again when its files change")
    max_num_load_retries: int = _idle(5, "a version that failed is tried again when its files change")
    mixed_precision: str = _idle("", "a model computes in the types that it was saved with")
    num_load_threads: int = _idle(0, "versions are loaded one after the other")
    num_unload_threads: int = _idle(0, "a version leaves when its last request is answered")
    platform_config_file: Path | None = _idle(None, "it has the one platform, tensorflow")
    remove_unused_fields_from_bundle_metagraph: bool = _idle(True, "a model's description is small")
    rest_api_num_threads: int = _idle(0, "every connection by REST has a thread of its own")
    skip_initialize_tpu: bool = _idle(False, "it knows no TPUs")
    thread_pool_factory_config_file: Path | None = _idle(None, "threads are TensorFlow's own")
    use_alts_credentials: bool = _idle(False, "certificates come from ssl_config_file")
    xla_cpu_compilation_enabled: bool = _idle(False, "what a model says of XLA is done")
    xla_gpu_compilation_enabled: bool = _idle(False, "what a model says of XLA is done")
    host: str = _flag("127.0.0.1", "the address to listen on: only this machine, unless said otherwise", ours=True)
    max_request_bytes: int = _flag(0, "a larger request is refused; 0: any size", ours=True)
    bearer_token_file: Path | None = _flag(None, "holds the token that clients must bring", ours=True)
    drain_delay_seconds: float = _flag(
        0.0, "after SIGTERM, how long to serve on as not ready before the ports close", ours=True
    )
    drain_seconds: float = _flag(_DRAIN_SECONDS, "the longest wait for requests in flight", ours=True)

    def __post_init__(self) -> None:
        sources = [self.models, self.model_base_path, self.model_config_file]
        if sum(source is not None for source in sources) != 1:
            raise ValueError(
                "expected one of: a folder of models, model_base_path, model_config_file. "
                f"Received: {[str(source) for source in sources if source is not None] or 'none'}"
            )
        if self.batching_parameters_file is not None and not self.enable_batching:
            raise ValueError("batching_parameters_file: expected enable_batching with it. Received: false")
        at_least_one = ("grpc_max_threads", "num_request_iterations_for_warmup", "rest_api_timeout_in_ms")
        for name in (*at_least_one, "num_tflite_interpreters_per_pool"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: expected at least 1. Received: {getattr(self, name)}")
        for name in ("intra_op", "inter_op", "session"):
            name = f"tensorflow_{name}_parallelism"
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: expected at least 0. Received: {getattr(self, name)}")
        for name in ("rest_api_port", "port"):
            if not 0 <= getattr(self, name) < 2**16:
                raise ValueError(f"{name}: expected a number from 0 to 65535. Received: {getattr(self, name)}")
        _channel_arguments(self.grpc_channel_arguments)  # refused here rather than when the port opens

    @property
    def source(self) -> Path:
        """Where the models come from: the folder, the base path or the config file, of which there is one."""
        return next(path for path in (self.models, self.model_base_path, self.model_config_file) if path is not None)

    @property
    def grpc_options(self) -> list[tuple[str, int | str]]:
        """What `grpc_channel_arguments` says, as gRPC takes it."""
        return _channel_arguments(self.grpc_channel_arguments)

    def changed(self, ours: bool) -> dict[str, Any]:
        """The flags that differ from their defaults: those of TF Serving, or ours."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.metadata["ours"] == ours and getattr(self, field.name) != field.default
        }

    def idle(self) -> list[str]:
        """A line for each flag that was given and changes nothing in the embedded server."""
        return [
            f"--{field.name} has no effect in the embedded server: {field.metadata['why']}"
            for field in dataclasses.fields(self)
            if field.metadata["why"] and getattr(self, field.name) != field.default
        ]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Gives a parser a flag for every field but `models`. The arguments must have gone through `expand_flags`."""
    for field in _flags():
        kind = str(field.type)
        parser.add_argument(
            f"--{field.name}",
            type=_TYPES[kind],
            default=field.default,
            metavar=kind.partition(" ")[0].upper(),
            help=f"{field.metadata['help']} (default: {field.default})".replace("%", "%%"),
        )


def expand_flags(arguments: Sequence[str]) -> list[str]:
    """Arguments in which a bare `--flag` says `--flag=true`: as in TF Serving, the word after it is not its value.

    >>> expand_flags(["serve", "--enable_batching", "models"])
    ['serve', '--enable_batching=true', 'models']
    """
    switches = {f"--{field.name}" for field in _flags() if field.type == "bool"}
    return [f"{argument}=true" if argument in switches else argument for argument in arguments]


def from_flags(models: Path | None, options: argparse.Namespace) -> ServerConfig:
    """The config that the flags say. As in TF Serving, the one model of `model_base_path` gives way to a config file,
    and `tensorflow_session_parallelism` is for both kinds of threads."""
    values = {field.name: getattr(options, field.name) for field in _flags()}
    if values["model_config_file"] is not None:
        values["model_base_path"] = None
    kinds = ("tensorflow_intra_op_parallelism", "tensorflow_inter_op_parallelism")
    threads = values["tensorflow_session_parallelism"]
    if threads > 0:
        if all(values[kind] > 0 for kind in kinds):
            raise ValueError(
                f"tensorflow_session_parallelism: expected it alone. Received: it and {' and '.join(kinds)}"
            )
        if not any(values[kind] > 0 for kind in kinds):
            values |= dict.fromkeys(kinds, threads)
        values["tensorflow_session_parallelism"] = 0
    return ServerConfig(models, **values)


def _channel_arguments(text: str) -> list[tuple[str, int | str]]:
    """Keys and values, numbers as numbers and all else as text.

    >>> _channel_arguments("grpc.max_connection_age_ms=2000,grpc.lb_policy_name=grpclb")
    [('grpc.max_connection_age_ms', 2000), ('grpc.lb_policy_name', 'grpclb')]
    """
    options: list[tuple[str, int | str]] = []
    for argument in filter(None, text.split(",")):
        key, _, value = argument.partition("=")
        if not key or not value:
            raise ValueError(f"grpc_channel_arguments: expected KEY=VALUE,KEY=VALUE. Received: {argument!r}")
        options.append((key, int(value) if re.fullmatch(r"-?[0-9]+", value) else value))
    return options


def _flags() -> list[dataclasses.Field]:
    return [field for field in dataclasses.fields(ServerConfig) if field.name != "models"]


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise argparse.ArgumentTypeError(f"expected true or false. Received: {text!r}")
    return text.lower() in ("true", "1")


_TYPES: dict[str, Callable[[str], Any]] = {"bool": _truth, "int": int, "float": float, "str": str, "Path | None": Path}
