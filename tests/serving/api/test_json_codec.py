import copy
import json
import random

import numpy as np
import pytest
from ml_dtypes import bfloat16

from seqattn_tf.serving.api.json_codec import (
    decode_inputs,
    encode_classifications,
    encode_outputs,
    encode_regressions,
    read_signature_name,
)
from seqattn_tf.serving.api.json_parser import parse_document
from seqattn_tf.serving.api.json_values import NUMPY_TYPES, read_regular, read_values, to_array
from seqattn_tf.serving.errors import ServingError

ONE = {"x": "float"}
TWO = {"a": "string", "b": "int32"}
INTEGERS = np.int32([1, 2])


def decode(document, dtypes):
    return decode_inputs(document, dtypes)[1]


@pytest.mark.parametrize(
    ("document", "dtypes", "expected"),
    [
        ({"instances": [1, 2.5]}, ONE, {"x": np.float32([1, 2.5])}),
        ({"instances": [[1], [2]]}, ONE, {"x": np.float32([[1], [2]])}),
        ({"instances": [{"x": 1}, {"x": 2}]}, ONE, {"x": np.float32([1, 2])}),
        ({"instances": [{"a": "é", "b": 1}]}, TWO, {"a": ["é".encode()], "b": np.int32([1])}),
        ({"instances": [{"b64": "/w=="}]}, {"a": "string"}, {"a": [b"\xff"]}),
        ({"instances": [{"a": {"b64": "/w"}}]}, {"a": "string"}, {"a": [b"\xff"]}),
        ({"inputs": [1, 2]}, ONE, {"x": np.float32([1, 2])}),
        ({"inputs": 3}, ONE, {"x": np.float32(3)}),
        ({"inputs": {"b64": "AAA="}}, {"a": "string"}, {"a": b"\0\0"}),
        ({"inputs": {"a": ["t"], "b": [1], "extra": 0}}, TWO, {"a": [b"t"], "b": np.int32([1])}),
        ({"inputs": {"x": []}}, ONE, {"x": np.zeros([0], np.float32)}),
        ({"inputs": []}, {"a": "string"}, {"a": np.empty([0], object)}),
        ({"inputs": [[], []]}, ONE, {"x": np.zeros([2, 0], np.float32)}),
        ({"inputs": [1e39, -1e39, 10**300]}, ONE, {"x": np.float32([np.inf, -np.inf, np.inf])}),
        ({"inputs": [2**24 + 1, 2**64]}, ONE, {"x": np.float32([2**24, 2**64])}),
        ({"inputs": [2**53 + 1]}, {"x": "double"}, {"x": np.float64([2**53])}),
        ({"inputs": [-1, 300]}, {"x": "uint8"}, {"x": np.uint8([255, 44])}),
        ({"inputs": [128, -129]}, {"x": "int8"}, {"x": np.int8([-128, 127])}),
        ({"instances": [2**31 - 1, 32768]}, {"x": "int16"}, {"x": np.int16([-1, -32768])}),
        ({"inputs": ["\udcff"]}, {"a": "string"}, {"a": [b"\xff"]}),
        ({"inputs": {"b64": "aGk."}}, {"a": "string"}, {"a": b"hi"}),
        (
            {"instances": [{"a": "t", "b": 1}, {"b": 2, "a": {"b64": "dQ"}}]},
            TWO,
            {"a": [b"t", b"u"], "b": np.int32([1, 2])},
        ),
        ({"inputs": [True]}, {"x": "bool"}, {"x": np.array([True])}),
        ({"inputs": [2**64 - 1]}, {"x": "uint64"}, {"x": np.uint64([2**64 - 1])}),
        ({"inputs": [-(2**63)]}, {"x": "int64"}, {"x": np.int64([-(2**63)])}),
    ],
)
def test_inputs_are_read(document, dtypes, expected):
    arrays = decode(document, dtypes)
    assert arrays.keys() == expected.keys()
    for alias, array in arrays.items():
        wanted = np.asarray(expected[alias], object if dtypes[alias] == "string" else None)
        assert array.dtype == wanted.dtype
        assert array.shape == wanted.shape
        assert array.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("document", "dtypes", "message"),
    [
        ({}, ONE, "Missing 'inputs' or 'instances' key"),
        ({"inputs": 1, "instances": [1]}, ONE, "Not formatted correctly expecting only one of"),
        ({"instances": 1}, ONE, "Expecting 'instances' to be an list/array"),
        ({"instances": []}, ONE, "No values in 'instances' array"),
        ({"instances": [1.0]}, {"k": "int32"}, "Error: INVALID_ARGUMENT: JSON Value: 1.0 Type: Number is not of"),
        ({"inputs": ["x"]}, ONE, 'JSON Value: "x" Type: String is not of expected type: float'),
        ({"inputs": [True]}, ONE, "JSON Value: true Type: True is not of expected type: float"),
        ({"inputs": [None]}, {"a": "string"}, "JSON Value: null Type: Null is not of expected type: string"),
        ({"inputs": [1]}, {"a": "string"}, "JSON Value: 1 Type: Number is not of expected type: string"),
        ({"inputs": [0]}, {"b": "bool"}, "JSON Value: 0 Type: Number is not of expected type: bool"),
        ({"inputs": [2**31]}, {"k": "int32"}, "Type: Number is not of expected type: int32"),
        ({"inputs": [-(2**31) - 1, 0]}, {"k": "int32"}, "Type: Number is not of expected type: int32"),
        ({"inputs": [-1, 0]}, {"k": "uint64"}, "Type: Number is not of expected type: uint64"),
        ({"inputs": [2**31]}, {"k": "uint8"}, "Type: Number is not of expected type: uint8"),
        ({"inputs": [2**32]}, {"k": "uint32"}, "Type: Number is not of expected type: uint32"),
        (
            {"inputs": [2**64]},
            {"k": "uint64"},
            "JSON Value: 18446744073709552000.0 Type: Number is not of",
        ),
        ({"inputs": [0.1234567891]}, {"k": "int64"}, "JSON Value: 0.1234567891 Type: Number is not of"),
        ({"inputs": [[1, "x"], [2]]}, ONE, 'JSON Value: "x" Type: String is not of expected type: float'),
        ({"inputs": [{"y": 1}]}, ONE, "Type: Object is not of expected type: float"),
        ({"inputs": [[1, 2], [3]]}, ONE, "Encountered list at unexpected size: 1 at level: 1 expected size: 2"),
        ({"inputs": [[1], 2]}, ONE, "found at incorrect level: 2 in the JSON DOM. Expected at level: 2"),
        ({"inputs": [1, [2]]}, ONE, "Encountered list at unexpected level: 1 expected < 1"),
        (
            {"instances": [[1, 2], [3]]},
            ONE,
            "element: 1 of 'instances' list. Error: INVALID_ARGUMENT: Expecting tensor",
        ),
        ({"instances": [[1, 2], [3]]}, ONE, "Expecting tensor size: 2 but got: 1"),
        ({"instances": [[[1], [2]], [[3, 4]]]}, ONE, "Expecting shape [2,1] but got: [1,2]"),
        ({"instances": [{"a": "t", "b": 1, "c": 2}]}, TWO, "element: 0 key: c of 'instances' list. Error:"),
        ({"instances": [{"a": "t", "b": 1, "c": 2}]}, TWO, "JSON object: does not have named input: c"),
        ({"instances": [{"a": "t"}]}, TWO, "keys must be equal to: a,b"),
        ({"instances": ["t"]}, TWO, "instances is a plain list, but expecting list of objects"),
        ({"instances": [{"x": 1}, 2]}, ONE, "Expecting object but got list at item 1 of input list"),
        ({"instances": [2, {"x": 1}]}, ONE, "Expecting value/list but got object at item 1 of input list"),
        ({"inputs": {"a": ["t"]}}, TWO, "Missing named input: b in 'inputs' object."),
        ({"inputs": ["t"]}, TWO, "inputs is a plain value/list, but expecting an object"),
        ({"inputs": [{"b64": "_-8="}]}, {"a": "string"}, "Unable to base64 decode"),
        ({"inputs": [{"b64": "A"}]}, {"a": "string"}, "Unable to base64 decode"),
        ({"inputs": [{"b64": "aGVsbG8=="}]}, {"a": "string"}, "Unable to base64 decode"),
        ({"inputs": [{"b64": "é"}]}, {"a": "string"}, "Unable to base64 decode"),
        ({"inputs": [{"b64": 1}]}, {"a": "string"}, "not formatted correctly for base64 data"),
        ({"instances": [1.0]}, {"x": "half"}, "Error: UNIMPLEMENTED: Conversion of JSON Value: 1.0 to type: half"),
    ],
)
def test_bad_inputs_are_refused_with_the_contract_s_words(document, dtypes, message):
    with pytest.raises(ServingError) as raised:
        decode(document, dtypes)
    assert raised.value.code == "INVALID_ARGUMENT"
    assert message in raised.value.message


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
def test_the_quick_way_and_the_careful_way_read_the_same(dtype):
    draw = random.Random(dtype)
    leaves = {"string": ["a", "é", ""], "bool": [True, False], "float": [1, 0.1, -3.5e38]}.get(dtype, [0, 1, 127, 255])
    for _ in range(50):
        value = draw.choice(leaves)
        for _ in range(draw.randrange(4)):
            value = [copy.deepcopy(value) for _ in range(draw.randrange(3))]
        quick, careful = read_regular(value, dtype), to_array(*read_values(value, dtype), dtype)
        assert (quick.dtype, quick.shape, quick.tolist()) == (careful.dtype, careful.shape, careful.tolist())


