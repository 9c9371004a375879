"""A server with the shipped model and small ones, and one with generated models and answers."""

import base64
import json
import math
from contextlib import contextmanager

import pytest
import tensorflow as tf
from page_toys import ACTIONS, CAPTION, GRID, LONG, MANIFESTS, ODD, PAIR, TAGS, look, with_manifest
from serving_toys import answering, config, export_fixed, install
from support.once import once

from seqattn_tf.serving.api.exchange import Reply
from seqattn_tf.serving.front import page
from seqattn_tf.serving.front.access import Token
from seqattn_tf.serving.front.http_server import HttpServer
from seqattn_tf.serving.front.site import Site
from seqattn_tf.serving.server import Server


def fill(root, exports, exported):
    """Install every model for the tests of the page."""
    (root / "pronounce").symlink_to(exported / "models" / "pronounce")
    install(exports / "1", root / "toy", 1)
    export_fixed(root / "odd" / "1", ODD)
    export_fixed(root / "long" / "1", LONG)
    export_fixed(root / "tagger" / "1", TAGS)
    export_fixed(root / "single" / "1", {"label": "<img src=/x onerror=alert(1)>"})
    export_fixed(root / "numbers" / "1", {"y": 1.0}, dtype=tf.float32)
    export_fixed(root / "mute" / "1", answering("", -math.inf, **look("text", [""], ["東", "京"], [[0, 0]])))
    export_fixed(root / "pair" / "1", PAIR, ["hypothesis", "premise"])
    export_fixed(root / "story" / "1", answering(lambda given: given["story"]), ["question", "story"])
    export_fixed(root / "caption" / "1", CAPTION, ["image"])
    export_fixed(root / "grid" / "1", GRID)
    export_fixed(root / "turning" / "1", ACTIONS)
    for name, manifest in MANIFESTS.items():
        with_manifest(root / name / "1", manifest)
    with_manifest(root / "single" / "1", "{broken")
    with_manifest(root / "grid" / "1", ["of another form"])
    (root / "broken" / "1").mkdir(parents=True)
    (root / "broken" / "1" / "saved_model.pb").write_bytes(b"\xff\xff")


@pytest.fixture(scope="session")
def url(tmp_path_factory, exports, exported):
    root = once(tmp_path_factory, "page", lambda to: fill(to, exports, exported))
    with lasting_scripts():
        server = Server(config(root)).start()
    yield server.rest_url
    server.stop()


@contextmanager
def lasting_scripts():
    """Let browsers cache the files of a page, so that each of its forty files is requested only once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(page.HEADERS, "Cache-Control", "max-age=3600")
        yield


class Stage:
    """The page of a server whose answers are given by a test.

    Browsers whose requests are intercepted by a test do not cache scripts, which doubles the cost of a page.
    """

    def __init__(self):
        with lasting_scripts():
            answer = page.Page(None).answer
        site = Site(self._predict, {page.MODELS_PATH: self._offer}, {}, answer, Token())
        self.http = HttpServer("127.0.0.1", 0, site.begin)
        self.http.start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.play({})

    def play(self, outputs, *models):
        """Offer these models, and return these outputs for every request.

        Returns:
            A list that will contain the last input of each request; bytes are decoded.
        """
        self._models, self._outputs, self._asked = [*models], outputs, []
        return self._asked

    def _offer(self, request):
        return Reply(200, json.dumps({"models": self._models}).encode())

    def _predict(self, request):
        *_, [value] = json.loads(request.body)["inputs"].values()
        self._asked.append(base64.b64decode(value["b64"]) if isinstance(value, dict) else value)
        return Reply(200, json.dumps({"outputs": {name: [value] for name, value in self._outputs.items()}}).encode())


@pytest.fixture(scope="session")
def stage():
    stage = Stage()
    yield stage
    stage.http.drain(1.0)
