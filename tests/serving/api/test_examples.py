import pytest

from seqattn_tf.serving.api.examples import input_from_json, serialized_examples
from seqattn_tf.serving.api.json_parser import parse_document
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.protos import Example, Input


def features(value):
    """Return the features of one JSON example: name -> kind and values."""
    (example,) = input_from_json({"examples": [value]}).example_list.examples
    kinds = {name: feature.WhichOneof("kind") for name, feature in example.features.feature.items()}
    return {
        name: (kind, list(getattr(example.features.feature[name], kind).value) if kind else [])
        for name, kind in kinds.items()
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([1, -2], ("int64_list", [1, -2])),
        (7, ("int64_list", [7])),
        ([True, False, 3], ("int64_list", [1, 0, 3])),
        ([-(2**63), 2**63 - 1], ("int64_list", [-(2**63), 2**63 - 1])),
        ([1.0, 2.5], ("float_list", [1.0, 2.5])),
        (1e39, ("float_list", [float("inf")])),
        (-(2.0**127), ("float_list", [-(2.0**127)])),
        (2**64, ("float_list", [2.0**64])),
        ("é", ("bytes_list", ["é".encode()])),
        (["a", {"b64": "/w=="}], ("bytes_list", [b"a", b"\xff"])),
        ([], (None, [])),
    ],
)
def test_the_kind_of_a_feature_is_that_of_its_values(value, expected):
    assert features({"f": value}) == {"f": expected}


def test_the_last_of_two_features_of_one_name_counts_and_names_may_be_no_utf8():
    body = b'{"examples": [{"f": 1, "f": [2.5]}], "examples": [{}], "signature_name": "\\udc00"}'
    (example,) = input_from_json(parse_document(body)).example_list.examples
    assert list(example.features.feature["f"].float_list.value) == [2.5]
    assert list(features({"\udcff": 1})) == ["?"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "JSON Value: {} When method is classify, key 'examples' is expected and was not found"),
        ({"examples": {}}, "Expecting 'examples' value to be an list/array"),
        ({"examples": []}, "'examples' value is an empty array"),
        ({"examples": [1]}, "Example must be JSON object but got JSON Number"),
        ({"examples": [{}, None]}, "Example must be JSON object but got JSON Null"),
        ({"context": [], "examples": [{}]}, "Example must be JSON object but got JSON Array"),
        ({"context": [], "examples": 1}, "Example must be JSON object but got JSON Array"),
        ({"examples": [{"f": None}]}, "Feature: f has element with unexpected JSON type: Null"),
        ({"examples": [{"f": [[1]]}]}, "Feature: f has element with unexpected JSON type: Array"),
        ({"examples": [{"f": {"a": 1}}]}, "Feature: f has element with unexpected JSON type: Object"),
        ({"examples": [{"f": {"b64": 1}}]}, "Feature: f has element with unexpected JSON type: Object"),
        ({"examples": [{"f": {"b64": "_"}}]}, "Unable to base64 decode"),
        ({"examples": [{"f": [1, 2.0]}]}, "Unexpected element type in feature: f expecting type: int64"),
        ({"examples": [{"f": [2.0, True]}]}, "Unexpected element type in feature: f expecting type: float"),
        ({"examples": [{"f": ["a", 1]}]}, "Unexpected element type in feature: f expecting type: bytes"),
        ({"examples": [{"f": [1, "a"]}]}, "Unexpected element type in feature: f expecting type: int64"),
        ({"examples": [{"f": 2**63}]}, "Feature: f has uint64_t element. Only int64_t is supported."),
    ],
)
def test_bad_examples_are_refused_with_the_contract_s_words(document, message):
    with pytest.raises(ServingError) as raised:
        input_from_json(document)
    assert raised.value.code == "INVALID_ARGUMENT"
    assert message in raised.value.message


def test_a_context_is_part_of_every_example_and_an_example_may_differ():
    request = input_from_json({"context": {"a": 1, "b": "c"}, "examples": [{"x": 2.0}, {"a": 5}]})
    assert request.WhichOneof("kind") == "example_list_with_context"
    first, second = map(Example.FromString, serialized_examples(request))
    assert sorted(first.features.feature) == ["a", "b", "x"]
    assert sorted(second.features.feature) == ["a", "b"]
    assert list(second.features.feature["a"].int64_list.value) == [5]


@pytest.mark.parametrize("kind", [None, "example_list", "example_list_with_context"])
def test_no_examples(kind):
    request = Input()
    if kind:
        getattr(request, kind).SetInParent()
    with pytest.raises(ServingError, match=r"INVALID_ARGUMENT: Input is empty\."):
        serialized_examples(request)


def test_a_context_is_not_copied_for_any_number_of_examples():
    """A megabyte for each of 1000 examples of two bytes is a gigabyte; with 100 000 examples, memory would run out."""
    request = input_from_json({"context": {"c": "x" * 1_000_000}, "examples": [{"x": 1}] * 10})
    assert len(serialized_examples(request)) == 10
    request.example_list_with_context.examples.extend([Example()] * 1_000)
    with pytest.raises(ServingError, match=r"context: expected at most 268435456 bytes, copied for each example"):
        serialized_examples(request)