def test_of_a_type_that_json_cannot_carry_only_empty_lists_are_accepted_in_columns():
    with pytest.raises(ServingError, match=r"Conversion of JSON Value: .* to type: bfloat16") as raised:
        decode({"inputs": [1.0]}, {"x": "bfloat16"})
    assert raised.value.http_status == 501
    for dtype in ("half", "bfloat16", "uint16", "complex64"):
        inputs = decode({"inputs": [[], []]}, {"x": dtype})
        assert (inputs["x"].shape, inputs["x"].dtype.itemsize) == ((2, 0), 8 if dtype == "complex64" else 2)


def read_and_decode(body):
    document = parse_document(body)
    read_signature_name(document)
    return decode(document, ONE)


@pytest.mark.parametrize("depth", [70, 950, 990, 5000, 50_000])
@pytest.mark.parametrize("key", ["inputs", "instances", "signature_name", "examples"])
@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a": ', "}")])
def test_deep_bodies_are_refused_whatever_they_say(depth, key, opened, closed):
    nested = opened * depth + '"\\ud83d\\ude00"' + closed * depth
    body = f'{{"{key}": {nested}}}'.encode()
    with pytest.raises(ServingError) as raised:
        read_and_decode(body)
    assert raised.value.code == "INVALID_ARGUMENT"
    assert len(raised.value.message) < 1000


