"""The repository of models: it finds versions, loads them, and replaces old ones without interrupting the service.

An export that is written to a folder that is not a number and then renamed is only found when it is complete.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import threading
import weakref
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from pathlib import Path

from seqattn_tf.serving.errors import ServingError, from_exception
from seqattn_tf.serving.models.model_config import ModelConfig, Models, list_models
from seqattn_tf.serving.models.servable import Servable
from seqattn_tf.serving.models.version_folders import Versions, saved_models
from seqattn_tf.serving.protos import ModelServerConfig

LOG = logging.getLogger(__name__)
Load = Callable[[str, int, Path], Servable]


@dataclass(frozen=True)
class VersionStatus:
    """The state of a version: START, LOADING, AVAILABLE, UNLOADING or END, and the error that ended it."""

    version: int
    state: str
    error_code: str = "OK"
    error_message: str = ""
    engine: str = ""  # the name of the engine that runs it; empty for TensorFlow


@dataclass
class _Model:
    serving: dict[int, Servable] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    statuses: dict[int, VersionStatus] = field(default_factory=dict)
    refused: dict[int, tuple] = field(default_factory=dict)  # version -> fingerprint of the files that failed to load
    attempted: bool = False  # whether its versions have been loaded or refused once


class ModelRepository:
    """The loaded versions of every model, selected by its policy.

    Args:
        models: A function that returns the models; called at each poll. Example:
            `model_config.folder_of_models(root)`.
        load: A function that loads one version.
        poll_seconds: The interval between polls of the folders; 0 for a single poll.
        labels_need_a_version: Whether a label may only refer to a version that is available.
        versions: A function that finds the versions of a model.
        attempted: A function that is called with the name of each model after the first attempt to load it.
    """

    def __init__(
        self,
        models: Callable[[], Models],
        load: Load,
        poll_seconds: float = 1.0,
        labels_need_a_version: bool = True,
        versions: Versions = saved_models,
        attempted: Callable[[str], None] = lambda name: None,
    ):
        self._wanted = models
        self._versions = versions
        self._attempted = attempted
        self._poll_seconds = poll_seconds
        self._load_version = load
        self._labels_need_a_version = labels_need_a_version
        self._asked: frozenset[str] = frozenset()  # names of the models at the last poll
        self._models: dict[str, _Model] = {}
        self._lock = threading.RLock()  # re-entered if dropping a servable runs its finalizer
        self._looking = threading.RLock()  # serializes polls
        self._garbage = False  # whether a version has ended and may have left reference cycles
        self._polled = True  # whether the first poll is over when the thread starts
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._poll_forever, name="model-poll", daemon=True)

    def start(self, wait: bool = True) -> None:
        """Load the current versions, then poll in the background.

        Args:
            wait: Whether to return only after the first poll. Otherwise the models are known, and load in the
                background.
        """
        if wait:
            self.poll()
        else:
            with self._looking:
                self._find()
        if self._poll_seconds > 0 or not wait:
            self._polled = wait
            self._thread.start()

    def stop(self) -> None:
        """Stop polling; loaded versions remain usable."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()

    def get(self, name: str, version: int | None = None, label: str = "") -> Servable:
        """Return a loaded version of a model, by number or label, or else the newest.

        Raises:
            ServingError: NOT_FOUND if there is none, INVALID_ARGUMENT for an unknown label.
        """
        with self._lock:
            model = self._models.get(name) or _Model()
            if label:
                if label not in model.labels:
                    raise ServingError("INVALID_ARGUMENT", f"Unrecognized servable version label: {label}")
                version = model.labels[label]
            number = max(model.serving, default=None) if version is None else version
            if number in model.serving:
                return model.serving[number]
        wanted = f"Latest({name})" if version is None else f"Specific({name}, {version})"
        raise ServingError("NOT_FOUND", f"Servable not found for request: {wanted}")

    def status(self, name: str, version: int | None = None) -> list[VersionStatus]:
        """Return the status of one version or, newest first, of all known versions of a model.

        Raises:
            ServingError: NOT_FOUND if there is no such version.
        """
        with self._lock:
            statuses = dict(self._models[name].statuses) if name in self._models else {}
        if version is None:
            if not statuses:
                raise ServingError("NOT_FOUND", f"Could not find any versions of model {name}")
            return [statuses[number] for number in sorted(statuses, reverse=True)]
        if version not in statuses:
            raise ServingError("NOT_FOUND", f"Could not find version {version} of model {name}")
        return [statuses[version]]

    def names(self) -> list[str]:
        """Return the names of all known models, including those without a served version."""
        with self._lock:
            return sorted(self._models)

    def is_ready(self) -> bool:
        """Return whether each of the first models has been loaded or refused, and at least one is served."""
        with self._lock:
            models = list(self._models.values())
            return any(model.serving for model in models) and (self._polled or all(model.attempted for model in models))

    def missing(self) -> list[str]:
        """Return the names of the models that should be served but have no served version."""
        with self._lock:
            return sorted(name for name in self._asked if name not in self._models or not self._models[name].serving)

    def poll(self) -> None:
        """Compare the folders with the loaded versions once, and load or unload the difference."""
        with self._looking:
            wanted, found = self._find()
            for name in self.names():
                if name not in wanted:
                    self._retain(self._models[name], set())
                elif (there := found[name]) is not None:  # an unreadable folder changes nothing
                    self._update(wanted[name], there)
                    self._label(wanted[name])
                    if not self._models[name].attempted:
                        self._models[name].attempted = True
                        self._attempted(name)
            if self._garbage:
                self._garbage = False
                # Loaded graphs are full of reference cycles, so their weights would pile up until the next collection.
                gc.collect()
                _give_memory_back()

    def _find(self) -> tuple[Models, dict[str, dict[int, Path] | None]]:
        """Return the wanted models and the folders of their versions, and give each model a status."""
        wanted = self._wanted()
        with self._lock:
            self._asked = frozenset(wanted)
        found = {name: self._versions(config.base_path) for name, config in wanted.items()}
        for name, versions in found.items():  # all models have a status before the first one is loaded
            newest = wanted[name].policy.candidates(versions or {})[:1]
            with self._lock:
                for version in newest:
                    statuses = self._models.setdefault(name, _Model()).statuses
                    statuses.setdefault(version, VersionStatus(version, "START"))
        return wanted, found

    def reload(self, config: ModelServerConfig) -> None:
        """Replace the list of models; models in both lists are served without interruption.

        Raises:
            ServingError: If the config cannot be served or a label refers to a missing version, in which case nothing
                changes. Also if a model has no version that can be loaded, or not the one of a label; the other models
                are then served.
        """
        if config.WhichOneof("config") is None:  # TF Serving ignores such a config too
            return
        models = list_models(config)
        with self._looking:
            for model in models.values():  # detect errors that are visible beforehand before anything changes
                self._check_labels(model, model.policy.candidates(self._versions(model.base_path) or {}))
            self._wanted = lambda: models
            self.poll()
            if missing := self.missing():
                raise ServingError("UNKNOWN", f"Some models did not become available: {{{', '.join(missing)}}}")
            for model in models.values():
                self._check_labels(model)

    def _update(self, config: ModelConfig, versions: dict[int, Path]) -> None:
        """Load the selected versions, then unload the others; an old version stays if no new one can be loaded."""
        model = self._models[config.name]
        keep: list[int] = []
        candidates = config.policy.candidates(versions)
        for version in candidates:
            if len(keep) == config.policy.limit:
                break
            if version in model.serving or self._bring(config, version, versions[version]):
                keep.append(version)
        if keep or not candidates:
            self._retain(model, set(keep))

    def _bring(self, config: ModelConfig, version: int, path: Path) -> bool:
        """Load a version unless loading the same files has failed before; return whether it is served now."""
        model = self._models[config.name]
        fingerprint = _fingerprint(path)
        if model.refused.get(version) == fingerprint:
            return False
        self._set(model, VersionStatus(version, "LOADING"))
        try:
            servable = self._load_version(config.name, version, path)
        except Exception as error:
            failure = from_exception(error, hide=f"{config.base_path.parent}/")
            LOG.warning("model %s version %d was rejected: %s", config.name, version, failure.message)
            self._set(model, VersionStatus(version, "END", failure.code, failure.message))
            model.refused[version] = fingerprint
            return False
        model.refused.pop(version, None)
        with self._lock:
            model.serving[version] = servable
            self._set(model, VersionStatus(version, "AVAILABLE", engine=servable.engine))
        return True

    def _retain(self, model: _Model, keep: set[int]) -> None:
        """Unload all other versions; their state is UNLOADING while requests use them, then END."""
        with self._lock:
            for version in set(model.serving) - keep:
                old = model.serving.pop(version)
                self._set(model, VersionStatus(version, "UNLOADING"))
                weakref.finalize(old, self._ended, model, version).atexit = False
                del old

    def _ended(self, model: _Model, version: int) -> None:
        self._garbage = True
        with self._lock:
            if model.statuses[version].state == "UNLOADING":
                self._set(model, VersionStatus(version, "END"))

    def _label(self, config: ModelConfig) -> None:
        """Assign the labels if their versions are served."""
        try:
            self._check_labels(config)
        except ServingError as error:
            LOG.debug("%s", error.message)
        else:
            with self._lock:
                self._models[config.name].labels = dict(config.labels)

    def _check_labels(self, config: ModelConfig, there: Container[int] = ()) -> None:
        """Check that the versions of all labels are served or in `there`.

        If labels do not need a version, only existing labels that move to another version are checked.

        Raises:
            ServingError: If there is no such version.
        """
        with self._lock:
            model = self._models.get(config.name) or _Model()
            serving, given = set(model.serving), dict(model.labels)
        for label, version in config.labels.items():
            strict = self._labels_need_a_version or given.get(label, version) != version
            if strict and version not in serving and version not in there:
                raise ServingError(
                    "FAILED_PRECONDITION",
                    f"Request to assign label to version {version} of model {config.name}, "
                    "which is not currently available for inference",
                )

    def _set(self, model: _Model, status: VersionStatus) -> None:
        with self._lock:
            model.statuses[status.version] = status

    def _poll_forever(self) -> None:
        if not self._polled:
            self._poll_safely()
        while self._poll_seconds > 0 and not self._stopped.wait(self._poll_seconds):
            self._poll_safely()

    def _poll_safely(self) -> None:
        try:
            self.poll()
        except Exception:  # the folder may be temporarily unreadable; loaded versions remain in service
            LOG.exception("the model folder could not be read")


def _give_memory_back() -> None:
    """Return freed memory to the system; the C library would keep it in the arenas of the threads that allocated it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only in glibc
    if trim is not None:
        trim(0)


def _fingerprint(version: Path) -> tuple:
    """Return a value that changes with the files of a version, so that loading an incomplete copy is tried again."""
    try:
        files = sorted(path for path in version.rglob("*") if path.is_file())
        return tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files)
    except PermissionError:
        return (version.stat().st_ctime_ns,)
