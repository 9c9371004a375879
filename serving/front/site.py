"""What answers at the REST port: TF Serving's API, and beside it what a person, a probe or a monitor asks for.

/v1/...        the API
/healthz       200 as long as the process answers
/readyz        200 while every model serves, 503 before and while draining
(monitoring)   Prometheus's page, at the path of the monitoring config
/, /page/...   the page to look at
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from seqattn_tf.serving.api.exchange import Handle, Reply, Request
from seqattn_tf.serving.api.json_codec import encode_document
from seqattn_tf.serving.front.access import Token

_TEXT = "text/plain; charset=utf-8"


class Site:
    """Sends a request where it belongs.

    Args:
        api: answers everything under `/v1/`.
        private: path -> what answers a GET of it, to whoever may use the API.
        public: the same, to anyone.
        page: answers what none of these takes; None where it does not either.
        token: who may use the API.
    """

    def __init__(
        self,
        api: Handle,
        private: Mapping[str, Handle],
        public: Mapping[str, Handle],
        page: Callable[[Request], Reply | None],
        token: Token,
    ):
        self._api = api
        self._private = private
        self._public = public
        self._page = page
        self._token = token

    def handle(self, request: Request) -> Reply:
        """The answer to a request; never raises."""
        path = request.path
        if path.lower().startswith("/v1/"):
            return self._guarded(self._api, request)
        if request.method in ("GET", "HEAD"):
            if path in self._private:
                return self._guarded(self._private[path], request)
            reply = self._public[path](request) if path in self._public else self._page(request)
            if reply is not None:
                return reply
        return Reply(404, encode_document({"error": f"Not Found: expected a path under /v1/. Received: {path}"}))

    def _guarded(self, handle: Handle, request: Request) -> Reply:
        # A browser asks what it may send before it sends the token.
        if request.method == "OPTIONS" or self._token.allows(request.headers.get("Authorization", "")):
            return handle(request)
        return Reply(
            401,
            encode_document({"error": "expected a bearer token that is known here"}),
            headers={"WWW-Authenticate": "Bearer"},
        )


def probe(healthy: Callable[[], bool]) -> Handle:
    """A page that is 200 or 503."""

    def answer(_: Request) -> Reply:
        return Reply(200, b"ok\n", _TEXT) if healthy() else Reply(503, b"not ready\n", _TEXT)

    return answer