def test_signature_name_must_be_a_string():
    assert read_signature_name({}) == ""
    with pytest.raises(ServingError, match=r"'signature_name' key must be a string value."):
        read_signature_name({"signature_name": 1})


def test_long_values_are_cut_in_messages():
    with pytest.raises(ServingError) as raised:
        decode({"inputs": ["x" * 100_000]}, ONE)
    assert len(raised.value.message) < 1000


def strings(*values):
    return np.array(values, dtype=object)


@pytest.mark.parametrize(
    ("outputs", "row", "text"),
    [
        ({"y": np.float32([0.2, 1, 1e30])}, True, '{"predictions": [0.2, 1.0, 1e+30]}'),
        ({"y": np.float32([np.nan, np.inf, -np.inf])}, True, '{"predictions": [NaN, Infinity, -Infinity]}'),
        (
            {"y": np.float32([1 / 3, 16777215, 9000000, 1e-5, -0.0])},
            False,
            '{"outputs": [0.333333343, 16777215.0, 9e+06, 1e-05, -0.0]}',
        ),
        ({"y": np.float64([0.1, 1 / 3, 1e300])}, False, '{"outputs": [0.1, 0.33333333333333331, 1e+300]}'),
        ({"y": np.zeros([0], np.float16)}, False, '{"outputs": []}'),
        ({"y": np.zeros([2, 0, 3])}, False, '{"outputs": [[], []]}'),
        ({"y": np.zeros([2, 1, 0])}, True, '{"predictions": [[[]], [[]]]}'),
        ({"s": np.array(b"a\0", object)}, False, '{"outputs": "a\\u0000"}'),
        (
            {'q"': strings(b'"\n'), "n": np.uint64([2**64 - 1])},
            True,
            '{"predictions": [{"q\\"": "\\"\\n", "n": 18446744073709551615}]}',
        ),
        ({"y": np.float32(2)}, False, '{"outputs": 2.0}'),
        ({"a": strings(b"\xc3\xa9", b"\xff")}, False, '{"outputs": ["é", "\ufffd"]}'),
        ({"a_bytes": strings(b"\xff")}, True, '{"predictions": [{"b64": "/w=="}]}'),
        ({"a": np.int64([1]), "b": np.array([[True]])}, True, '{"predictions": [{"a": 1, "b": [true]}]}'),
        ({"a": np.int64([1]), "b": np.array([2.5])}, False, '{"outputs": {"a": [1], "b": [2.5]}}'),
        ({"a": np.zeros([0]), "b": np.zeros([0, 3])}, True, '{"predictions": []}'),
    ],
)
def test_outputs_are_written(outputs, row, text):
    assert encode_outputs(outputs, row).decode() == text


def test_written_floats_read_back_as_the_same_float32():
    values = np.random.default_rng(0).normal(size=1000).astype(np.float32) ** 9
    written = json.loads(encode_outputs({"y": values}, False))["outputs"]
    np.testing.assert_array_equal(np.float32(written), values)


def test_results_are_written():
    body = encode_classifications([[('a"', 1.0), ("é", 1 / 3)], []])
    assert body.decode() == '{"results": [[["a\\"", 1.0], ["é", 0.333333343]], []]}'
    assert encode_regressions([0.5, float("-inf"), 3]) == b'{"results": [0.5, -Infinity, 3.0]}'


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"y": np.float32(2)}, "Tensor name: y has no shape information"),
        ({"a": np.zeros(2), "b": np.zeros(3)}, "Tensor name: b has inconsistent batch size: 3 expecting: 2"),
        ({"y": np.zeros(1, complex)}, "Failed to write JSON value for tensor type: complex128"),
        ({"y": np.zeros(1, np.float16)}, "Failed to write JSON value for tensor type: half"),
        ({"y": np.zeros(1, np.uint16)}, "Failed to write JSON value for tensor type: uint16"),
        ({"y": np.zeros(1, bfloat16)}, "Failed to write JSON value for tensor type: bfloat16"),
        ({}, "Cannot convert empty tensor map to JSON"),
    ],
)
def test_outputs_that_have_no_rows(outputs, message):
    with pytest.raises(ServingError, match=message):
        encode_outputs(outputs, True)
