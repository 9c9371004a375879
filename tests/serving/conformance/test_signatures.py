"""Signatures written by TensorFlow 2, signatures without inputs, and inputs with a default, in gRPC and REST.

`tf.saved_model.save` uses the method name `predict` for every signature. Without --enable_signature_method_name_check,
only the names of inputs and outputs matter for classify and regress. See classifier.cc, regressor.cc and
predict_util.cc.
"""

import json

import pytest
from conformance.calls import error, fill, like, named, predict, refusal, rest, spelled, values
from tensorflow_serving.apis import classification_pb2, inference_pb2, input_pb2, regression_pb2

CLASSIFY, REGRESS, PREDICT = (f"tensorflow/serving/{method}" for method in ("classify", "regress", "predict"))
ANSWERED = [  # method | model | signature | results for x = 1 and x = 2
    ("classify", "native", "classify_x_to_y", '[[["", 2.5]], [["", 3.0]]]'),
    ("regress", "native", "regress_x_to_y", "[2.5, 3.0]"),
    ("regress", "native", "regress_x_to_y2", "[3.5, 4.0]"),
    ("classify", "half_plus_two", "classify_x_to_y", '[[["", 2.5]], [["", 3.0]]]'),
]
BODY = '{{"signature_name": "{}", "examples": [{{"x": 1.0}}, {{"x": 2.0}}]}}'


def examples():
    request = input_pb2.Input()
    for value in (1.0, 2.0):
        request.example_list.examples.add().features.feature["x"].float_list.value.append(value)
    return request


def asked(stubs, method, model, signature):
    """Return the call and its request."""
    kind, call = {
        "classify": (classification_pb2.ClassificationRequest, stubs.predictions.Classify),
        "regress": (regression_pb2.RegressionRequest, stubs.predictions.Regress),
    }[method]
    request = kind(input=examples())
    fill(request.model_spec, model, signature)
    return call, request


def told(result):
    """Return classes and scores, or values, as in REST."""
    if hasattr(result, "regressions"):
        return [entry.value for entry in result.regressions]
    return [[[entry.label, entry.score] for entry in row.classes] for row in result.classifications]


@pytest.mark.parametrize(("method", "model", "signature", "results"), ANSWERED)
def test_what_tensorflow_2_wrote_is_answered(target, stubs, method, model, signature, results):
    answer = rest(target, "POST", f"{model}:{method}", BODY.format(signature))
    assert answer == (200, spelled(f'{{"results": {results}}}'))
    call, request = asked(stubs, method, model, signature)
    response = call(request, timeout=30)
    assert told(response.result) == json.loads(results)
    assert response.model_spec.signature_name == signature


REFUSED = [  # method | model | signature | message
    ("classify", "native", "regress_x_to_y", '...at least one of "classes" or "scores". Signature was: ...'),
    ("regress", "native", "classify_x_to_y", "No regression outputs found in SignatureDef: ..."),
    ("regress", "native", "plus", "Expected one input Tensor."),
    ("classify", "native", "plus", "Expected one input Tensor."),
    ("classify", "examples", "regress", '...at least one of "classes" or "scores". Signature was: ...'),
    ("classify", "examples", "predict", "No classification inputs found in SignatureDef: ..."),
    ("regress", "examples", "serving_default", "Expected one output Tensor."),
    ("classify", "counter", "get_counter", "Expected one input Tensor."),
]


@pytest.mark.parametrize(("method", "model", "signature", "message"), REFUSED)
def test_what_has_other_names_is_refused(target, stubs, method, model, signature, message):
    status, received = error(target, "POST", f"{model}:{method}", BODY.format(signature))
    assert (status, like(message, received)) == (400, True), received
    code, received = refusal(*asked(stubs, method, model, signature))
    assert (code, like(message, received)) == ("INVALID_ARGUMENT", True), received


LABELLED = [  # path below /v1/models/half_plus_two/ | signature | results for x = 1 and x = 2
    ("labels/stable:regress", "tensorflow/serving/regress", "[2.5, 3.0]"),
    ("versions/123:regress", "tensorflow/serving/regress", "[2.5, 3.0]"),
    ("labels/stable:classify", "classify_x_to_y", '[[["", 2.5]], [["", 3.0]]]'),
]


@pytest.mark.parametrize(("place", "signature", "results"), LABELLED)
def test_by_label_and_by_version(target, place, signature, results):
    answer = rest(target, "POST", f"half_plus_two/{place}", BODY.format(signature))
    assert answer == (200, spelled(f'{{"results": {results}}}'))


@pytest.mark.parametrize(
    ("signature", "output"), [("tensorflow/serving/regress", "outputs"), ("classify_x_to_y", "scores")]
)
def test_predict_asks_any_signature(stubs, signature, output):
    serialized = [example.SerializeToString() for example in examples().example_list.examples]
    request = predict("half_plus_two", {"inputs": serialized}, signature=signature)
    response = stubs.predictions.Predict(request, timeout=30)
    assert values(response.outputs[output]) == [[2.5], [3.0]]
    assert response.model_spec.signature_name == signature


def multi(*tasks):
    request = inference_pb2.MultiInferenceRequest(input=examples())
    for method, signature in tasks:
        fill(request.tasks.add(method_name=method).model_spec, "native", signature)
    return request


def test_multi_inference_of_what_tensorflow_2_wrote(stubs):
    tasks = [(REGRESS, "regress_x_to_y"), (CLASSIFY, "classify_x_to_y")]
    response = stubs.predictions.MultiInference(multi(*tasks), timeout=30)
    first, second = response.results
    assert told(first.regression_result) == [2.5, 3.0]
    assert told(second.classification_result) == [[["", 2.5]], [["", 3.0]]]
    assert [entry.model_spec.signature_name for entry in response.results] == [signature for _, signature in tasks]


