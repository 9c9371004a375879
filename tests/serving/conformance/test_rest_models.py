"""Requests about models in REST: status, metadata, versions, labels, and the counters for Prometheus."""

import pytest
from conformance.calls import error, http_answer, rest, spelled

FINE = {"error_code": "OK", "error_message": ""}


def available(*versions):
    return {"model_version_status": [{"version": v, "state": "AVAILABLE", "status": FINE} for v in versions]}


STATUS = [  # path below /v1/models/ | the versions in the response
    ("half_plus_two", ["123"]),  # "Get status of the model"
    ("half_plus_two/versions/123", ["123"]),
    ("toy", ["2", "1"]),  # "If omitted status for all versions is returned"
    ("toy/versions/1", ["1"]),
    ("toy/versions/2", ["2"]),
    ("toy/versions/002", ["2"]),
    ("toy/labels/stable", ["2", "1"]),  # labels are ignored by this request
    ("toy/labels/no", ["2", "1"]),
    ("/V1/MODELS/examples", ["1"]),
    ("examples/METADATA", ["1"]),  # `metadata` is case-sensitive
]


@pytest.mark.parametrize(("path", "versions"), STATUS)
def test_status(target, path, versions):
    assert rest(target, "GET", path) == (200, available(*versions))


REFUSED = [  # path below /v1/models/ | status | message
    ("no", 404, "Could not find any versions of model no"),
    ("no/versions/1", 404, "Could not find version 1 of model no"),
    ("toy/versions/99", 404, "Could not find version 99 of model toy"),
    ("no/metadata", 404, "Servable not found for request: Latest(no)"),
    ("toy/versions/99/metadata", 404, "Servable not found for request: Specific(toy, 99)"),
    ("toy/labels/no/metadata", 400, "Unrecognized servable version label: no"),
    (f"toy/versions/{2**63}", 400, ""),
    (f"toy/versions/{2**63}/metadata", 400, ""),
    ("toy/versions/one", 400, "Malformed request: GET /v1/models/toy/versions/one"),
    ("toy/metadata/more", 400, "Malformed request: GET /v1/models/toy/metadata/more"),
]


@pytest.mark.parametrize(("path", "status", "message"), REFUSED)
def test_refusals(target, path, status, message):
    assert error(target, "GET", path) == (status, message)


SPEC = [  # path below /v1/models/ | the version in the response
    ("half_plus_two/metadata", "123"),
    ("toy/metadata", "2"),
    ("toy/versions/1/metadata", "1"),
    ("toy/labels/stable/metadata", "1"),
    ("toy/labels/canary/metadata", "2"),
]


@pytest.mark.parametrize(("path", "version"), SPEC)
def test_metadata_says_whose_it_is(target, path, version):
    status, document = rest(target, "GET", path)
    name = path.partition("/")[0]
    assert (status, sorted(document)) == (200, ["metadata", "model_spec"])
    assert document["model_spec"] == {"name": name, "signature_name": "", "version": version}
    assert list(document["metadata"]) == ["signature_def"]
    assert list(document["metadata"]["signature_def"]) == ["signature_def"]


SIGNATURES = [  # model | signature | method | inputs and outputs: dtype and sizes
    ("half_plus_two", "serving_default", "predict", {"x": ("DT_FLOAT", ["-1"])}, {"y": ("DT_FLOAT", ["-1"])}),
    (
        "half_plus_two",
        "tensorflow/serving/regress",
        "regress",
        {"inputs": ("DT_STRING", ["-1"])},
        {"outputs": ("DT_FLOAT", ["-1", "1"])},
    ),
    (
        "half_plus_two",
        "classify_x_to_y",
        "classify",
        {"inputs": ("DT_STRING", ["-1"])},
        {"scores": ("DT_FLOAT", ["-1", "1"])},
    ),
    (
        "readings",
        "serving_default",
        "predict",
        {"tag": ("DT_STRING", ["-1"]), "signal": ("DT_INT32", ["-1", "5"]), "sensor": ("DT_FLOAT", ["-1", "2", "2"])},
        {"name": ("DT_STRING", ["-1"]), "total": ("DT_FLOAT", ["-1"])},
    ),
]


@pytest.mark.parametrize(("model", "signature", "method", "inputs", "outputs"), SIGNATURES)
def test_metadata_of_signatures(target, model, signature, method, inputs, outputs):
    _, document = rest(target, "GET", f"{model}/metadata")
    told = document["metadata"]["signature_def"]["signature_def"][signature]
    assert told["method_name"] == f"tensorflow/serving/{method}"
    for side, expected in (("inputs", inputs), ("outputs", outputs)):
        assert {alias: (info["dtype"], _sizes(info)) for alias, info in told[side].items()} == expected


def _sizes(info):
    shape = info["tensor_shape"]
    assert shape["unknown_rank"] is False
    assert {dim["name"] for dim in shape["dim"]} == {""}  # defaults are included
    return [dim["size"] for dim in shape["dim"]]


def test_a_shape_that_nobody_knows(target):
    _, document = rest(target, "GET", "types/metadata")
    told = document["metadata"]["signature_def"]["signature_def"]["bool"]["inputs"]["x"]
    assert (told["dtype"], told["tensor_shape"]) == ("DT_BOOL", {"dim": [], "unknown_rank": True})


COUNTED = [  # request | counters in Prometheus
    ("half_plus_two:predict", ':tensorflow:serving:request_count{model_name="half_plus_two",status="OK"}'),
    ("half_plus_two:predict", ':tensorflow:serving:request_latency_count{model_name="half_plus_two",API="predict",'),
    ("half_plus_two:predict", ':tensorflow:serving:runtime_latency_count{model_name="half_plus_two",API="Predict",'),
]


@pytest.mark.parametrize(("path", "line"), COUNTED)
def test_requests_are_counted(target, path, line):
    assert rest(target, "POST", path, '{"instances": [1.0]}') == (200, spelled('{"predictions": [2.5]}'))
    before = _counted(target, line)
    rest(target, "POST", path, '{"instances": [1.0]}')
    assert _counted(target, line) == before + 1


def _counted(target, line):
    status, headers, raw = http_answer(target, "GET", "/monitoring/prometheus/metrics")
    assert (status, headers["Content-Type"].partition(";")[0]) == (200, "text/plain")
    (found,) = [text for text in raw.decode().splitlines() if text.startswith(line)]
    return float(found.rpartition(" ")[2])
