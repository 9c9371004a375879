"""The models to serve and their versions, from a folder of models, a single model or TF Serving's config file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from seqattn_tf.serving import protos
from seqattn_tf.serving.errors import ServingError, invalid
from seqattn_tf.serving.models.version_folders import MAX_VERSION
from seqattn_tf.serving.text_protos import read

_PLATFORM = "tensorflow"


@dataclass(frozen=True)
class VersionPolicy:
    """The versions to serve: either the latest ones or a fixed set."""

    latest: int = 1  # the number of versions; 0 for all
    specific: frozenset[int] = frozenset()  # if not empty, only these versions

    def candidates(self, there: Iterable[int]) -> list[int]:
        """Return the versions that may be served, in descending order of preference.

        >>> VersionPolicy(specific=frozenset({1, 7})).candidates([1, 2, 3])
        [1]
        """
        return sorted((number for number in there if not self.specific or number in self.specific), reverse=True)

    @property
    def limit(self) -> int:
        """The maximum number of candidates to serve."""
        return MAX_VERSION if self.specific or not self.latest else self.latest


@dataclass(frozen=True)
class ModelConfig:
    """A model: the location of its versions, the policy that selects versions, and their labels."""

    name: str
    base_path: Path  # contains VERSION/saved_model.pb
    policy: VersionPolicy = VersionPolicy()
    labels: Mapping[str, int] = field(default_factory=dict)


Models = Mapping[str, ModelConfig]


def folder_of_models(root: Path, only: Collection[str] = ()) -> Callable[[], Models]:
    """Return a function that lists the models: the current subfolders of `root`, or those with the names in `only`."""

    def look() -> Models:
        folders = [child for child in sorted(root.iterdir()) if child.is_dir() and (not only or child.name in only)]
        return {folder.name: ModelConfig(folder.name, folder) for folder in folders}

    return look


def read_config_file(path: Path) -> protos.ModelServerConfig:
    """Read TF Serving's `--model_config_file`, a ModelServerConfig in text form.

    Raises:
        ValueError: If the file is missing or invalid.
    """
    return read(path, protos.ModelServerConfig(), "model_config_file")


def list_models(config: protos.ModelServerConfig) -> Models:
    """Return the models of a config.

    Raises:
        ServingError: If the config cannot be served, with TF Serving's code and message.
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
        platform = entry.model_platform or (_PLATFORM if entry.model_type == protos.ModelType.TENSORFLOW else "")
        if not platform:
            raise invalid(
                "Illegal setting neither ModelServerConfig::model_type (deprecated) "
                f"nor ModelServerConfig::model_platform, model name is {entry.name}"
            )
        if platform != _PLATFORM:
            raise invalid(f"Model {entry.name} requests unsupported platform {platform}")
        if not entry.name:
            raise invalid("name: expected the name of a model. Received: an empty string")
        path = Path(entry.base_path.removeprefix("file://"))
        if not path.is_absolute():
            raise invalid(
                f"Expected model {entry.name} to have an absolute path or URI; got base_path()={entry.base_path}"
            )
        models[entry.name] = ModelConfig(entry.name, path, _policy(entry), dict(entry.version_labels))
    return models


def _policy(entry: protos.ModelConfig) -> VersionPolicy:
    policy = entry.model_version_policy
    kind = policy.WhichOneof("policy_choice")
    if kind == "all":
        return VersionPolicy(latest=0)
    if kind == "specific":
        if not policy.specific.versions:
            raise invalid(f"specific: expected the versions of model {entry.name}. Received: none")
        return VersionPolicy(specific=frozenset(policy.specific.versions))
    return VersionPolicy(latest=policy.latest.num_versions or 1)
