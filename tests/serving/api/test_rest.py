import gzip
import http.client
import json
import socket

import pytest
from serving_toys import apis, config, http_request, load_saved_model, post

from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.models.model_config import ModelConfig, VersionPolicy
from seqattn_tf.serving.models.repository import ModelRepository
from seqattn_tf.serving.server import Server

ROW = {"instances": ["ab", "c"]}
LONG = "x" * 100_000


def test_row_and_columnar_answers(server):
    status, answer = post(server.rest_url, ROW)
    assert status == 200
    assert answer["predictions"][0] == {"upper": "AB", "score": 0.2, "raw_bytes": {"b64": "YWI="}, "version": 1}
    status, answer = post(server.rest_url, {"inputs": {"text": ["ab", "c"]}})
    assert status == 200
    assert answer["outputs"]["upper"] == ["AB", "C"]
    assert answer["outputs"]["score"] == [0.2, 0.1]
    body = {"signature_name": "scale", "instances": [{"x": [1, 2.5], "k": 2}]}
    assert post(server.rest_url, body)[1] == {"predictions": [{"y": [2.0, 5.0], "k_out": 2}]}


def test_a_version_may_be_named_and_paths_ignore_case(server):
    for path in (
        "/v1/models/toy/versions/1:predict",
        "/v1/models/toy/versions/0001:predict",
        "/V1/Models/toy:predict",
        "/v1/models/t%6Fy:predict",
    ):
        assert post(server.rest_url, ROW, path)[0] == 200


def test_a_query_is_part_of_the_last_name(server):
    assert post(server.rest_url, ROW, "/v1/models/toy:predict?a=b") == (
        400,
        {"error": "Malformed request: POST /v1/models/toy:predict?a=b"},
    )
    assert http_request(server.rest_url, "GET", "/v1/models/toy?a=b")[:2] == (
        404,
        {"error": "Could not find any versions of model toy?a=b"},
    )


def test_empty_batches_reach_the_model(server):
    status, answer = post(server.rest_url, {"inputs": {"text": []}})
    assert status == 200
    assert answer["outputs"] == {"upper": [], "score": [], "raw_bytes": [], "version": []}


def test_shapes_are_left_to_the_graph(server):
    body = {"signature_name": "scale", "inputs": {"x": [[1, 2, 3]], "k": [2]}}
    assert post(server.rest_url, body)[1]["outputs"]["y"] == [[2.0, 4.0, 6.0]]


def test_nan_and_infinity_go_both_ways(server):
    raw = b'{"signature_name": "single", "instances": [NaN, Infinity, -Infinity, 1e39]}'
    _, _, text = http_request(server.rest_url, "POST", "/v1/models/toy:predict", raw)
    assert text == '{"predictions": [NaN, Infinity, -Infinity, Infinity]}'


def test_bytes_that_are_not_utf8_go_in_as_base64_and_come_back_as_the_name_says(server):
    status, answer = post(server.rest_url, {"instances": [{"b64": "/2E="}]})
    assert status == 200
    assert answer["predictions"][0]["raw_bytes"] == {"b64": "/2E="}
    assert answer["predictions"][0]["upper"] == "\ufffdA"


def test_gzip_and_chunked_bodies(server):
    body = json.dumps(ROW).encode()
    assert post(server.rest_url, gzip.compress(body), headers={"Content-Encoding": "gzip"})[0] == 200
    status, answer, _ = http_request(server.rest_url, "POST", "/v1/models/toy:predict", iter([body[:5], body[5:]]))
    assert (status, len(answer["predictions"])) == (200, 2)


def test_bodies_that_cannot_be_read(server):
    status, answer = post(server.rest_url, b"not gzip", headers={"Content-Encoding": "gzip"})
    assert status == 400
    assert "expected a readable request body" in answer["error"]
    status, answer = post(server.rest_url, b"{}", headers={"Content-Length": "-1"})
    assert status == 400


def test_a_request_that_is_no_http_gets_a_json_error(server):
    host, _, port = server.rest_url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(b"GET /v1/models/toy HTTP/9.9\r\n\r\n")
        head, _, body = raw.makefile("rb").read().partition(b"\r\n\r\n")
    assert b" 505 " in head.splitlines()[0]
    assert "error" in json.loads(body)


