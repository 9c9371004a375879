"""Errors of the REST API: requests, and the expected status and message; `...` matches any text.

"In case of error, all APIs will return a JSON object in the response body with `error` as key" (api_rest.md).
"""

from urllib.parse import quote

import pytest
from conformance.calls import error, http_answer, like, named

BIG = 2**63  # one more than the largest version
RESERVED = "!#$%&'()*+,/:;=?@[]"  # reserved in URLs, but allowed in names and labels
ESCAPED = quote(RESERVED, safe="")
ROW = '{"instances": [1.0]}'

PATHS = [  # method | path | status | message
    # From the documentation: POST /v1/models/half:predict.
    ("POST", "half:predict", 404, "Servable not found for request: Latest(half)"),
    ("POST", "toy/versions/99:predict", 404, "Servable not found for request: Specific(toy, 99)"),
    ("POST", "half/versions/1:predict", 404, "Servable not found for request: Specific(half, 1)"),
    ("POST", "toy/labels/no:predict", 400, "Unrecognized servable version label: no"),
    ("POST", "toy/labels/STABLE:predict", 400, "Unrecognized servable version label: STABLE"),
    ("POST", "half/labels/stable:predict", 400, "Unrecognized servable version label: stable"),
    ("POST", f"m{ESCAPED}:predict", 404, f"Servable not found for request: Latest(m{RESERVED})"),
    ("POST", f"toy/labels/l{ESCAPED}:predict", 400, f"Unrecognized servable version label: l{RESERVED}"),
    ("GET", f"m{ESCAPED}", 404, f"Could not find any versions of model m{RESERVED}"),
    ("GET", f"toy/labels/l{ESCAPED}/metadata", 400, f"Unrecognized servable version label: l{RESERVED}"),
    ("POST", f"toy/versions/{BIG}:predict", 400, ""),
    ("POST", "toy/versions/one:predict", 400, "Malformed request: POST /v1/models/toy/versions/one:predict"),
    (
        "POST",
        "toy/versions/1/labels/a:predict",
        400,
        "Malformed request: POST /v1/models/toy/versions/1/labels/a:predict",
    ),
    ("POST", "toy:guess", 400, "Malformed request: POST /v1/models/toy:guess"),
    ("POST", "toy:Predict", 400, "Malformed request: POST /v1/models/toy:Predict"),
    ("POST", "toy/metadata", 400, "Malformed request: POST /v1/models/toy/metadata"),
    ("POST", "toy/version/1:regress", 400, "Malformed request: POST /v1/models/toy/version/1:regress"),
    ("POST", "toy/label/stable:regress", 400, "Malformed request: POST /v1/models/toy/label/stable:regress"),
    ("GET", "debug/toy", 400, "Malformed request: GET /v1/models/debug/toy"),
    ("POST", "toy", 400, "Malformed request: POST /v1/models/toy"),
    ("POST", "/v1/models:predict", 400, "Malformed request: POST /v1/models:predict"),
    ("POST", "/v1/other", 400, "Malformed request: POST /v1/other"),
    ("GET", "/v1/other", 400, "Malformed request: GET /v1/other"),
    ("GET", "toy:predict", 400, "Malformed request: GET /v1/models/toy:predict"),
    ("PUT", "toy:predict", 400, "Malformed request: PUT /v1/models/toy:predict"),
    ("DELETE", "toy", 400, "Malformed request: DELETE /v1/models/toy"),
    ("GET", "/v1/models", 400, "Missing model name in request."),
]


@pytest.mark.parametrize(("method", "path", "status", "message"), PATHS)
def test_paths(target, method, path, status, message):
    assert error(target, method, path, ROW) == (status, message)


def test_what_is_not_below_v1_is_not_found(target):
    assert http_answer(target, "GET", "/v2/models/toy")[0] == 404


