"""Small models with outputs that are difficult to display, for the tests of the page."""

import base64
import json
import math
import os
import urllib.request
from pathlib import Path

import numpy as np
import tensorflow as tf
from serving_toys import answering, post

from seqattn_tf.lite.manifest import FILE

ODD = {  # an answer with unusual symbols, and alternatives, one of them empty
    "text": "the house",
    "score": -0.9,
    "alternatives": ["the home", "this house", ""],
    "alternative_scores": [-1.4, -9.2, -math.inf],
    "tokens": ["▁the", "▁house"],
    "text_attention": np.float32([[0, 0.1, 0.2, 0.3, 0.4, 0, 0], [0.5, 0.6, 0.7, 0.8, 0.9, 1, 0]]),
    "text_keys": ["▁das", " ", "▁", "東京", "مرحبا", "\n", ""],  # the last is padding
    "text_queries": ["▁the", "▁house"],
}
LONG = {
    "text": "long",
    "score": -30.0,
    "text_attention": np.eye(64, 100, dtype=np.float32),
    "text_keys": [f"i{n}" for n in range(100)],
    "text_queries": [f"o{n}" for n in range(64)],
}
TAGS = {"tags": ["NAME", "WORD"], "tokens": ["Anna", "-Infinity"], "language": "en"}


def look(name, rows, places, weights) -> dict:
    return {f"{name}_attention": np.float32(weights), f"{name}_queries": rows, f"{name}_keys": places}


PAIR = answering(  # two inputs, two attention maps, one of which has queries that are not in the answer, and parts
    lambda given: tf.strings.join([given["premise"], given["hypothesis"]], "|"),
    tokens=["entailment"],
    **look("premise", ["a", "man", "sleeps"], ["a", "boy", "naps"], np.eye(3)),
    **look("hypothesis", ["entailment"], ["a", "man", "sleeps"], [[0, 0, 0]]),
    classes=["entailment", "neutral"],
    chances=np.float32([0.75, 0.25]),
    marginals=np.float32([[0.5, 0.5], [0.125, 0.875]]),
)
CAPTION = answering(  # the text identifies the bytes of the input
    lambda given: tf.strings.as_string(tf.strings.to_hash_bucket_fast(given["image"], 2**40)),
    tokens=["a", "dog"],
    length=lambda given: tf.strings.length(given["image"]),
    image_queries=["a", "dog"],
    image_attention=np.float32([[[0, 0.1, 0.2], [0.3, 0.4, 0]], [[0, 0, 0], [0, 0, 0.9]]]),
)
ACTIONS = answering(
    "I_TURN_LEFT " * 11 + "I_JUMP",
    tokens=["I_TURN_LEFT"] * 11 + ["I_JUMP"],
    alternatives=["I_TURN_RIGHT " * 9 + "HH AH"],
    alternative_scores=np.float32([-3.0]),
    **look("text", ["I_TURN_LEFT"] * 11 + ["I_JUMP"], ["jump", "around", "left"], np.full([12, 3], 1 / 3)),
)
GRID = answering("map", image_queries=["map"], image_attention=np.float32([[[0.5, 0.5]]]))
PIXEL = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\x06\0\0\0\x1f\x15\xc4\x89"
    b"\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82"
)
MANIFESTS = {
    "pair": {
        "summary": "Says whether the second sentence follows from the first.",
        "inputs": {"premise": {"widget": "text", "limit": 40}, "hypothesis": {"widget": "odd", "limit": True}},
        "examples": [{"premise": "A man sleeps.", "hypothesis": "A man rests."}, {"premise": "half"}, 3],
    },
    "turning": {"score_meaning": "log-probability"},
    "story": {"inputs": {"story": {"widget": "lines"}, "question": {"widget": "text"}}},
    "caption": {
        "summary": "Says what a picture shows.",
        "inputs": {"image": {"widget": "image"}},
        "examples": [{"image": {"b64": base64.b64encode(PIXEL).decode()}}, {"image": {"b64": "!"}}],
    },
}


def with_manifest(version: Path, manifest) -> None:
    (version / "assets.extra").mkdir(exist_ok=True)
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    (version / "assets.extra" / FILE).write_text(text)


def offered(name, kinds, outputs, examples=(), **more):
    """Return the entry of a model with inputs of these kinds in the list of models."""
    inputs = [{"name": key, "type": "string", "widget": kind, "limit": None, **more} for key, kind in kinds.items()]
    about = {"name": name, "version": "1", "versions": [], "summary": "", "score_meaning": ""}
    return {**about, "inputs": inputs, "outputs": [*outputs], "examples": [*examples]}


def sized(path, size):
    """Create a file of zeros, which a browser opens itself; bytes would be passed to it as JSON."""
    path.touch()
    os.truncate(path, size)
    return path


def asked(url, model, text):
    """Return the outputs of the REST API."""
    outputs = post(url, {"inputs": {"text": [text]}}, f"/v1/models/{model}:predict")[1]["outputs"]
    return {name: value[0] for name, value in outputs.items()}


def http_headers(url, path):
    with urllib.request.urlopen(url + path, timeout=30) as response:
        return response.headers