def test_one_connection_serves_many_requests_even_after_errors(server):
    connection = http.client.HTTPConnection(server.rest_url.removeprefix("http://"), timeout=10)
    for body, status in ((json.dumps(ROW), 200), ("{", 400), (json.dumps(ROW), 200)):
        connection.request("POST", "/v1/models/toy:predict", body)
        own = connection.sock
        response = connection.getresponse()
        assert response.status == status
        assert response.getheader("Content-Type") == "application/json"
        response.read()
        assert connection.sock is own
    connection.close()


ERRORS = [
    ("POST", "/v1/models/no:predict", ROW, 404, "Servable not found for request: Latest(no)"),
    ("POST", "/v1/models/toy/versions/99:predict", ROW, 404, "Servable not found for request: Specific(toy, 99)"),
    ("POST", "/v1/models/no:predict", b"{", 400, "JSON Parse error: "),
    ("POST", "/v1/models/toy:predict", b"", 400, "JSON Parse error: The document is empty"),
    ("POST", "/v1/models/toy:predict", b"[1, 2]", 400, "Is not object"),
    ("POST", "/v1/models/toy:predict", b"instances: [1]", 400, "JSON Parse error: "),
    ("POST", "/v1/models/toy:predict", {"signature_name": 3}, 400, "'signature_name' key must be a string value."),
    (
        "POST",
        "/v1/models/toy:predict",
        ROW | {"signature_name": "s"},
        400,
        'Serving signature name: "s" not found in signature def',
    ),
    (
        "POST",
        "/v1/models/toy:predict",
        ROW | {"signature_name": "__saved_model_init_op"},
        400,
        "Failed to get input map for signature: __saved_model_init_op",
    ),
    ("POST", "/v1/models/toy:predict", {}, 400, "Missing 'inputs' or 'instances' key"),
    ("POST", "/v1/models/toy:predict", ROW | {"inputs": ["a"]}, 400, "Not formatted correctly expecting only one of"),
    ("POST", "/v1/models/toy:predict", {"instances": []}, 400, "No values in 'instances' array"),
    ("POST", "/v1/models/toy:predict", {"instances": [1]}, 400, "JSON Value: 1 Type: Number is not of expected type"),
    ("POST", "/v1/models/toy:predict", {"inputs": {"no": []}}, 400, "Missing named input: text in 'inputs' object."),
    (
        "POST",
        "/v1/models/toy:predict",
        {"signature_name": "scale", "inputs": {"x": [[1, 2]], "k": [1.0]}},
        400,
        "JSON Value: 1.0 Type: Number is not of expected type: int32",
    ),
    (
        "POST",
        "/v1/models/toy:predict",
        {"inputs": {"text": [LONG]}},
        400,
        "assertion failed: [text: expected at most 64 symbols, received] [100000]",
    ),
    (
        "POST",
        "/v1/models/toy:predict",
        {"signature_name": "scalar", "instances": [1.0]},
        400,
        "Tensor name: mean has no shape information",
    ),
    ("POST", "/v1/models/toy:predict", {"signature_name": "uneven", "instances": [1]}, 400, "inconsistent batch size"),
    ("POST", "/v1/models/toy:predict", {"signature_name": "half", "inputs": [1]}, 501, "to type: half"),
    ("POST", "/v1/models/toy:predict", {"signature_name": "half", "instances": [1]}, 400, "UNIMPLEMENTED: "),
    ("POST", "/v1/models/toy/labels/l:predict", ROW, 400, "Unrecognized servable version label: l"),
    ("POST", "/v1/models/no/labels/l:predict", ROW, 400, "Unrecognized servable version label: l"),
    ("POST", "/v1/models/toy/labels/l:predict", b"{", 400, "JSON Parse error: "),
    ("POST", "/v1/models/toy/versions/1/labels/l:predict", ROW, 400, "Malformed request: POST /v1/models/toy/ver"),
    ("POST", "/v1/models/toy/versions/x:predict", ROW, 400, "Malformed request: POST /v1/models/toy/versions/x"),
    ("POST", "/v1/models:predict", ROW, 400, "Malformed request: POST /v1/models:predict"),
    ("GET", "/v1/models/versions/1", None, 400, "Missing model name in request."),
    ("GET", "/v1/models/toy/labels/l/metadata", None, 400, "Unrecognized servable version label: l"),
    ("GET", "/v1/models/toy/versions/99/metadata", None, 404, "Servable not found for request: Specific(toy, 99)"),
    ("DELETE", "/v1/models/toy", None, 400, "Malformed request: DELETE /v1/models/toy"),
    ("POST", "/v1/models/toy:guess", ROW, 400, "Malformed request: POST /v1/models/toy:guess"),
    ("POST", "/v1/models/toy", ROW, 400, "Malformed request: POST /v1/models/toy"),
    ("PUT", "/v1/models/toy:predict", ROW, 400, "Malformed request: PUT /v1/models/toy:predict"),
    ("GET", "/v1/foo", None, 400, "Malformed request: GET /v1/foo"),
    ("GET", "/v1/models/toy:predict", None, 400, "Malformed request: GET /v1/models/toy:predict"),
    ("GET", "/v1/models", None, 400, "Missing model name in request."),
    ("GET", "/v1/models/no", None, 404, "Could not find any versions of model no"),
    ("GET", "/v1/models/toy/versions/99", None, 404, "Could not find version 99 of model toy"),
    ("GET", "/v1/models/no/metadata", None, 404, "Servable not found for request: Latest(no)"),
    ("GET", "/elsewhere", None, 404, "Not Found"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "message"), ERRORS)
