"""A server with the shipped model and the small ones."""

import math

import pytest
import tensorflow as tf
from page_toys import ACTIONS, CAPTION, GRID, LONG, MANIFESTS, ODD, PAIR, TAGS, look, with_manifest
from serving_toys import answering, config, export_fixed, install

from seqattn_tf.serving.server import Server


@pytest.fixture(scope="module")
def url(tmp_path_factory, exports, exported):
    root = tmp_path_factory.mktemp("models")
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
    with Server(config(root)) as server:
        yield server.rest_url
