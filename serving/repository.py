"""The models of a folder: finds versions, loads the newest, and swaps a new one in while the old one serves.

    root/NAME/VERSION/saved_model.pb      VERSION is a non-negative int64, "00000123" included

A folder of any other name is not a version, so an export written aside and renamed is seen only when whole.
"""

from __future__ import annotations

import logging
import threading
import weakref
from dataclasses import dataclass, field
from pathlib import Path

from seqattn_tf.serving.errors import ServingError, from_exception
from seqattn_tf.serving.servable import Servable

LOG = logging.getLogger(__name__)
MAX_VERSION = 2**63 - 1


@dataclass(frozen=True)
class VersionStatus:
    """Where one version stands: START, LOADING, AVAILABLE, UNLOADING or END, and the error that ended it."""

    version: int
    state: str
    error_code: str = "OK"
    error_message: str = ""


@dataclass
class _Model:
    serving: Servable | None = None
    statuses: dict[int, VersionStatus] = field(default_factory=dict)
    refused: dict[int, tuple] = field(default_factory=dict)  # version -> fingerprint of the files that failed


class ModelRepository:
    """Serves the newest version that loads of every model under a folder.

    Args:
        root: the folder of models.
        poll_seconds: how often the folder is looked at again; 0 looks once.
    """

    def __init__(self, root: Path, poll_seconds: float = 1.0):
        self._root = Path(root).absolute()
        self._poll_seconds = poll_seconds
        self._models: dict[str, _Model] = {}
        self._lock = threading.RLock()  # re-entered when dropping a servable runs its finaliser
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

    def get(self, name: str, version: int | None = None) -> Servable:
        """The loaded version of a model, the newest if none is named; NOT_FOUND where there is none."""
        with self._lock:
            model = self._models.get(name)
            servable = model.serving if model else None
        if servable is None or version not in (None, servable.version):
            wanted = f"Latest({name})" if version is None else f"Specific({name}, {version})"
            raise ServingError("NOT_FOUND", f"Servable not found for request: {wanted}")
        return servable

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

    def poll(self) -> None:
        """Compares the folder with what is loaded, once, and loads or unloads the difference."""
        found = {folder.name: _versions(folder) for folder in _folders(self._root)}
        found = {name: versions for name, versions in found.items() if versions}
        for name, versions in found.items():
            with self._lock:
                model = self._models.setdefault(name, _Model())
                newest = max(versions)
                model.statuses.setdefault(newest, VersionStatus(newest, "START"))
        for name, versions in found.items():
            self._update(name, versions)
        for name in set(self.names()) - set(found):
            self._unload(self._models[name])

    def _update(self, name: str, versions: dict[int, Path]) -> None:
        """Makes the newest loadable version the serving one: new first, then the old one goes."""
        model = self._models[name]
        for version in sorted(versions, reverse=True):
            if model.serving is not None and model.serving.version == version:
                return
            fingerprint = _fingerprint(versions[version])
            if model.refused.get(version) == fingerprint:
                continue
            servable = self._load(name, version, versions[version])
            if servable is None:
                model.refused[version] = fingerprint
                continue
            model.refused.pop(version, None)
            with self._lock:
                old, model.serving = model.serving, servable
                self._set(model, VersionStatus(version, "AVAILABLE"))
                if old is not None:
                    self._retire(model, old)
            return

    def _load(self, name: str, version: int, path: Path) -> Servable | None:
        model = self._models[name]
        self._set(model, VersionStatus(version, "LOADING"))
        try:
            return Servable(name, version, path)
        except Exception as error:
            failure = from_exception(error, hide=f"{self._root}/")
            LOG.warning("model %s version %d was refused: %s", name, version, failure.message)
            self._set(model, VersionStatus(version, "END", failure.code, failure.message))
            return None

    def _unload(self, model: _Model) -> None:
        with self._lock:
            old, model.serving = model.serving, None
            if old is not None:
                self._retire(model, old)

    def _retire(self, model: _Model, old: Servable) -> None:
        """UNLOADING while requests hold the old version, END when the last one lets go."""
        self._set(model, VersionStatus(old.version, "UNLOADING"))
        weakref.finalize(old, self._ended, model, old.version).atexit = False

    def _ended(self, model: _Model, version: int) -> None:
        with self._lock:
            if model.statuses[version].state == "UNLOADING":
                self._set(model, VersionStatus(version, "END"))

    def _set(self, model: _Model, status: VersionStatus) -> None:
        with self._lock:
            model.statuses[status.version] = status

    def _poll_forever(self) -> None:
        while not self._stopped.wait(self._poll_seconds):
            try:
                self.poll()
            except Exception:  # the folder may be unreadable for a moment; what is loaded serves on
                LOG.exception("the model folder could not be read")


def _folders(parent: Path) -> list[Path]:
    return sorted(child for child in parent.iterdir() if child.is_dir())


def _versions(model: Path) -> dict[int, Path]:
    """Version number -> folder, for the children that are versions and hold a SavedModel."""
    versions: dict[int, Path] = {}
    for folder in _folders(model):
        numeric = folder.name.isascii() and folder.name.isdigit() and int(folder.name) <= MAX_VERSION
        if numeric and (folder / "saved_model.pb").is_file():
            versions.setdefault(int(folder.name), folder)
    return versions


def _fingerprint(version: Path) -> tuple:
    """Changes when a file of the version does, so that a copy that was incomplete is tried again."""
    files = sorted(path for path in version.rglob("*") if path.is_file())
    return tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files)
