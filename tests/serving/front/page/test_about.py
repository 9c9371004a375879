"""The description of a version on the page, with and without a manifest."""

import json

import pytest

from seqattn_tf.lite.manifest import FILE
from seqattn_tf.serving.front.page.about import EXAMPLES, EXAMPLES_SIZE, LARGEST, about
from seqattn_tf.serving.protos import DataType, SignatureDef, TensorInfo

STRING = TensorInfo(dtype=DataType.DT_STRING)
PAIR = SignatureDef(inputs={"a": STRING, "b": STRING})
BARE = [{"name": name, "type": "string", "widget": "text", "limit": None, "canvas": None} for name in "ab"]
NONE = {"summary": "", "score_meaning": "", "inputs": BARE, "examples": []}


@pytest.fixture
def told(tmp_path):
    """A function that returns the description of a version with a given manifest."""

    def told(manifest):
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        (tmp_path / FILE).write_text(text)
        return about(tmp_path, PAIR)

    return told


def test_without_a_manifest_or_a_folder(tmp_path):
    assert about(tmp_path, PAIR) == about(None, PAIR) == NONE


@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "{",
        "[" * 100_000,
        "[]",
        "null",
        '"text"',
        "{}",
        json.dumps({"summary": "x" * LARGEST}),
        {"summary": 3, "inputs": ["a"], "examples": {"a": "x"}},
        {
            "inputs": {"a": "text", "c": {"widget": "image"}, "b": {"widget": 3, "limit": "4"}},
            "examples": [[], None, {}],
        },
        *(
            {"inputs": {"a": {"canvas": canvas}}}
            for canvas in (3, [3], [3, 0], [3, True], [3, "4"], [3, 4, 5], {"3": 4})
        ),
        {"inputs": {"a": {"limit": -1}, "b": {"limit": True}}, "examples": [{"a": "x", "b": 3}, {"a": "x"}]},
        {"examples": [{"a": "x", "b": {"b64": "!"}}, {"a": "x", "b": {"b64": "YQ==", "more": ""}}]},
    ],
    ids=lambda manifest: str(manifest)[:20],
)
def test_what_is_broken_huge_or_of_another_form_counts_as_not_there(told, manifest):
    assert told(manifest) == NONE


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / FILE).write_bytes(b"\xff\xfe{}")
    assert about(tmp_path, PAIR) == NONE


def test_inputs_come_in_the_order_of_the_manifest(told):
    found = told({"summary": " Does\nthis. ", "inputs": {"b": {"widget": "image", "limit": 5, "canvas": [96, 416]}}})
    assert found["summary"] == "Does this."
    assert found["inputs"] == [
        {"name": "b", "type": "string", "widget": "image", "limit": 5, "canvas": [96, 416]},
        BARE[0],
    ]
    assert [item["name"] for item in told({"inputs": {"b": {}, "a": {}}})["inputs"]] == ["b", "a"]


def test_examples_are_few_and_small(told):
    small = [{"a": str(n), "b": {"b64": "YQ=="}} for n in range(EXAMPLES + 3)]
    assert told({"examples": small})["examples"] == small[:EXAMPLES]
    large = [{"a": "x" * (EXAMPLES_SIZE // 2), "b": str(n)} for n in range(3)]
    assert told({"examples": [*large, small[0]]})["examples"] == [large[0], small[0]]


def test_examples_fill_what_may_be_sent_to_the_last_byte(told):
    """One that just fits is included, one more byte is too much, and smaller ones after it are still included."""
    bare = len(json.dumps({"a": "", "b": ""}))
    fits, small = {"a": "x" * (EXAMPLES_SIZE - bare), "b": ""}, {"a": "s", "b": "s"}
    assert told({"examples": [fits]})["examples"] == [fits]
    assert told({"examples": [{**fits, "b": "y"}, small]})["examples"] == [small]
    half = {"a": "x" * (EXAMPLES_SIZE // 2), "b": ""}
    assert told({"examples": [half, half, small]})["examples"] == [half, small]  # the limit applies to the total size
