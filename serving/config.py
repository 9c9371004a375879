"""The configuration of a server, as a value and as command-line flags with TF Serving's names. No heavy imports."""

# ruff: noqa: RUF009  a default here is a field with its help text

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from seqattn_tf.serving.limits import Limits

ENGINES = ("tensorflow", "litert")
_DRAIN_SECONDS = 30.0


def _flag(default: Any, help_text: str, *, ours: bool = False) -> Any:
    """Return a field with its help text; `ours` means that TF Serving has no such flag."""
    return dataclasses.field(default=default, metadata={"help": help_text, "ours": ours, "why": ""})


def _idle(default: Any, why: str) -> Any:
    """Return a field for a flag that is passed to TF Serving and has no effect here, with the reason `why`."""
    help_text = f"for TensorFlow Serving only: {why}"
    return dataclasses.field(default=default, metadata={"help": help_text, "ours": False, "why": why})


def _limit(name: str) -> Any:
    """Return a field for a limit of `Limits`; None leaves it to the flag `limits`."""
    [field] = [field for field in dataclasses.fields(Limits) if field.name == name]
    help_text = f"{field.metadata['help']}; 0 for no limit, which is also the default of --limits=tensorflow_serving"
    return dataclasses.field(
        default=None, metadata={"help": help_text, "ours": True, "why": "", "shown": field.default}
    )