BODIES = [  # name | body | message, for half_plus_two:predict with its single input x of type float
    ("nothing", "", "JSON Parse error: The document is empty"),
    ("no JSON", "instances", "JSON Parse error: Invalid value. at offset: ..."),
    (
        "an open object",
        '{"instances": [1.0]',
        "JSON Parse error: Missing a comma or '}' after an object member. at offset: ...",
    ),
    (
        "an open list",
        '{"instances": [1.0',
        "JSON Parse error: Missing a comma or ']' after an array element. at offset: ...",
    ),
    (
        "no colon",
        '{"instances" [1.0]}',
        "JSON Parse error: Missing a colon after a name of object member. at offset: ...",
    ),
    ("no name", "{1: 2}", "JSON Parse error: Missing a name for object member. at offset: ..."),
    ("a list", "[1.0, 2.0]", "JSON Value: ... Is not object"),
    ("a number", "3", "JSON Value: 3 Is not object"),
    ("a wrong key", '{"instance": [1.0]}', "Missing 'inputs' or 'instances' key"),
    (
        "both keys",
        '{"instances": [1.0], "inputs": [1.0]}',
        "JSON Value: ... Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist ",
    ),
    ("rows that are no list", '{"instances": 1.0}', "JSON Value: ... Expecting 'instances' to be an list/array"),
    ("no rows", '{"instances": []}', "JSON Value: ... No values in 'instances' array"),
    (
        "a signature that is no string",
        '{"signature_name": 1, "instances": [1.0]}',
        "JSON Value: ... not formatted correctly. 'signature_name' key must be a string value.",
    ),
    (
        "an unknown signature",
        '{"signature_name": "no", "instances": [1.0]}',
        'Serving signature name: "no" not found in signature def',
    ),
    ("another column", '{"inputs": {"z": [1.0]}}', "Missing named input: x in 'inputs' object."),
    (
        "a string in a column",
        '{"inputs": ["1"]}',
        'JSON Value: "1" Type: String is not of expected type: float',
    ),
    ("null", '{"inputs": [null]}', "JSON Value: null Type: Null is not of expected type: float"),
    ("true", '{"inputs": [true]}', "JSON Value: true Type: True is not of expected type: float"),
    (
        "an object",
        '{"inputs": {"x": [{"b64": "YQ=="}]}}',
        "JSON Value: ... Type: Object is not of expected type: float",
    ),
    (
        "a string in a row",
        '{"instances": [1.0, "2"]}',
        "Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: "
        'JSON Value: "2" Type: String is not of expected type: float',
    ),
    (
        "another key in a row",
        '{"instances": [{"z": 1.0}]}',
        "Failed to process element: 0 key: z of 'instances' list. Error: INVALID_ARGUMENT: "
        "JSON object: does not have named input: z",
    ),
    (
        "rows of different sizes",
        '{"instances": [[1.0, 2.0], [3.0]]}',
        "Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: "
        "Expecting tensor size: 2 but got: 1",
    ),
    (
        "rows of different shapes",
        '{"instances": [[[1.0], [2.0]], [[3.0, 4.0]]]}',
        "Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: "
        "Expecting shape [2,1] but got: [1,2]",
    ),
    (
        "objects, then values",
        '{"instances": [{"x": 1.0}, 2.0]}',
        "Expecting object but got list at item 1 of input list",
    ),
    (
        "values, then objects",
        '{"instances": [1.0, {"x": 2.0}]}',
        "Expecting value/list but got object at item 1 of input list",
    ),
    (
        "a ragged column",
        '{"inputs": [[1.0, 2.0], [3.0]]}',
        "Encountered list at unexpected size: 1 at level: 1 expected size: 2",
    ),
    (
        "a value beside lists",
        '{"inputs": [[1.0], 2.0]}',
        "JSON Value: 2.0 found at incorrect level: 2 in the JSON DOM. Expected at level: 2",
    ),
    ("a list beside values", '{"inputs": [1.0, [2.0]]}', "Encountered list at unexpected level: 1 expected < 1"),
]


@pytest.mark.parametrize(("body", "message"), named(BODIES))
def test_bodies(target, body, message):
    status, received = error(target, "POST", "half_plus_two:predict", body)
    assert (status, like(message, received)) == (400, True), received


