"""JSON in TF Serving's parser: bodies, byte for byte, and the expected responses.

See json_tensor.cc. The bodies are sent to half_plus_two, whose only input `x` is a float, or to signatures of `types`.
"""

import pytest
from conformance.calls import http_answer, named, spelled

BIG = "Number too big to be stored in double."

REFUSED = [  # name | body | message | offset
    ("a bracket alone", b"]", "The document is empty.", 0),
    ("spaces", b"  ", "The document is empty.", 2),
    ("no JSON", b"x = [1, 2]", "Invalid value.", 0),
    ("a comma too many in a list", b'{"inputs": [1,]}', "Invalid value.", 14),
    ("a comma too many in an object", b'{"inputs": [1],}', "Missing a name for object member.", 15),
    ("half a word", b'{"inputs": [nul]}', "Invalid value.", 15),
    ("a plus", b'{"inputs": [+1]}', "Invalid value.", 12),
    ("no fraction", b'{"inputs": [1.]}', "Miss fraction part in number.", 14),
    ("no exponent", b'{"inputs": [1e]}', "Miss exponent in number.", 14),
    ("zeros in front", b'{"inputs": [01]}', "Missing a comma or ']' after an array element.", 13),
    ("an open string", b'{"inputs": "a', "Missing a closing quotation mark in string.", 13),
    ("an unknown escape", b'{"inputs": "\\x"}', "Invalid escape character in string.", 12),
    ("a control sign", b'{"inputs": "a\x01"}', "Invalid escape character in string.", 13),
    ("no hexadecimal", b'{"inputs": "\\u12x4"}', "Incorrect hex digit after \\u escape in string.", 12),
    ("half a pair", b'{"inputs": "\\ud83d"}', "The surrogate pair in string is invalid.", 12),
    ("an exponent beyond a double", b'{"inputs": [1, 1e400]}', BIG, 15),
    ("an integer beyond a double", b'{"inputs": [' + b"9" * 400 + b"]}", BIG, 12),
    ("a decimal beyond a double", b'{"inputs": [-' + b"9" * 400 + b".5]}", BIG, 12),
]


@pytest.mark.parametrize(("body", "message", "offset"), named(REFUSED))
def test_what_is_no_json(target, body, message, offset):
    status, _, raw = http_answer(target, "POST", "half_plus_two:predict", body)
    assert (status, spelled(raw.decode())) == (400, {"error": f"JSON Parse error: {message} at offset: {offset}"})


READ = [  # name | body | response
    ("the first of two keys", b'{"inputs": [1], "inputs": [2]}', '{"outputs": [2.5]}'),
    ("the first of two columns", b'{"inputs": {"x": [1], "x": [3]}}', '{"outputs": [2.5]}'),
    ("Inf", b'{"instances": [Inf, -Inf, -Infinity]}', '{"predictions": [Infinity, -Infinity, -Infinity]}'),
    ("a mark before", b'\xef\xbb\xbf{"inputs": [1]}', '{"outputs": [2.5]}'),
    ("a NUL after", b'{"inputs": [1]}\0{', '{"outputs": [2.5]}'),
    ("an integer beyond 64 bits", b'{"inputs": [18446744073709551616]}', '{"outputs": [9.22337204e+18]}'),
    ("a decimal beyond a float", b'{"inputs": [1e39]}', '{"outputs": [Infinity]}'),
]


@pytest.mark.parametrize(("body", "answer"), named(READ))
def test_what_is_read(target, body, answer):
    status, _, raw = http_answer(target, "POST", "half_plus_two:predict", body)
    assert (status, spelled(raw.decode())) == (200, spelled(answer))


BYTES = [  # name | JSON string | base64 of the model's input
    ("text", b'"a\\u00e9"', "YcOp"),
    ("bytes that are no UTF-8", b'"\xff\xfe"', "//4="),
    ("a pair", b'"\\ud83d\\ude00"', "8J+YgA=="),
    ("the second half of a pair", b'"\\udc00"', "7bCA"),
    ("an escaped NUL", b'"a\\u0000b"', "YQBi"),
    ("a slash", b'"\\/"', "Lw=="),
    ("base64 with spaces in it", b'{"b64": " Y Q = = "}', "YQ=="),
    ("base64 without padding", b'{"b64": "YQ"}', "YQ=="),
]


@pytest.mark.parametrize(("string", "told"), named(BYTES))
def test_strings(target, string, told):
    body = b'{"signature_name": "bytes", "inputs": ' + string + b"}"
    status, _, raw = http_answer(target, "POST", "types:predict", body)
    assert (status, spelled(raw.decode())) == (200, {"outputs": {"b64": told}})


BINARY = [  # name | instances | predictions of the signature `bytes`
    ("scalars", '[{"b64": "aGk="}, {"b64": "eW8="}]', '[{"b64": "aGk="}, {"b64": "eW8="}]'),
    ("lists", '[[{"b64": "aGk="}], [{"b64": "eW8="}]]', '[[{"b64": "aGk="}], [{"b64": "eW8="}]]'),
    ("by name", '[{"x": [[{"b64": "aGk="}], [{"b64": "eW8="}]]}]', '[[[{"b64": "aGk="}], [{"b64": "eW8="}]]]'),
    ("beside text", '["hi", {"b64": "eW8="}]', '[{"b64": "aGk="}, {"b64": "eW8="}]'),
]


@pytest.mark.parametrize(("instances", "predictions"), named(BINARY))
def test_binary_values_in_rows(target, instances, predictions):
    body = f'{{"signature_name": "bytes", "instances": {instances}}}'.encode()
    status, _, raw = http_answer(target, "POST", "types:predict", body)
    assert (status, spelled(raw.decode())) == (200, spelled(f'{{"predictions": {predictions}}}'))


@pytest.mark.parametrize("dtype", ["half", "uint16", "bfloat16"])
@pytest.mark.parametrize("body", ['"inputs": [1.5]', '"instances": [1.5]'])
def test_outputs_that_json_does_not_carry(target, dtype, body):
    body = f'{{"signature_name": "to_{dtype}", {body}}}'.encode()
    status, _, raw = http_answer(target, "POST", "types:predict", body)
    message = f"Failed to write JSON value for tensor type: {dtype}"
    assert (status, spelled(raw.decode())) == (400, {"error": message})


def test_an_empty_output_of_such_a_type_is_an_empty_list(target):
    body = b'{"signature_name": "to_half", "inputs": []}'
    assert http_answer(target, "POST", "types:predict", body)[2] in (b'{"outputs": []}', b'{\n    "outputs": []\n}')


def test_the_first_fault_in_the_text_is_told(target):
    body = b'{"inputs": [[1, "x"], [2]]}'
    _, _, raw = http_answer(target, "POST", "half_plus_two:predict", body)
    assert spelled(raw.decode()) == {"error": 'JSON Value: "x" Type: String is not of expected type: float'}
