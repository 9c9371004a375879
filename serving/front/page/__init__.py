"""The web page at `/`: query a model and view its attention. Static files, no build step, no external resources."""

from __future__ import annotations

import hashlib
import json
import weakref
from pathlib import Path
from typing import Any

from seqattn_tf.serving import DEFAULT_SIGNATURE
from seqattn_tf.serving.api.exchange import JSON, Reply, Request
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.front.page.about import NOTHING, About, about
from seqattn_tf.serving.models.repository import ModelRepository, VersionStatus
from seqattn_tf.serving.models.servable import Servable

MODELS_PATH = "/page/models.json"
_CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # revalidate cached files, so that an upgrade takes effect at once
}


class Page:
    """A handler for the page, its files and its list of models.

    Args:
        repository: The models that the page shows.
    """

    def __init__(self, repository: ModelRepository):
        self._repository = repository
        self._files = _read_files(Path(__file__).parent)
        self._abouts: weakref.WeakKeyDictionary[Servable, About] = weakref.WeakKeyDictionary()

    def answer(self, request: Request) -> Reply | None:
        """Return the reply to GET or HEAD of `/` and of the files under `/page/`; None for any other path."""
        reply = self._files.get(request.path) if request.method in ("GET", "HEAD") else None
        return None if reply is None else _unless_known(reply, request)

    def models(self, request: Request) -> Reply:
        """Return the models that the page shows."""
        return _unless_known(_tagged(json.dumps({"models": self._models()}).encode(), JSON), request)

    def _models(self) -> list[dict[str, Any]]:
        return [self._describe(name) for name in self._repository.names()]

    def _describe(self, name: str) -> dict[str, Any]:
        """Describe a model: its served version, manifest, inputs and outputs, and the state of each known version."""
        try:
            statuses = self._repository.status(name)
        except ServingError:  # removed since its name was read
            statuses = []
        model = {
            "name": name,
            "version": None,
            "engine": "",
            **NOTHING,
            "outputs": [],
            "versions": [*map(_version, statuses)],
        }
        try:
            servable = self._repository.get(name)
        except ServingError:
            return model
        model["version"], model["engine"] = str(servable.version), servable.engine
        signature = servable.signature_defs.get(DEFAULT_SIGNATURE)
        if signature is not None:
            if servable not in self._abouts:
                self._abouts[servable] = about(servable.folder, signature)
            model |= self._abouts[servable]
            model["outputs"] = sorted(signature.outputs)
        return model


def _read_files(folder: Path) -> dict[str, Reply]:
    """Return every file of the page by its path on the server; files not in this mapping are not accessible."""
    files = {}
    for path in folder.rglob("*"):
        if path.suffix in _CONTENT_TYPES:
            name = f"/page/{path.relative_to(folder).as_posix()}"
            files[name] = _tagged(path.read_bytes(), _CONTENT_TYPES[path.suffix])
    files["/"] = files.pop("/page/index.html")
    return files


def _tagged(body: bytes, content_type: str) -> Reply:
    """Return a reply with an ETag of its body, so that clients can cache it."""
    return Reply(200, body, content_type, HEADERS | {"ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"'})


def _unless_known(reply: Reply, request: Request) -> Reply:
    """Return the reply, or status 304 if the client has it already."""
    if reply.headers["ETag"] in request.headers.get("If-None-Match", ""):
        return Reply(304, b"", reply.content_type, reply.headers)
    return reply


def _version(status: VersionStatus) -> dict[str, str]:
    # Versions are int64, and JavaScript numbers cannot represent all of them.
    return {"version": str(status.version), "state": status.state, "error": status.error_message}