MANY = [  # name | body | message, for readings:predict with the inputs tag, signal (int32) and sensor (float)
    (
        "plain rows",
        '{"instances": ["foo"]}',
        "instances is a plain list, but expecting list of objects as multiple "
        "input tensors required as per tensorinfo_map",
    ),
    (
        "a plain column",
        '{"inputs": ["foo"]}',
        "inputs is a plain value/list, but expecting an object as multiple "
        "input tensors required as per tensorinfo_map",
    ),
    (
        "a row without one of them",
        '{"instances": [{"tag": "foo", "signal": [1, 2, 3, 4, 5]}]}',
        "Failed to process element: 0 of 'instances' list. JSON object: ... keys must be equal to: sensor,signal,tag",
    ),
    (
        "columns without one of them",
        '{"inputs": {"tag": ["foo"], "sensor": [[[1, 2], [3, 4]]]}}',
        "Missing named input: signal in 'inputs' object.",
    ),
    (
        "a decimal for an integer",
        '{"instances": [{"tag": "foo", "signal": [1.0, 2, 3, 4, 5], "sensor": [[1, 2], [3, 4]]}]}',
        "Failed to process element: 0 key: signal of 'instances' list. Error: INVALID_ARGUMENT: "
        "JSON Value: 1.0 Type: Number is not of expected type: int32",
    ),
    (
        "sizes that the graph refuses",
        '{"inputs": {"tag": ["foo"], "signal": [[1], [2], [3]], "sensor": [[[1]], [[2]]]}}',
        "...",
    ),
]


@pytest.mark.parametrize(("body", "message"), named(MANY))
def test_bodies_of_many_inputs(target, body, message):
    status, received = error(target, "POST", "readings:predict", body)
    assert (status, like(message, received)) == (400, True), received


VALUES = [  # dtype | input | status | message, for types:predict in columnar format
    ("bool", "[1]", 400, "JSON Value: 1 Type: Number is not of expected type: bool"),
    ("string", "[1]", 400, "JSON Value: 1 Type: Number is not of expected type: string"),
    ("string", '[{"b64": "!"}]', 400, "Unable to base64 decode"),
    ("string", '[{"b64": "a-_a"}]', 400, "Unable to base64 decode"),  # the standard base64 alphabet is required
    ("string", '[{"b64": 1}]', 400, "JSON Value: ... not formatted correctly for base64 data"),
    ("string", '[{"b64": "YQ==", "more": 1}]', 400, "JSON Value: ... not formatted correctly for base64 data"),
    ("int32", "[1.0]", 400, "JSON Value: 1.0 Type: Number is not of expected type: int32"),
    ("int32", "[2147483648]", 400, "JSON Value: 2147483648 Type: Number is not of expected type: int32"),
    ("uint32", "[-1]", 400, "JSON Value: -1 Type: Number is not of expected type: uint32"),
    (
        "int64",
        "[9223372036854775808]",
        400,
        "JSON Value: 9223372036854775808 Type: Number is not of expected type: int64",
    ),
    ("uint64", "[-1]", 400, "JSON Value: -1 Type: Number is not of expected type: uint64"),
    ("half", "[1.5]", 501, "Conversion of JSON Value: 1.5 to type: half"),
]


@pytest.mark.parametrize(("dtype", "given", "status", "message"), VALUES)
def test_values(target, dtype, given, status, message):
    received, text = error(target, "POST", "types:predict", f'{{"signature_name": "{dtype}", "inputs": {given}}}')
    assert (received, like(message, text)) == (status, True), text


OUTPUTS = [  # name | body | message, for toy:predict
    ("no shape", '{"signature_name": "scalar", "instances": [1]}', "Tensor name: mean has no shape information..."),
    (
        "unequal sizes",
        '{"signature_name": "uneven", "instances": [1]}',
        "Tensor name: ... has inconsistent batch size: ... expecting: ...",
    ),
    ("half in a row", '{"signature_name": "half", "instances": [1]}', "...Conversion of JSON Value: 1 to type: half"),
    (
        "the model's own words",
        '{"instances": ["' + "x" * 65 + '"]}',
        "...assertion failed: [text: expected at most 64 symbols, received] [65]...",
    ),
    (
        "a signature without inputs",
        '{"signature_name": "__saved_model_init_op", "instances": ["a"]}',
        "Failed to get input map for signature: __saved_model_init_op",
    ),
]


@pytest.mark.parametrize(("body", "message"), named(OUTPUTS))
def test_outputs_and_models(target, body, message):
    status, received = error(target, "POST", "toy:predict", body)
    assert (status, like(message, received)) == (400, True), received


@pytest.mark.parametrize("path", ["half:predict", "toy/versions/99:predict", "toy/labels/no:predict"])
def test_the_body_is_read_before_the_model_is_looked_up(target, path):
    status, message = error(target, "POST", path, "{")
    assert (status, like("JSON Parse error: ... at offset: ...", message)) == (400, True), message
