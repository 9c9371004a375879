"""Predict in REST: requests and the expected JSON, with the exact spelling of numbers.

See TF Serving's api_rest.md.
"""

import base64
import gzip

import pytest
from conformance.calls import http_answer, named, rest, spelled

NOTED = [  # name | path below /v1/models/ | body | response
    # "Example" in the documentation, which uses half_plus_three.
    ("by row", "half_plus_two:predict", '{"instances": [1.0, 2.0, 5.0]}', '{"predictions": [2.5, 3.0, 4.5]}'),
    ("by column", "half_plus_two:predict", '{"inputs": [1.0, 2.0, 5.0]}', '{"outputs": [2.5, 3.0, 4.5]}'),
    ("named", "half_plus_two:predict", '{"inputs": {"x": [1.0, 5.0]}}', '{"outputs": [2.5, 4.5]}'),
    ("named rows", "half_plus_two:predict", '{"instances": [{"x": 1.0}, {"x": 5.0}]}', '{"predictions": [2.5, 4.5]}'),
    (
        "by signature",
        "half_plus_two:predict",
        '{"signature_name": "serving_default", "instances": [1.0]}',
        '{"predictions": [2.5]}',
    ),
    ("by no signature", "half_plus_two:predict", '{"signature_name": "", "inputs": [1.0]}', '{"outputs": [2.5]}'),
    ("by version", "half_plus_two/versions/123:predict", '{"instances": [1.0]}', '{"predictions": [2.5]}'),
    ("zeros in front", "half_plus_two/versions/00123:predict", '{"instances": [1.0]}', '{"predictions": [2.5]}'),
    ("by label", "half_plus_two/labels/stable:predict", '{"instances": [1.0]}', '{"predictions": [2.5]}'),
    ("any case in the path", "/V1/Models/half_plus_two:predict", '{"instances": [1.0]}', '{"predictions": [2.5]}'),
    ("escaped", "half%5Fplus%5Ftwo:predict", '{"instances": [1.0]}', '{"predictions": [2.5]}'),
    ("one value", "half_plus_two:predict", '{"inputs": 1.0}', '{"outputs": 2.5}'),
    ("no rows", "half_plus_two:predict", '{"inputs": []}', '{"outputs": []}'),
    ("text after the document", "half_plus_two:predict", '{"instances": [1.0]} more', '{"predictions": [2.5]}'),
    ("unknown keys", "half_plus_two:predict", '{"instances": [1.0], "more": 1}', '{"predictions": [2.5]}'),
    # "Specifying input tensors": the request in the documentation with three inputs, in both formats.
    (
        "three inputs by row",
        "readings:predict",
        """{"instances": [
            {"tag": "foo", "signal": [1, 2, 3, 4, 5], "sensor": [[1, 2], [3, 4]]},
            {"tag": "bar", "signal": [3, 4, 1, 2, 5], "sensor": [[4, 5], [6, 8]]}]}""",
        '{"predictions": [{"name": "FOO", "total": 25.0}, {"name": "BAR", "total": 38.0}]}',
    ),
    (
        "three inputs by column",
        "readings:predict",
        """{"inputs": {
            "tag": ["foo", "bar"],
            "signal": [[1, 2, 3, 4, 5], [3, 4, 1, 2, 5]],
            "sensor": [[[1, 2], [3, 4]], [[4, 5], [6, 8]]]}}""",
        '{"outputs": {"name": ["FOO", "BAR"], "total": [25.0, 38.0]}}',
    ),
    (
        "a column that nobody asked for",
        "readings:predict",
        '{"inputs": {"tag": ["a"], "signal": [[1, 1, 1, 1, 1]], "sensor": [[[1, 1], [1, 1]]], "extra": 1}}',
        '{"outputs": {"name": ["A"], "total": [9.0]}}',
    ),
    (
        "a shape that only the graph could refuse",
        "toy:predict",
        '{"signature_name": "scale", "inputs": {"x": [[1, 2, 3]], "k": [2]}}',
        '{"outputs": {"y": [[2.0, 4.0, 6.0]], "k_out": [2]}}',
    ),
    (
        "outputs of no shape by column",
        "toy:predict",
        '{"signature_name": "joined", "inputs": ["a", "b"]}',
        '{"outputs": {"all": "ab", "count": 2}}',
    ),
    (
        "outputs of unequal sizes by column",
        "toy:predict",
        '{"signature_name": "uneven", "inputs": [1]}',
        '{"outputs": {"a": [1.0], "b": [1.0, 1.0]}}',
    ),
    # "Output of binary values": base64 if the name of an output ends in _bytes.
    (
        "all outputs",
        "toy/versions/1:predict",
        '{"instances": ["ab"]}',
        '{"predictions": [{"upper": "AB", "score": 0.2, "raw_bytes": {"b64": "YWI="}, "version": 1}]}',
    ),
    (
        "the newest version, where none is named",
        "toy:predict",
        '{"inputs": ["ab"]}',
        '{"outputs": {"upper": ["AB"], "score": [0.2], "raw_bytes": [{"b64": "YWI="}], "version": [2]}}',
    ),
    (
        "a label is a version: stable is 1",
        "toy/labels/stable:predict",
        '{"inputs": {"text": ["é"]}}',
        '{"outputs": {"upper": ["é"], "score": [0.2], "raw_bytes": [{"b64": "w6k="}], "version": [1]}}',
    ),
    (
        "a label is a version: canary is 2",
        "toy/labels/canary:predict",
        '{"instances": [{"text": "c"}]}',
        '{"predictions": [{"upper": "C", "score": 0.1, "raw_bytes": {"b64": "Yw=="}, "version": 2}]}',
    ),
]


