"""Which models to serve, and which of their versions: a folder of models, one model, or TF Serving's config file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tensorflow_serving.config import model_server_config_pb2

from seqattn_tf.serving.errors import ServingError, invalid
from seqattn_tf.serving.text_protos import read

_PLATFORM = "tensorflow"
MAX_VERSION = 2**63 - 1


@dataclass(frozen=True)
class VersionPolicy:
    """Which of the versions that are there shall serve: the latest ones, or only those listed."""

    latest: int = 1  # how many; 0 for all
    specific: frozenset[int] = frozenset()  # if any are listed, these and no others

    def candidates(self, there: Iterable[int]) -> list[int]:
        """The versions that may serve, the most wanted first.

        >>> VersionPolicy(specific=frozenset({1, 7})).candidates([1, 2, 3])
        [1]
        """
        return sorted((number for number in there if not self.specific or number in self.specific), reverse=True)

    @property
    def limit(self) -> int:
        """How many of the candidates that load are kept."""
        return MAX_VERSION if self.specific or not self.latest else self.latest


@dataclass(frozen=True)
class ModelConfig:
    """One model: where its versions are, which of them serve, and what they are also called."""

    name: str
    base_path: Path  # holds VERSION/saved_model.pb
    policy: VersionPolicy = VersionPolicy()
    labels: Mapping[str, int] = field(default_factory=dict)


Models = Mapping[str, ModelConfig]


def folder_of_models(root: Path) -> Callable[[], Models]:
    """Every folder below `root` is a model, whenever one looks."""

    def look() -> Models:
        return {child.name: ModelConfig(child.name, child) for child in sorted(root.iterdir()) if child.is_dir()}

    return look


def read_config_file(path: Path) -> model_server_config_pb2.ModelServerConfig:
    """TF Serving's `--model_config_file`, a ModelServerConfig in text form.

    Raises:
        ValueError: the file is not there or not such a text.
    """
    return read(path, model_server_config_pb2.ModelServerConfig(), "model_config_file")


def list_models(config: model_server_config_pb2.ModelServerConfig) -> Models:
    """The models of a config.

    Raises:
        ServingError: with TF Serving's code and words for a config that cannot be served.
    """
    if config.WhichOneof("config") == "custom_model_config":
        raise ServingError(
            "FAILED_PRECONDITION",
            "Cannot transition to requested config. It is only legal to "
            "transition from one ModelConfigList to another.",
        )
    models: dict[str, ModelConfig] = {}
    for entry in config.model_config_list.config:
        if entry.name in models:
            raise invalid(f"Illegal to list model {entry.name} multiple times in config list")
        platform = entry.model_platform or (_PLATFORM if entry.model_type == model_server_config_pb2.TENSORFLOW else "")
        if not platform:
            raise invalid(
                "Illegal setting neither ModelServerConfig::model_type (deprecated) "
                "nor ModelServerConfig::model_platform."
            )
        if platform != _PLATFORM:
            raise invalid(f"Model {entry.name} requests unsupported platform {platform}")
        if not entry.name:
            raise invalid("name: expected the name of a model. Received: an empty one")
        path = Path(entry.base_path.removeprefix("file://"))
        if not path.is_absolute():
            raise invalid(
                f"Expected model {entry.name} to have an absolute path or URI; got base_path()={entry.base_path}"
            )
        models[entry.name] = ModelConfig(entry.name, path, _policy(entry), dict(entry.version_labels))
    return models


def _policy(entry: model_server_config_pb2.ModelConfig) -> VersionPolicy:
    policy = entry.model_version_policy
    kind = policy.WhichOneof("policy_choice")
    if kind == "all":
        return VersionPolicy(latest=0)
    if kind == "specific":
        if not policy.specific.versions:
            raise invalid(f"specific: expected the versions of model {entry.name}. Received: none")
        return VersionPolicy(specific=frozenset(policy.specific.versions))
    return VersionPolicy(latest=policy.latest.num_versions or 1)