def test_multi_inference_of_two_values(stubs):
    request = multi((REGRESS, "regress_x_to_y"), (REGRESS, "regress_x_to_y2"))
    results = stubs.predictions.MultiInference(request, timeout=30).results
    assert [told(result.regression_result) for result in results] == [[2.5, 3.0], [3.5, 4.0]]


def test_multi_inference_by_a_name_that_does_not_fit(stubs):
    code, message = refusal(stubs.predictions.MultiInference, multi((REGRESS, "classify_x_to_y")))
    assert (code, like("No regression outputs found in SignatureDef: ...", message)) == ("INVALID_ARGUMENT", True)


COUNTED = [  # in this order: signature of `counter` | inputs | output_filter | output
    ("reset_counter", {}, [], 0.0),
    ("get_counter", {}, [], 0.0),
    ("incr_counter", {}, [], 1.0),
    ("reset_counter", {}, [], 0.0),
    ("incr_counter", {}, ["output"], 1.0),
    ("incr_counter_by", {"delta": 3.0}, [], 4.0),
]


def test_signatures_without_inputs_and_outputs_without_shape(stubs):
    for signature, inputs, wanted, expected in COUNTED:
        request = predict("counter", inputs, signature=signature, outputs=wanted)
        output = stubs.predictions.Predict(request, timeout=30).outputs["output"]
        assert (signature, values(output), output.HasField("tensor_shape")) == (signature, expected, True)


def test_a_signature_without_inputs_is_not_for_rest(target):
    body = '{"signature_name": "get_counter", "inputs": {}}'
    message = "Failed to get input map for signature: get_counter"
    assert error(target, "POST", "counter:predict", body) == (400, message)


DEFAULTS = [  # name | inputs | outputs, of native's signature `plus`: x / 2 + added, where added is 2 by default
    ("the default", {"x": [1.0]}, {"y": [2.5]}),
    ("another value", {"x": [1.0], "added": 3.0}, {"y": [3.5]}),
]


@pytest.mark.parametrize(("inputs", "outputs"), named(DEFAULTS))
def test_an_input_may_have_a_default(stubs, inputs, outputs):
    response = stubs.predictions.Predict(predict("native", inputs, signature="plus"), timeout=30)
    assert {alias: values(proto) for alias, proto in response.outputs.items()} == outputs


MISSED = [  # name | inputs | message
    (
        "no default",
        {"added": 1.0},
        "Signature input alias: x(feed name: ...) not found in request and no default value provided. "
        "Inputs expected to be in the request {added}, or default input alias set: added",
    ),
    (
        "an unknown one",
        {"x": [1.0], "z": 1.0},
        "Inputs contains invalid name. Used request inputs: x, request input: x,z",
    ),
    (
        "one too many",
        {"x": [1.0], "added": 1.0, "z": 1.0},
        "input size does not match signature: 3!=2 len({added,x,z}) != len({added,x}). "
        "Sent extra: {z}. Missing but required: {}.",
    ),
]


@pytest.mark.parametrize(("inputs", "message"), named(MISSED))
def test_inputs_that_do_not_fit_a_signature_with_a_default(stubs, inputs, message):
    code, received = refusal(stubs.predictions.Predict, predict("native", inputs, signature="plus"))
    assert (code, like(message, received)) == ("INVALID_ARGUMENT", True), received


def test_rest_asks_for_every_input(target):
    body = '{"signature_name": "plus", "inputs": {"x": [1.0]}}'
    assert error(target, "POST", "native:predict", body) == (400, "Missing named input: added in 'inputs' object.")


CHECKED = [  # with --enable_signature_method_name_check: method | model | signature | message
    (
        "classify",
        "native",
        "classify_x_to_y",
        f"Expected classification signature method_name to be {CLASSIFY}. Was: {PREDICT}",
    ),
    (
        "regress",
        "native",
        "regress_x_to_y",
        f"Expected regression signature method_name to be {REGRESS}. Was: {PREDICT}",
    ),
    (
        "classify",
        "examples",
        "regress",
        f"Expected classification signature method_name to be {CLASSIFY}. Was: {REGRESS}",
    ),
    (
        "regress",
        "examples",
        "serving_default",
        f"Expected regression signature method_name to be {REGRESS}. Was: {CLASSIFY}",
    ),
]


@pytest.mark.parametrize(("method", "model", "signature", "message"), CHECKED)
def test_method_names_are_checked_where_that_is_wanted(flagged, flagged_stubs, method, model, signature, message):
    assert error(flagged, "POST", f"{model}:{method}", BODY.format(signature)) == (400, message)
    assert refusal(*asked(flagged_stubs, method, model, signature)) == ("INVALID_ARGUMENT", message)


def test_a_lite_model_is_preferred_where_that_is_wanted(target, flagged):
    """--prefer_tflite_model: the LiteRT file adds 2, the SavedModel beside it 3."""
    asked = ("POST", "lite:predict", '{"inputs": {"x": [1.0]}}')
    assert rest(target, *asked) == (200, spelled('{"outputs": [3.5]}'))
    assert rest(flagged, *asked) == (200, spelled('{"outputs": [2.5]}'))


def test_the_right_name_is_answered_where_names_are_checked(flagged):
    body = '{"signature_name": "regress", "examples": [{"n": 2}]}'
    assert rest(flagged, "POST", "examples:regress", body) == (200, spelled('{"results": [3.0]}'))