@dataclasses.dataclass(frozen=True)
class ServerConfig:
    """The configuration of a server.

    Every field but `models`, `only` and `engine` is a flag of the same name, including all of TF Serving's.
    """

    models: Path | None = _flag(None, "folder with NAME/VERSION/saved_model.pb", ours=True)
    only: tuple[str, ...] = _flag((), "names of the models in the folder to serve; empty for all", ours=True)
    engine: str = _flag(
        "tensorflow",
        "what runs the models: tensorflow for SavedModels, or litert for LiteRT exports, which need no TensorFlow",
        ours=True,
    )
    model_name: str = _flag("default", "name of the model at model_base_path")
    model_base_path: Path | None = _flag(None, "folder of a single model, with VERSION/saved_model.pb")
    model_config_file: Path | None = _flag(None, "ModelServerConfig text proto that lists the models")
    model_config_file_poll_wait_seconds: float = _flag(
        0.0, "seconds between reads of model_config_file; 0 to read it once"
    )
    file_system_poll_wait_seconds: float = _flag(1.0, "seconds between scans for new versions; 0 to scan once")
    allow_version_labels_for_unavailable_models: bool = _flag(
        False, "allow labels for versions that are not available yet"
    )
    enable_model_warmup: bool = _flag(True, "run the requests in assets.extra before a version becomes available")
    num_request_iterations_for_warmup: int = _flag(1, "number of times to run each warm-up request")
    rest_api_port: int = _flag(8501, "port for REST, the web page and the probes; 0 for any free port")
    port: int = _flag(8500, "port for gRPC; 0 for any free port")
    grpc_socket_path: str = _flag("", "also listen for gRPC on this UNIX socket")
    grpc_channel_arguments: str = _flag("", "gRPC server options, as KEY=VALUE,KEY=VALUE")
    tensorflow_intra_op_parallelism: int = _flag(0, "threads within an operation; 0 lets TensorFlow choose")
    tensorflow_inter_op_parallelism: int = _flag(0, "threads across operations; 0 lets TensorFlow choose")
    tensorflow_session_parallelism: int = _flag(0, "threads for both, if neither of the above is set")
    grpc_max_threads: int = _flag(
        64, "maximum number of concurrent gRPC requests, which also limits the size of a batch"
    )
    rest_api_num_threads: int = _flag(
        0, "REST requests that are worked on at once; 0 for four per core, or 64 with batching"
    )
    rest_api_timeout_in_ms: int = _flag(30_000, "timeout of a REST request in milliseconds, from its arrival")
    rest_api_enable_cors_support: bool = _flag(False, "allow cross-origin requests")
    enable_batching: bool = _flag(False, "run concurrent requests as one batch")
    batching_parameters_file: Path | None = _flag(None, "BatchingParameters text proto")
    monitoring_config_file: Path | None = _flag(None, "MonitoringConfig text proto, for Prometheus")
    ssl_config_file: Path | None = _flag(None, "SSLConfig text proto, for both ports")
    enable_signature_method_name_check: bool = _flag(
        False, "require that the method_name of a signature matches the request"
    )
    enable_serialization_as_tensor_content: bool = _flag(
        False, "return gRPC outputs as tensor_content instead of typed fields"
    )
    saved_model_tags: str = _flag("serve", "tags of the graph to load, separated by commas")
    tensorflow_session_config_file: Path | None = _flag(None, "ConfigProto text proto for the sessions")
    per_process_gpu_memory_fraction: float = _flag(0.0, "fraction of GPU memory to allocate; 0 to grow as needed")
    prefer_tflite_model: bool = _flag(False, "run the model.tflite of a version, if it has one")
    num_tflite_interpreters_per_pool: int = _flag(1, "interpreters per pool, each serving one request at a time")
    num_tflite_pools: int = _flag(0, "number of interpreter pools; 0 for one per core")
    enable_grpc_healthcheck_service: bool = _flag(True, "grpc.health.v1.Health")
    enable_per_model_batching_parameters: bool = _idle(False, "all models share one set of batching parameters")
    enable_profiler: bool = _idle(True, "it has no profiler service")
    flush_filesystem_caches: bool = _idle(True, "the operating system manages its file caches")
    load_retry_interval_micros: int = _idle(60_000_000, "a failed version is loaded again when its files change")
    max_num_load_retries: int = _idle(5, "a failed version is loaded again when its files change")
    mixed_precision: str = _idle("", "a model computes in the dtypes that it was saved with")
    num_load_threads: int = _idle(0, "versions are loaded one at a time")
    num_unload_threads: int = _idle(0, "a version is unloaded when its last request has finished")
    platform_config_file: Path | None = _idle(None, "tensorflow is the only platform")
    remove_unused_fields_from_bundle_metagraph: bool = _idle(True, "the descriptions of models are small")
    skip_initialize_tpu: bool = _idle(False, "TPUs are not supported")
    thread_pool_factory_config_file: Path | None = _idle(None, "TensorFlow manages its threads")
    use_alts_credentials: bool = _idle(False, "certificates are read from ssl_config_file")
    xla_cpu_compilation_enabled: bool = _idle(False, "models are compiled with XLA where they request it")
    xla_gpu_compilation_enabled: bool = _idle(False, "models are compiled with XLA where they request it")
    host: str = _flag(
        "127.0.0.1", "address to listen on; the default accepts connections from this machine only", ours=True
    )
    limits: str = _flag(
        "default",
        "limits of what clients may send and occupy: default, or tensorflow_serving for none",
        ours=True,
    )
    max_connections: int | None = _limit("max_connections")
    idle_seconds: float | None = _limit("idle_seconds")
    request_seconds: float | None = _limit("request_seconds")
    reply_seconds: float | None = _limit("reply_seconds")
    max_header_bytes: int | None = _limit("max_header_bytes")
    max_request_bytes: int | None = _limit("max_request_bytes")
    max_request_values: int | None = _limit("max_request_values")
    max_request_depth: int | None = _limit("max_request_depth")
    max_rows: int | None = _limit("max_rows")
    max_reply_values: int | None = _limit("max_reply_values")
    max_large_requests: int | None = _limit("max_large_requests")
    max_buffered_bytes: int | None = _limit("max_buffered_bytes")
    max_grpc_connections: int | None = _limit("max_grpc_connections")
    max_calls: int | None = _limit("max_calls")
    bearer_token_file: Path | None = _flag(None, "file with the bearer token that clients must send", ours=True)
    access_log: Path | None = _flag(None, "file to append requests to, as lines of JSON; - for stdout", ours=True)
    drain_delay_seconds: float = _flag(
        0.0, "seconds to keep serving, as not ready, after SIGTERM and before the ports close", ours=True
    )
    drain_seconds: float = _flag(_DRAIN_SECONDS, "maximum seconds to wait for requests in flight", ours=True)

    def __post_init__(self) -> None:
        self.front_limits  # noqa: B018  fail now rather than when the ports are opened
        sources = [self.models, self.model_base_path, self.model_config_file]
        if sum(source is not None for source in sources) != 1:
            raise ValueError(
                "expected one of: a folder of models, model_base_path, model_config_file. "
                f"Received: {[str(source) for source in sources if source is not None] or 'none'}"
            )
        if self.engine not in ENGINES:
            raise ValueError(f"engine: expected one of {', '.join(ENGINES)}. Received: {self.engine!r}")
        if self.engine == "litert" and self.models is None:
            raise ValueError(f"engine: expected tensorflow for {self.source}. Received: 'litert', which needs a folder")
        if self.batching_parameters_file is not None and not self.enable_batching:
            raise ValueError("batching_parameters_file: expected enable_batching=true with this file. Received: false")
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
        _channel_arguments(self.grpc_channel_arguments)  # fail now rather than when the port is opened

    @property
    def source(self) -> Path:
        """The source of the models: the folder of models, the base path or the config file.

        Exactly one of them is set.
        """
        return next(path for path in (self.models, self.model_base_path, self.model_config_file) if path is not None)

    @property
    def front_limits(self) -> Limits:
        """The limits of the front ends: those of the flag `limits`, changed by the flags of single limits."""
        names = [field.name for field in dataclasses.fields(Limits)]
        return Limits.of(self.limits, **{name: getattr(self, name) for name in names})

    @property
    def grpc_options(self) -> list[tuple[str, int | str]]:
        """The options in `grpc_channel_arguments`, in the form that gRPC requires."""
        return _channel_arguments(self.grpc_channel_arguments)

    def changed(self, ours: bool) -> dict[str, Any]:
        """Return the flags that differ from their defaults: either ours or those of TF Serving."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.metadata["ours"] == ours and getattr(self, field.name) != field.default
        }

    def idle(self) -> list[str]:
        """Return a message for each given flag that has no effect in the embedded server."""
        return [
            f"--{field.name} has no effect in the embedded server: {field.metadata['why']}"
            for field in dataclasses.fields(self)
            if field.metadata["why"] and getattr(self, field.name) != field.default
        ]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for every field that is one to a parser. The arguments must have gone through `expand_flags`."""
    for field in _flags():
        kind = str(field.type)
        parser.add_argument(
            f"--{field.name}",
            type=_TYPES[kind],
            default=field.default,
            metavar=kind.partition(" ")[0].upper(),
            help=f"{field.metadata['help']} (default: {field.metadata.get('shown', field.default)})".replace("%", "%%"),
        )