@pytest.mark.parametrize(("path", "body", "answer"), named(NOTED))
def test_answers(target, path, body, answer):
    assert rest(target, "POST", path, body) == (200, spelled(answer))


MAPPED = [  # "JSON mapping" and "JSON conformance": dtype | input | output
    ("bool", "[true, false]", "[true, false]"),
    ("string", '["Hello World!", ""]', '["Hello World!", ""]'),
    ("string", '[{"b64": "aW1hZ2UgYnl0ZXM="}]', '["image bytes"]'),
    ("string", r'["\u00e9 \"quoted\" \\ \n"]', r'["é \"quoted\" \\ \n"]'),
    ("int8", "[-128, 127]", "[-128, 127]"),
    ("uint8", "[0, 255]", "[0, 255]"),
    ("int16", "[-32768, 32767]", "[-32768, 32767]"),
    ("int32", "[1, -10, 0]", "[1, -10, 0]"),
    ("int32", "[-2147483648, 2147483647]", "[-2147483648, 2147483647]"),
    ("uint32", "[0, 4294967295]", "[0, 4294967295]"),
    ("int64", "[-9223372036854775808, 9223372036854775807]", "[-9223372036854775808, 9223372036854775807]"),
    ("uint64", "[0, 18446744073709551615]", "[0, 18446744073709551615]"),
    ("float", "[1.1, -10.0, 0, 3]", "[1.1, -10.0, 0.0, 3.0]"),
    ("float", "[NaN, Infinity, -Infinity]", "[NaN, Infinity, -Infinity]"),
    ("float", "[1e3, 1.5e-7, 2E2]", "[1000.0, 1.5e-07, 200.0]"),
    ("float", "[0.2, 9000000.0, 0.00003]", "[0.2, 9e+06, 3e-05]"),  # six digits if they are exact
    ("float", "[9000001.0, 0.123456789]", "[9000001.0, 0.123456791]"),  # otherwise all nine digits
    ("float", "[16777215, 16777217]", "[16777215.0, 16777216.0]"),  # an integer may have too many digits for a float
    ("float", "[1435774380, 1435774380.0]", "[1.43577434e+09, 1.43577434e+09]"),
    ("float", "[1e39, -1e39, 1.7976931348623157e308]", "[Infinity, -Infinity, Infinity]"),
    ("float", "[2.2250738585072014e-308, -2.2250738585072014e-308]", "[0.0, -0.0]"),
    ("float", "[Inf, -Inf, -NaN]", "[Infinity, -Infinity, NaN]"),
    ("uint8", "[-1, 256, 300]", "[255, 0, 44]"),  # small types are truncated
    ("int8", "[128, -129]", "[-128, 127]"),
    ("int16", "[32768, 2147483647]", "[-32768, -1]"),
    ("double", "[0.1, 1e300, 9007199254740993]", "[0.1, 1e+300, 9007199254740992.0]"),
    ("double", "[0.123456789012345678]", "[0.12345678901234568]"),
    ("float", "1.5", "1.5"),  # a scalar
    ("int32", "[[[1, 2]], [[3, 4]]]", "[[[1, 2]], [[3, 4]]]"),
    ("int32", "[[], []]", "[[], []]"),
]


@pytest.mark.parametrize(("dtype", "given", "answer"), MAPPED)
def test_values(target, dtype, given, answer):
    body = f'{{"signature_name": "{dtype}", "inputs": {given}}}'
    assert rest(target, "POST", "types:predict", body) == (200, spelled(f'{{"outputs": {answer}}}'))


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ("[[[1, 2]], [[3, 4]]]", "[[[1, 2]], [[3, 4]]]"),  # "List of 2 tensors each of [1, 2] shape"
        ("[1, 2, 3]", "[1, 2, 3]"),
        ("[[1], [2]]", "[[1], [2]]"),
    ],
)
def test_rows_of_any_shape(target, given, answer):
    body = f'{{"signature_name": "int32", "instances": {given}}}'
    assert rest(target, "POST", "types:predict", body) == (200, spelled(f'{{"predictions": {answer}}}'))


def test_bytes_that_are_no_text_come_back_whole(target):
    every = base64.b64encode(bytes(range(65)) + b"\xff").decode()
    _, document = rest(
        target, "POST", "types:predict", f'{{"signature_name": "bytes", "inputs": {{"b64": "{every}"}}}}'
    )
    assert document["outputs"] == {"b64": every}


def test_a_body_may_be_packed(target):
    body = gzip.compress(b'{"instances": [1.0]}')
    status, _, raw = http_answer(target, "POST", "half_plus_two:predict", body, {"Content-Encoding": "gzip"})
    assert (status, spelled(raw.decode())) == (200, spelled('{"predictions": [2.5]}'))


ALLOWED = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}


@pytest.mark.parametrize(  # --rest_api_enable_cors_support
    ("method", "headers", "status"),
    [
        ("GET", {}, 200),
        ("OPTIONS", {"Origin": "https://a.example"}, 200),
        ("OPTIONS", {"Origin": "http://a.example"}, 200),
        ("OPTIONS", {}, 400),
        ("OPTIONS", {"Origin": "ftp://a.example"}, 400),
    ],
)
def test_pages_of_other_sites_may_ask(target, method, headers, status):
    received, answered, raw = http_answer(target, method, "half_plus_two", headers=headers)
    assert received == status
    assert {name: answered[name] for name in ALLOWED} == ALLOWED
    assert bool(raw) == (method == "GET")