def test_errors(server, method, path, body, status, message):
    raw = json.dumps(body).encode() if isinstance(body, dict) else body
    received, answer, text = http_request(server.rest_url, method, path, raw)
    assert (received, list(answer)) == (status, ["error"])
    assert message in answer["error"]
    for secret in ("node", "File \\", "Traceback", ".py", "__inference", str(server.config.model_base_path)):
        assert secret not in text


@pytest.mark.parametrize(("method", "rest"), [("POST", ":predict"), ("GET", ""), ("GET", "/metadata")])
def test_a_version_beyond_64_bits_gets_no_text(server, method, rest):
    path = f"/v1/models/toy/versions/{2**63}{rest}"
    assert http_request(server.rest_url, method, path, json.dumps(ROW) if method == "POST" else None)[::2] == (400, "")


def test_status_and_metadata_documents(server):
    status, answer, _ = http_request(server.rest_url, "GET", "/v1/models/toy")
    available = {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
    assert (status, answer) == (200, {"model_version_status": [available]})
    assert http_request(server.rest_url, "GET", "/v1/models/toy/versions/1")[1] == answer
    _, answer, _ = http_request(server.rest_url, "GET", "/v1/models/toy/metadata")
    assert answer["model_spec"] == {"name": "toy", "signature_name": "", "version": "1"}
    assert list(answer["metadata"]["signature_def"]) == ["signature_def"]
    signature = answer["metadata"]["signature_def"]["signature_def"]["scale"]
    assert signature["method_name"] == "tensorflow/serving/predict"
    assert signature["inputs"]["x"]["dtype"] == "DT_FLOAT"
    assert signature["inputs"]["x"]["tensor_shape"] == {
        "dim": [{"size": "-1", "name": ""}, {"size": "2", "name": ""}],
        "unknown_rank": False,
    }


@pytest.mark.parametrize(("limits", "status"), [("default", 413), ("tensorflow_serving", 400)])
def test_a_length_that_is_only_claimed_is_refused(repository_root, limits, status):
    """A body of petabytes is announced, but only three bytes arrive: an error, and no memory allocated for the rest."""
    with Server(config(repository_root, limits=limits)) as server:
        host, port = server.rest_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(b"POST /v1/models/toy:predict HTTP/1.1\r\nContent-Length: 9999999999999999\r\n\r\nabc")
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(4096).startswith(b"HTTP/1.1 %d" % status)


@pytest.fixture(scope="module")
def labelled(exports):
    """A repository with two versions of `toy`, of which the first has the label `old one`."""
    models = {"toy": ModelConfig("toy", exports, VersionPolicy(latest=0), {"old one": 1, "New": 2})}
    repository = ModelRepository(lambda: models, load_saved_model, poll_seconds=0)
    repository.start()
    return repository


def test_a_label_stands_for_a_version_but_not_in_the_status(labelled):
    with apis(labelled) as (url, _):
        for place, version in (("", 2), ("/labels/old%20one", 1), ("/labels/New", 2), ("/versions/1", 1)):
            _, answer = post(url, ROW, f"/v1/models/toy{place}:predict")
            assert answer["predictions"][0]["version"] == version
            _, answer, _ = http_request(url, "GET", f"/v1/models/toy{place}/metadata")
            assert answer["model_spec"]["version"] == str(version)
        assert post(url, ROW, "/v1/models/toy/labels/new:predict")[0] == 400
        for label in ("New", "no"):
            status, answer, _ = http_request(url, "GET", f"/v1/models/toy/labels/{label}")
            versions = [entry["version"] for entry in answer["model_version_status"]]
            assert (status, versions) == (200, ["2", "1"])


def headers_of(url, method, path, headers=None):
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    connection.request(method, path, headers=headers or {})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    allowed = {name: value for name, value in response.getheaders() if name.startswith("Access-Control")}
    return response.status, allowed, body


CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}


