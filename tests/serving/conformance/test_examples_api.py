"""Classify, regress and multi-inference: the same rows with REST and gRPC, if both support the call.

The model `examples` adds 0.5 to `x` (two floats) for the scores of the classes `NAME-a` and `NAME-b`; its regression is
the sum of the scores and `n` (an int64). Missing features are zero or empty.
"""

import json
from base64 import b64decode

import pytest
from conformance.calls import error, fill, like, named, refusal, rest, spelled
from tensorflow.core.example import example_pb2
from tensorflow_serving.apis import classification_pb2, inference_pb2, input_pb2, regression_pb2

CLASSIFY, REGRESS, PREDICT = (f"tensorflow/serving/{method}" for method in ("classify", "regress", "predict"))
EXAMPLES = '"examples": [{"x": [1.0, 2.0], "n": 3, "name": "c"}, {"name": "d"}]'

ANSWERED = [  # name | path below /v1/models/ | body | results
    (
        "the docs' regress",
        "half_plus_two:regress",
        '{"signature_name": "tensorflow/serving/regress", "examples": [{"x": 1.0}, {"x": 2.0}]}',
        "[2.5, 3.0]",
    ),
    (
        "scores without labels",
        "half_plus_two:classify",
        '{"signature_name": "classify_x_to_y", "examples": [{"x": 1.0}, {"x": [2.0]}]}',
        '[[["", 2.5]], [["", 3.0]]]',
    ),
    (
        "labels and scores",
        "examples:classify",
        f"{{{EXAMPLES}}}",
        '[[["c-a", 1.5], ["c-b", 2.5]], [["d-a", 0.5], ["d-b", 0.5]]]',
    ),
    (
        "labels without scores",
        "examples:classify",
        f'{{"signature_name": "classes", {EXAMPLES}}}',
        '[[["c-a", 0.0], ["c-b", 0.0]], [["d-a", 0.0], ["d-b", 0.0]]]',
    ),
    (
        "a context that all examples share",
        "examples:classify",
        '{"context": {"name": "c"}, "examples": [{"x": [1.0, 2.0]}, {"n": 2}]}',
        '[[["c-a", 1.5], ["c-b", 2.5]], [["c-a", 0.5], ["c-b", 0.5]]]',
    ),
    (
        "an example that differs from the context",
        "examples:classify",
        '{"context": {"name": "c", "x": [1.0, 2.0]}, "examples": [{}, {"name": "d", "x": [3.0, 4.0]}]}',
        '[[["c-a", 1.5], ["c-b", 2.5]], [["d-a", 3.5], ["d-b", 4.5]]]',
    ),
    (
        "scores of zero",
        "examples:classify",
        '{"signature_name": "scores", "examples": [{"x": [-0.5, 0.5]}]}',
        '[[["", 0.0], ["", 1.0]]]',
    ),
    (
        "binary values",
        "examples:classify",
        '{"examples": [{"name": {"b64": "aW1hZ2U="}}]}',
        '[[["image-a", 0.5], ["image-b", 0.5]]]',
    ),
    ("by version", "examples/versions/1:classify", '{"examples": [{}]}', '[[["-a", 0.5], ["-b", 0.5]]]'),
    ("values of [batch]", "examples:regress", f'{{"signature_name": "regress", {EXAMPLES}}}', "[7.0, 1.0]"),
    ("values of [batch, 1]", "examples:regress", f'{{"signature_name": "column", {EXAMPLES}}}', "[7.0, 1.0]"),
    (
        "a context of numbers",
        "examples:regress",
        '{"signature_name": "regress", "context": {"n": 2}, "examples": [{"x": [1.0, 2.0]}, {}]}',
        "[6.0, 3.0]",
    ),
    (
        "numbers that are none",
        "examples:regress",
        '{"signature_name": "regress", "examples": [{"x": [NaN, 0.0]}, {"x": [Infinity, 0.0]}]}',
        "[NaN, Infinity]",
    ),
    ("true is 1", "examples:regress", '{"signature_name": "regress", "examples": [{"n": true}]}', "[2.0]"),
]


@pytest.mark.parametrize(("path", "body", "results"), named(ANSWERED))
def test_rest(target, path, body, results):
    assert rest(target, "POST", path, body) == (200, spelled(f'{{"results": {results}}}'))


@pytest.mark.parametrize(("path", "body", "results"), named(ANSWERED))
def test_grpc(stubs, path, body, results):
    place, _, method = path.partition(":")
    model, _, version = place.partition("/versions/")
    request, call = grpc_request(stubs, method, body, model, int(version) if version else None)
    response = call(request, timeout=30)
    told = json.loads(results)
    received = regressed(response.result) if method == "regress" else classified(response.result)
    assert repr(received) == repr(told)  # NaN is not equal to itself
    spec = response.model_spec
    assert (spec.name, spec.version.value) == (model, 123 if model == "half_plus_two" else 1)
    assert spec.signature_name == json.loads(body).get("signature_name", "serving_default")


