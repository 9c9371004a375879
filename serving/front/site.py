"""Routing for the REST port: TF Serving's API, the page, health checks and metrics.

/v1/...        the API
/healthz       200 while the process responds
/readyz        200 while models are served; 503 before each was loaded or refused once, and during shutdown
(monitoring)   metrics for Prometheus, at the path of the monitoring config
/, /page/...   the web page
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from seqattn_tf.serving.api.exchange import Begin, Handle, Reply, Request, Work, finish
from seqattn_tf.serving.api.json_codec import encode_document
from seqattn_tf.serving.front.access import Token

_TEXT = "text/plain; charset=utf-8"


class Site:
    """A router for requests.

    Args:
        api: The handler for all paths under `/v1/`.
        private: Handlers for GET requests by path, for clients with access to the API; they may take their time.
        public: Handlers for GET requests by path, for all clients; they must be fast.
        page: The handler for all other paths; returns None if there is no such path.
        token: The token that grants access to the API.
        headers: Headers of replies to requests without the token, which pages of other sites need to read them.
    """

    def __init__(
        self,
        api: Begin,
        private: Mapping[str, Handle],
        public: Mapping[str, Handle],
        page: Callable[[Request], Reply | None],
        token: Token,
        headers: Mapping[str, str] | None = None,
    ):
        self._api = api
        self._private = private
        self._public = public
        self._page = page
        self._token = token
        self._refusal = {"WWW-Authenticate": "Bearer", **(headers or {})}

    @property
    def probes(self) -> frozenset[str]:
        """The paths that all clients may read."""
        return frozenset(self._public)

    def handle(self, request: Request) -> Reply:
        """Return the reply to a request; never raises."""
        return finish(self.begin(request))

    def begin(self, request: Request) -> Reply | Work:
        """Return the reply to a request, or the rest of the work if that takes more than a millisecond."""
        path = request.path
        if path.lower().startswith("/v1/"):
            return self._guarded(self._api, request)
        if request.method in ("GET", "HEAD"):
            if path in self._private:
                return self._guarded(lambda request: partial(self._private[path], request), request)
            reply = self._public[path](request) if path in self._public else self._page(request)
            if reply is not None:
                return reply
        return Reply(404, encode_document({"error": f"Not Found: expected a path under /v1/. Received: {path}"}))

    def _guarded(self, begin: Begin, request: Request) -> Reply | Work:
        # Browsers send a CORS preflight request without the token.
        if request.method == "OPTIONS" or self._token.allows(request.headers.get("Authorization", "")):
            return begin(request)
        return Reply(
            401,
            encode_document({"error": "expected a valid bearer token"}),
            headers=self._refusal,
        )


def probe(healthy: Callable[[], bool], missing: Callable[[], list[str]] = list) -> Handle:
    """Return a handler for health checks, which replies with 200 or 503 and names the models that are missing."""

    def answer(_: Request) -> Reply:
        names = "".join(f"not served: {name}\n" for name in missing())
        return Reply(200, f"ok\n{names}".encode(), _TEXT) if healthy() else Reply(503, b"not ready\n", _TEXT)

    return answer
