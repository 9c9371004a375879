"""What to serve and where, as one value and as command-line flags with TF Serving's names. Loads nothing heavy."""

# ruff: noqa: RUF009  a default here is a field with its help text

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

DRAIN_SECONDS = 30.0


def _flag(default: Any, told: str, *, ours: bool = False) -> Any:
    """A field with its help text; `ours` where TF Serving has no such flag."""
    return dataclasses.field(default=default, metadata={"help": told, "ours": ours})


@dataclasses.dataclass(frozen=True)
class ServerConfig:
    """What to serve and where. Every field but the first is a flag of the same name."""

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
    tensorflow_intra_op_parallelism: int = _flag(0, "threads for one operation; 0: TensorFlow's choice")
    tensorflow_inter_op_parallelism: int = _flag(0, "threads for operations at once; 0: TensorFlow's choice")
    grpc_max_threads: int = _flag(64, "requests by gRPC that run at once, and so the most rows of a batch")
    rest_api_timeout_in_ms: int = _flag(30_000, "how long a request by REST may run")
    rest_api_enable_cors_support: bool = _flag(False, "pages of other sites may ask")
    enable_batching: bool = _flag(False, "requests that arrive together run together")
    batching_parameters_file: Path | None = _flag(None, "how, as BatchingParameters in text form")
    monitoring_config_file: Path | None = _flag(None, "a MonitoringConfig in text form, for Prometheus")
    ssl_config_file: Path | None = _flag(None, "an SSLConfig in text form, for both ports")
    enable_signature_method_name_check: bool = _flag(False, "a signature answers only what its method_name says")
    enable_serialization_as_tensor_content: bool = _flag(False, "outputs by gRPC as bytes, not in fields by dtype")
    prefer_tflite_model: bool = _flag(False, "run model.tflite of a version, where it has one")
    enable_grpc_healthcheck_service: bool = _flag(True, "grpc.health.v1.Health")
    host: str = _flag("127.0.0.1", "the address to listen on: only this machine, unless said otherwise", ours=True)
    max_request_bytes: int = _flag(0, "a larger request is refused; 0: any size", ours=True)
    bearer_token_file: Path | None = _flag(None, "holds the token that clients must bring", ours=True)
    drain_delay_seconds: float = _flag(
        0.0, "after SIGTERM, how long to serve on as not ready before the ports close", ours=True
    )
    drain_seconds: float = _flag(DRAIN_SECONDS, "the longest wait for requests in flight", ours=True)

    def __post_init__(self) -> None:
        sources = [self.models, self.model_base_path, self.model_config_file]
        if sum(source is not None for source in sources) != 1:
            raise ValueError(
                "expected one of: a folder of models, model_base_path, model_config_file. "
                f"Received: {[str(source) for source in sources if source is not None] or 'none'}"
            )
        if self.batching_parameters_file is not None and not self.enable_batching:
            raise ValueError("batching_parameters_file: expected enable_batching with it. Received: false")
        for name in ("grpc_max_threads", "num_request_iterations_for_warmup", "rest_api_timeout_in_ms"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: expected at least 1. Received: {getattr(self, name)}")
        for name in ("tensorflow_intra_op_parallelism", "tensorflow_inter_op_parallelism"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: expected at least 0. Received: {getattr(self, name)}")
        for name in ("rest_api_port", "port"):
            if not 0 <= getattr(self, name) < 2**16:
                raise ValueError(f"{name}: expected a number from 0 to 65535. Received: {getattr(self, name)}")

    def changed(self, ours: bool) -> dict[str, Any]:
        """The flags that differ from their defaults: those of TF Serving, or ours."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.metadata["ours"] == ours and getattr(self, field.name) != field.default
        }


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Gives a parser a flag for every field but `models`. `--flag=true` and a bare `--flag` are the same."""
    for field in dataclasses.fields(ServerConfig):
        if field.name != "models":
            more = {"nargs": "?", "const": True} if field.type == "bool" else {}
            parser.add_argument(
                f"--{field.name}",
                type=_TYPES[field.type],
                default=field.default,
                metavar=field.type.partition(" ")[0].upper(),
                help=f"{field.metadata['help']} (default: {field.default})",
                **more,
            )


def from_flags(models: Path | None, options: argparse.Namespace) -> ServerConfig:
    """The config that the flags say."""
    names = [field.name for field in dataclasses.fields(ServerConfig) if field.name != "models"]
    return ServerConfig(models, **{name: getattr(options, name) for name in names})


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise argparse.ArgumentTypeError(f"expected true or false. Received: {text!r}")
    return text.lower() in ("true", "1")


_TYPES = {"bool": _truth, "int": int, "float": float, "str": str, "Path | None": Path}