def grpc_request(stubs, method, body, model, version=None):
    """Convert the JSON to a request, by the rules of api_rest.md, and return it with its call."""
    document = json.loads(body)
    kind, call = {
        "classify": (classification_pb2.ClassificationRequest, stubs.predictions.Classify),
        "regress": (regression_pb2.RegressionRequest, stubs.predictions.Regress),
    }[method]
    request = kind(input=examples(document))
    fill(request.model_spec, model, document.get("signature_name", ""), version)
    return request, call


def examples(document):
    if "context" in document:
        holder = input_pb2.ExampleListWithContext(context=example(document["context"]))
        holder.examples.extend(map(example, document["examples"]))
        return input_pb2.Input(example_list_with_context=holder)
    return input_pb2.Input(example_list=input_pb2.ExampleList(examples=map(example, document["examples"])))


def example(features):
    message = example_pb2.Example()
    for name, value in features.items():
        feature = message.features.feature[name]
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, float):
                feature.float_list.value.append(item)
            elif isinstance(item, int):
                feature.int64_list.value.append(int(item))
            else:
                feature.bytes_list.value.append(item.encode() if isinstance(item, str) else b64decode(item["b64"]))
    return message


def classified(result):
    return [[[entry.label, entry.score] for entry in row.classes] for row in result.classifications]


def regressed(result):
    return [entry.value for entry in result.regressions]


SIGNATURES = [  # method | signature of `examples` | message, the same in both APIs
    ("classify", "no", "No signature was found with the name: no"),
    ("regress", "no", "No signature was found with the name: no"),
    ("classify", "three", "Expected one or two output Tensors, found 3"),
    ("classify", "classify_input", "No classification inputs found in SignatureDef: ..."),
    ("classify", "neither", '...at least one of "classes" or "scores". Signature was: ...'),
    ("classify", "classes_rank", "Expected Tensor shape: [batch_size num_classes] but got ..."),
    ("classify", "classes_type", "Expected classes Tensor of DT_STRING. Got: DT_FLOAT"),
    ("classify", "classes_batch", "Expected classes output batch size of 2. Got: 1"),
    ("classify", "scores_rank", "Expected Tensor shape: [batch_size num_classes] but got ..."),
    ("classify", "scores_batch", "Expected scores output batch size of 2. Got: 1"),
    ("classify", "scores_type", "Expected scores Tensor of DT_FLOAT. Got: DT_STRING"),
    ("classify", "uneven", "Tensors class and score should match in dim_size(1). Got 2 vs. 1"),
    ("regress", "regress_two", "Expected one output Tensor."),
    ("regress", "regress_input", "No regression inputs found in SignatureDef: ..."),
    ("regress", "regress_output", "No regression outputs found in SignatureDef: ..."),
    (
        "regress",
        "regress_rank",
        "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got ...",
    ),
    ("regress", "regress_batch", "Input batch size did not match output batch size: 2 vs. 1"),
    ("regress", "regress_type", "Expected output Tensor of DT_FLOAT.  Got: DT_INT64"),
]


@pytest.mark.parametrize(("method", "signature", "message"), SIGNATURES)
def test_signatures_that_do_not_fit(target, stubs, method, signature, message):
    body = f'{{"signature_name": "{signature}", {EXAMPLES}}}'
    status, received = error(target, "POST", f"examples:{method}", body)
    assert (status, like(message, received)) == (400, True), received
    request, call = grpc_request(stubs, method, body, "examples")
    code, received = refusal(call, request)
    assert (code, like(message, received)) == ("INVALID_ARGUMENT", True), received


BODIES = [  # name | body | message, in REST, for both classify and regress
    ("no JSON", "{", "JSON Parse error: ... at offset: ..."),
    ("a signature that is no string", '{"signature_name": 1}', "...'signature_name' key must be a string value."),
    ("no examples", "{}", "JSON Value: {} When method is classify, key 'examples' is expected and was not found"),
    ("examples that are no list", '{"examples": {}}', "JSON Value: ... Expecting 'examples' value to be an list/array"),
    ("an empty list", '{"examples": []}', "JSON Value: ... 'examples' value is an empty array"),
    ("an example that is no object", '{"examples": [1]}', "Example must be JSON object but got JSON Number"),
    ("a context that is none", '{"context": [], "examples": [{}]}', "Example must be JSON object but got JSON Array"),
    ("null", '{"examples": [{"x": null}]}', "Feature: x has element with unexpected JSON type: Null"),
    ("a list of lists", '{"examples": [{"x": [[1]]}]}', "Feature: x has element with unexpected JSON type: Array"),
    ("an object", '{"examples": [{"x": {"a": 1}}]}', "Feature: x has element with unexpected JSON type: Object"),
    (
        "integers and decimals",
        '{"examples": [{"x": [1, 2.0]}]}',
        "Unexpected element type in feature: x expecting type: int64",
    ),
    (
        "text and numbers",
        '{"examples": [{"x": ["a", 1]}]}',
        "Unexpected element type in feature: x expecting type: bytes",
    ),
    ("too large", f'{{"examples": [{{"x": {2**63}}}]}}', "Feature: x has uint64_t element. Only int64_t is supported."),
    ("no base64", '{"examples": [{"x": {"b64": "!"}}]}', "Unable to base64 decode"),
]