def expand_flags(arguments: Sequence[str]) -> list[str]:
    """Replace each bare `--flag` by `--flag=true`; as in TF Serving, the next argument is not its value.

    >>> expand_flags(["serve", "--enable_batching", "models"])
    ['serve', '--enable_batching=true', 'models']
    """
    switches = {f"--{field.name}" for field in _flags() if field.type == "bool"}
    return [f"{argument}=true" if argument in switches else argument for argument in arguments]


def from_flags(
    models: Path | None, options: argparse.Namespace, only: tuple[str, ...] = (), engine: str = "tensorflow"
) -> ServerConfig:
    """Return the configuration given by the flags, with the models and the engine, which are not flags of TF Serving.

    As in TF Serving, a config file takes precedence over the one model of `model_base_path`, and
    `tensorflow_session_parallelism` applies to both kinds of threads.
    """
    values = {field.name: getattr(options, field.name) for field in _flags()}
    if values["model_config_file"] is not None:
        values["model_base_path"] = None
    kinds = ("tensorflow_intra_op_parallelism", "tensorflow_inter_op_parallelism")
    threads = values["tensorflow_session_parallelism"]
    if threads > 0:
        if all(values[kind] > 0 for kind in kinds):
            raise ValueError(
                "tensorflow_session_parallelism: expected no other parallelism flags with it. "
                f"Received: {' and '.join(kinds)}"
            )
        if not any(values[kind] > 0 for kind in kinds):
            values |= dict.fromkeys(kinds, threads)
        values["tensorflow_session_parallelism"] = 0
    return ServerConfig(models, only, engine, **values)


def _channel_arguments(text: str) -> list[tuple[str, int | str]]:
    """Parse keys and values; integers become numbers, everything else stays text.

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
    return [field for field in dataclasses.fields(ServerConfig) if field.name not in ("models", "only", "engine")]


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise argparse.ArgumentTypeError(f"expected true or false. Received: {text!r}")
    return text.lower() in ("true", "1")


_TYPES: dict[str, Callable[[str], Any]] = {"bool": _truth, "int": int, "float": float, "str": str, "Path | None": Path}
_TYPES |= {"int | None": int, "float | None": float}
