"""A server with the shipped model and the small ones, and one whose models and answers are made up."""

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
from seqattn_tf.serving.front.http_server import DrainingHttpServer
from seqattn_tf.serving.front.site import Site
from seqattn_tf.serving.server import Server


def fill(root, exports, exported):
    """Every model that the tests of the page ask."""
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
    """The files of a page that is made here never change: a browser asks once for each of forty, not each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(page.HEADERS, "Cache-Control", "max-age=3600")
        yield


class Stage:
    """The page of a server that answers what a test says.

    A browser whose requests are taken by a test keeps no script: a page would cost twice as much.
    """

    def __init__(self):
        with lasting_scripts():
            answer = page.Page(None).answer
        site = Site(self._predict, {page.MODELS_PATH: self._offer}, {}, answer, Token())
        self.http = DrainingHttpServer("127.0.0.1", 0, site.handle)
        self.http.start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.play({})

    def play(self, outputs, *models):
        """Offers these models, and says these outputs to every question.

        Returns:
            What is asked from now on: what each question has for its last input, bytes as such.
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
