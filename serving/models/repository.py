"""The versions of the models: finds them, loads those that shall serve, and swaps new ones in while old ones serve.

    BASE_PATH/VERSION/saved_model.pb      VERSION is a non-negative int64, "00000123" included

A folder of any other name is not a version, so an export written aside and renamed is seen only when whole.
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

from tensorflow_serving.config import model_server_config_pb2

from seqattn_tf.export import meta_graph
from seqattn_tf.serving.errors import ServingError, from_exception
from seqattn_tf.serving.models.lite import LITE_FILE
from seqattn_tf.serving.models.model_config import MAX_VERSION, ModelConfig, Models, list_models
from seqattn_tf.serving.models.servable import Servable
from seqattn_tf.serving.models.session import SessionEngine

LOG = logging.getLogger(__name__)
Load = Callable[[str, int, Path], Servable]
_MODEL_FILES = (*meta_graph.FILES, LITE_FILE)  # a version holds at least one of them


@dataclass(frozen=True)
class VersionStatus:
    """Where one version stands: START, LOADING, AVAILABLE, UNLOADING or END, and the error that ended it."""

    version: int
    state: str
    error_code: str = "OK"
    error_message: str = ""


@dataclass
class _Model:
    serving: dict[int, Servable] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    statuses: dict[int, VersionStatus] = field(default_factory=dict)
    refused: dict[int, tuple] = field(default_factory=dict)  # version -> fingerprint of the files that failed


def _load_saved_model(name: str, version: int, path: Path) -> Servable:
    """A SavedModel that runs each request alone."""
    return Servable(name, version, SessionEngine(path), folder=path)


class ModelRepository:
    """Serves, of every model, the versions that its policy wants and that load.

    Args:
        models: tells the models, asked before each look; `model_config.folder_of_models(root)`, for example.
        poll_seconds: how often the folders are looked at again; 0 looks once.
        load: brings one version into memory, ready to answer.
        labels_need_a_version: whether a label may only name a version that is available.
    """

    def __init__(
        self,
        models: Callable[[], Models],
        poll_seconds: float = 1.0,
        load: Load = _load_saved_model,
        labels_need_a_version: bool = True,
    ):
        self._wanted = models
        self._poll_seconds = poll_seconds
        self._load_version = load
        self._labels_need_a_version = labels_need_a_version
        self._asked: frozenset[str] = frozenset()  # names of the models, as of the last look
        self._models: dict[str, _Model] = {}
        self._lock = threading.RLock()  # re-entered when dropping a servable runs its finaliser
        self._looking = threading.RLock()  # one look at a time
        self._garbage = False  # a version has ended and left something behind
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._poll_forever, name="model-poll", daemon=True)

    def start(self) -> None:
        """Loads what is there now, then goes on looking in the background."""
        self.poll()
        if self._poll_seconds > 0:
            self._thread.start()

    def stop(self) -> None:
        """Stops looking for versions; what is loaded stays usable by whoever holds it."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()

    def get(self, name: str, version: int | None = None, label: str = "") -> Servable:
        """A loaded version of a model: the one named by number or label, else the newest.

        Raises:
            ServingError: NOT_FOUND where there is none, INVALID_ARGUMENT for an unknown label.
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
        """The versions seen of a model, newest first, or the one named; NOT_FOUND where there is none."""
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
        """The models seen so far, whether or not a version of them serves."""
        with self._lock:
            return sorted(self._models)

    def missing(self) -> list[str]:
        """The models that should serve and of which no version does."""
        with self._lock:
            return sorted(name for name in self._asked if name not in self._models or not self._models[name].serving)

    def poll(self) -> None:
        """Compares the folders with what is loaded, once, and loads or unloads the difference."""
        with self._looking:
            wanted = self._wanted()
            with self._lock:
                self._asked = frozenset(wanted)
            found = {name: _versions(config.base_path) for name, config in wanted.items()}
            for name, versions in found.items():  # all models have a status before the first of them is loaded
                newest = wanted[name].policy.candidates(versions or {})[:1]
                with self._lock:
                    for version in newest:
                        statuses = self._models.setdefault(name, _Model()).statuses
                        statuses.setdefault(version, VersionStatus(version, "START"))
            for name in self.names():
                if name not in wanted:
                    self._retain(self._models[name], set())
                elif (there := found[name]) is not None:  # what cannot be read changes nothing
                    self._update(wanted[name], there)
                    self._label(wanted[name])
            if self._garbage:
                self._garbage = False
                gc.collect()  # a loaded graph is full of cycles; weights that wait for the collector pile up
                _give_memory_back()

    def reload(self, config: model_server_config_pb2.ModelServerConfig) -> None:
        """Serves the models of a config from now on; those that are there already serve on without a break.

        Raises:
            ServingError: the config cannot be served or a label names a version that is not there (nothing changes);
                a model has no version that loads, or not the one that a label names (the others serve).
        """
        if config.WhichOneof("config") is None:  # TF Serving takes no action either
            return
        models = list_models(config)
        with self._looking:
            for model in models.values():  # what can be seen to be wrong is refused before anything changes
                self._check_labels(model, model.policy.candidates(_versions(model.base_path) or {}))
            self._wanted = lambda: models
            self.poll()
            if missing := self.missing():
                raise ServingError("UNKNOWN", f"Some models did not become available: {{{', '.join(missing)}}}")
            for model in models.values():
                self._check_labels(model)

    def _update(self, config: ModelConfig, versions: dict[int, Path]) -> None:
        """Loads what shall serve, then lets go of the rest; an old version stays if nothing takes its place."""
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
        """Loads a version unless the same files were refused before; whether it serves now."""
        model = self._models[config.name]
        fingerprint = _fingerprint(path)
        if model.refused.get(version) == fingerprint:
            return False
        self._set(model, VersionStatus(version, "LOADING"))
        try:
            servable = self._load_version(config.name, version, path)
        except Exception as error:
            failure = from_exception(error, hide=f"{config.base_path.parent}/")
            LOG.warning("model %s version %d was refused: %s", config.name, version, failure.message)
            self._set(model, VersionStatus(version, "END", failure.code, failure.message))
            model.refused[version] = fingerprint
            return False
        model.refused.pop(version, None)
        with self._lock:
            model.serving[version] = servable
            self._set(model, VersionStatus(version, "AVAILABLE"))
        return True

    def _retain(self, model: _Model, keep: set[int]) -> None:
        """Lets go of all other versions: UNLOADING while requests hold one, END when the last lets go."""
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
        """Gives the labels, once the versions that they name serve."""
        try:
            self._check_labels(config)
        except ServingError as error:
            LOG.debug("%s", error.message)
        else:
            with self._lock:
                self._models[config.name].labels = dict(config.labels)

    def _check_labels(self, config: ModelConfig, there: Container[int] = ()) -> None:
        """Refuses a label for a version that neither serves nor is `there`, or a given one that moves to such."""
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
        while not self._stopped.wait(self._poll_seconds):
            try:
                self.poll()
            except Exception:  # the folder may be unreadable for a moment; what is loaded serves on
                LOG.exception("the model folder could not be read")


def _give_memory_back() -> None:
    """Lets the C library return what was freed: it keeps it in the arenas of the many threads that asked for it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(0)


def _versions(base_path: Path) -> dict[int, Path] | None:
    """Version number -> folder, for the children that are versions and hold a model; None without a base path."""
    try:
        folders = sorted(child for child in base_path.iterdir() if child.is_dir())
    except OSError as error:
        LOG.warning("a model's folder could not be read: %s", error)
        return None
    versions: dict[int, Path] = {}
    for folder in folders:
        numeric = folder.name.isascii() and folder.name.isdigit() and int(folder.name) <= MAX_VERSION
        if numeric and _holds_model(folder):
            versions.setdefault(int(folder.name), folder)
    return versions


def _holds_model(version: Path) -> bool:
    try:
        return any((version / file).is_file() for file in _MODEL_FILES)
    except PermissionError:
        return True  # so that the attempt to load it tells what is wrong


def _fingerprint(version: Path) -> tuple:
    """Changes when a file of the version does, so that a copy that was incomplete is tried again."""
    try:
        files = sorted(path for path in version.rglob("*") if path.is_file())
        return tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files)
    except PermissionError:
        return (version.stat().st_ctime_ns,)
