"""Thousands of requests, drawn at random, with the replies of TensorFlow Serving's own REST code.

The cases are not part of the project: the tests are skipped where they are missing.
"""

import base64
import json
import lzma
import re
import runpy
from pathlib import Path
from unittest import mock

import pytest
from serving_toys import load_saved_model

from seqattn_tf.serving.api.exchange import Request
from seqattn_tf.serving.api.rest import RestApi
from seqattn_tf.serving.models.model_config import ModelConfig, VersionPolicy
from seqattn_tf.serving.models.repository import ModelRepository

CASES = Path(__file__).resolve().parents[4] / "shared" / "serving_cases"
_NUMBER = re.compile(rb"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")
# The inputs and outputs of a signature are a map, so the one that is named first may be any.
_IN_ORDER_OF_A_MAP = re.compile(rb"(?<=Missingnamedinput:)\w+(?=in'inputs')|Tensorname:\w+(?=hasinc)|\d+expecting:\d+")
# Differences on purpose, by what they look like; docs/serving.md explains them.
DEEP = re.compile(rb"(\[\s*){64}")
NUL = re.compile(rb"\\u0000")
LONG_TEXT = re.compile(rb'"[^"]{500}')
ORDER_OF_INPUTS = re.compile(rb'"inputs":{"a":.*"b":|"instances":\[{"b64"')  # TF Serving's order of inputs is any
NOT_THE_API = re.compile(r"//|/v2/")

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason=f"{CASES} is missing")


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replay")
    with mock.patch("sys.argv", ["models.py", str(folder)]):
        runpy.run_path(str(CASES / "models.py"))
    every = VersionPolicy(latest=0)
    models = {
        "fz": ModelConfig("fz", folder / "fz"),
        "half": ModelConfig("half", folder / "half", every, {"stable": 3}),
        "txt": ModelConfig("txt", folder / "txt"),
    }
    repository = ModelRepository(lambda: models, load_saved_model, poll_seconds=0, labels_need_a_version=False)
    repository.start()
    yield RestApi(repository)
    repository.stop()


def read(path: Path):
    with lzma.open(path, "rt") as lines:
        for line in lines:
            row = json.loads(line)
            yield row, base64.b64decode(row["body"]), base64.b64decode(row["reply"])


def plain(text: bytes) -> bytes:
    """Return a reply without what is not part of the contract: spaces, graph nodes, and the last digits of numbers."""
    text = re.sub(rb"\\n|\\t|\s+", b"", text).split(b"[[{{")[0].rstrip(b'"}')
    text = text.replace(b"goo.gle/debugproto", b"")  # which newer versions of protobuf write in front of a message
    text = _IN_ORDER_OF_A_MAP.sub(b"", text)
    return _NUMBER.sub(lambda number: b"%.12e" % float(number[0]), text)


def same(reply: bytes, expected: bytes) -> bool:
    try:
        if json.loads(reply) == json.loads(expected):
            return True
    except ValueError:
        pass
    return plain(reply) == plain(expected)


def is_valid(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_replies_are_those_of_tensorflow_serving(api):
    different, total = [], 0
    for row, body, expected in read(CASES / "rest.jsonl.xz"):
        if NOT_THE_API.match(row["path"]):
            continue  # outside of the API, which replies in HTML there
        total += 1
        reply = api.handle(Request(row["method"], row["path"], body))
        if DEEP.search(body) or NUL.search(body):
            continue
        if reply.status != row["status"]:
            different.append((row["path"], body[:200], row["status"], reply.status))
        elif (
            row["method"] == "HEAD" or not is_valid(expected) or LONG_TEXT.search(body) or ORDER_OF_INPUTS.search(body)
        ):
            continue
        elif not same(reply.body, expected):
            different.append((row["path"], body[:200], expected[:200], reply.body[:200]))
    assert total > 3000
    assert not different, "".join(f"\n{case}" for case in different)