@pytest.mark.parametrize(("cors", "expected"), [(True, CORS), (False, {})])
def test_pages_of_other_sites_may_ask_where_that_is_wanted(labelled, cors, expected):
    with apis(labelled, cors=cors) as (url, _):
        status, headers, body = headers_of(url, "GET", "/v1/models/toy")
        assert (status, headers, bool(body)) == (200, expected, True)
        assert headers_of(url, "GET", "/v1/models/no")[:2] == (404, expected)
        for origin in ("http://a.example", "https://a.example"):
            preflight = headers_of(url, "OPTIONS", "/v1/models/toy:predict", {"Origin": origin})
            assert preflight == (200, expected, b"")
        for origin in ({}, {"Origin": "null"}, {"Origin": "ftp://a.example"}):
            assert headers_of(url, "OPTIONS", "/v1/models/toy:predict", origin) == (400, expected, b"")


def test_pages_of_other_sites_may_send_the_token_and_see_that_it_is_missing(repository_root, tmp_path):
    (tmp_path / "token").write_text("secret")
    options = {"rest_api_enable_cors_support": True, "bearer_token_file": tmp_path / "token"}
    expected = CORS | {"Access-Control-Allow-Headers": "Content-Type, Authorization"}
    with Server(config(repository_root, **options)) as server:
        origin = {"Origin": "https://a.example"}
        preflight = headers_of(server.rest_url, "OPTIONS", "/v1/models/toy:predict", origin)
        assert preflight == (200, expected, b"")
        assert headers_of(server.rest_url, "GET", "/v1/models/toy", origin)[:2] == (401, expected)


@pytest.mark.parametrize(("timeout", "given"), [(0.25, 0.25), (0, None)])
def test_the_time_limit_reaches_the_model_and_its_end_is_504(labelled, monkeypatch, timeout, given):
    seen = []

    def late(name, inputs, outputs, seconds):
        seen.append(seconds)
        raise ServingError("DEADLINE_EXCEEDED", "too late")

    monkeypatch.setattr(labelled.get("toy"), "quick_run", lambda *_: None)  # if earlier tests made it known as fast
    monkeypatch.setattr(labelled.get("toy"), "predict", late)
    with apis(labelled, timeout=timeout) as (url, _):
        assert post(url, ROW) == (504, {"error": "too late"})
    assert seen == [given if given is None else pytest.approx(given, abs=0.1)]  # less the time to read the request


def test_an_output_that_is_one_string(labelled):
    with apis(labelled, timeout=0) as (url, _):
        body = {"signature_name": "joined", "inputs": ["a", "b"]}
        assert post(url, body) == (200, {"outputs": {"all": "ab", "count": 2}})