@pytest.mark.parametrize("method", ["classify", "regress"])
@pytest.mark.parametrize(("body", "message"), named(BODIES))
def test_bodies_are_read_before_the_model_is_looked_up(target, method, body, message):
    status, received = error(target, "POST", f"no:{method}", body)
    assert (status, like(message, received)) == (400, True), received


PLACES = [  # path below /v1/models/ | status | message
    ("no", 404, "Servable not found for request: Latest(no)"),
    ("examples/versions/9", 404, "Servable not found for request: Specific(examples, 9)"),
    ("examples/labels/no", 400, "Unrecognized servable version label: no"),
]


@pytest.mark.parametrize("method", ["classify", "regress"])
@pytest.mark.parametrize(("place", "status", "message"), PLACES)
def test_models_that_are_not_there(target, method, place, status, message):
    assert error(target, "POST", f"{place}:{method}", f"{{{EXAMPLES}}}") == (status, message)


def test_a_feature_of_another_size_is_the_models_own_error(target):
    status, message = error(target, "POST", "examples:classify", '{"examples": [{"x": [1.0]}]}')
    assert (status, "x" in message) == (400, True)


@pytest.mark.parametrize("method", ["classify", "regress"])
def test_a_request_without_input(stubs, method):
    signature = {"classify": "serving_default", "regress": "regress"}[method]
    request, call = grpc_request(stubs, method, f'{{"signature_name": "{signature}", {EXAMPLES}}}', "examples")
    request.ClearField("input")
    assert refusal(call, request) == ("INVALID_ARGUMENT", "Input is empty.")
    assert refusal(call, type(request)()) == ("INVALID_ARGUMENT", "Missing ModelSpec")


def multi(*tasks, body=f"{{{EXAMPLES}}}"):
    """Return a MultiInferenceRequest; tasks are (method, signature, model)."""
    request = inference_pb2.MultiInferenceRequest()
    for method, signature, *model in tasks:
        fill(request.tasks.add(method_name=method).model_spec, *(model or ["examples"]), signature)
    if body:
        request.input.CopyFrom(examples(json.loads(body)))
    return request


def test_multi_inference_answers_every_task_in_order(stubs):
    response = stubs.predictions.MultiInference(multi((REGRESS, "regress"), (CLASSIFY, "")), timeout=30)
    first, second = response.results
    assert regressed(first.regression_result) == [7.0, 1.0]
    assert classified(second.classification_result) == [[["c-a", 1.5], ["c-b", 2.5]], [["d-a", 0.5], ["d-b", 0.5]]]
    specs = [(spec.name, spec.version.value, spec.signature_name) for spec in (first.model_spec, second.model_spec)]
    assert specs == [("examples", 1, "regress"), ("examples", 1, "serving_default")]


MULTI_REFUSED = [  # name | request | code | message
    ("no task", multi(), "INVALID_ARGUMENT", "ModelSpec has no name specified."),
    ("an unknown model", multi((CLASSIFY, "", "no")), "NOT_FOUND", "Servable not found for request: Latest(no)"),
    (
        "two models",
        multi((CLASSIFY, ""), (REGRESS, "", "toy")),
        "INVALID_ARGUMENT",
        "All ModelSpecs in a MultiInferenceRequest must access the same model name.",
    ),
    (
        "a signature twice",
        multi((CLASSIFY, ""), (CLASSIFY, "serving_default")),
        "INVALID_ARGUMENT",
        "Duplicate evaluation of signature: serving_default",
    ),
    (
        "an unknown signature",
        multi((CLASSIFY, "no")),
        "INVALID_ARGUMENT",
        "Requested signature not found in model graph: no",
    ),
    ("predict", multi((PREDICT, "predict")), "UNIMPLEMENTED", f"Unsupported signature method_name: {PREDICT}"),
    ("another method", multi((REGRESS, "")), "INVALID_ARGUMENT", "Expected one output Tensor."),
    ("no input", multi((CLASSIFY, ""), body=""), "INVALID_ARGUMENT", "Input is empty."),
]


@pytest.mark.parametrize(("request_", "code", "message"), named(MULTI_REFUSED))
def test_multi_inference_refuses(stubs, request_, code, message):
    assert refusal(stubs.predictions.MultiInference, request_) == (code, message)
