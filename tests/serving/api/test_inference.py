import grpc
import numpy as np
import pytest
import serving_toys
import tensorflow as tf
from serving_toys import http_request, load_saved_model, post
from tensorflow_serving.apis import (
    classification_pb2,
    inference_pb2,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

from seqattn_tf.serving.api.examples import input_from_json
from seqattn_tf.serving.api.inference import Inference
from seqattn_tf.serving.api.metrics import Metrics
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.models.model_config import ModelConfig
from seqattn_tf.serving.models.repository import ModelRepository
from seqattn_tf.serving.protos import SignatureDef
from seqattn_tf.serving.server import Server

EXAMPLES = {"context": {"name": "c"}, "examples": [{"x": [1.0, 2.0], "n": 3}, {"name": "d", "n": True}]}
CLASSIFIED = [[["c-a", 1.5], ["c-b", 2.5]], [["d-a", 0.5], ["d-b", 0.5]]]
REGRESSED = [7.0, 2.0]
CLASSIFY, REGRESS = "tensorflow/serving/classify", "tensorflow/serving/regress"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The REST URL and stub of a server with the model `ex`, whose version 3 has the label `best`."""
    folder = tmp_path_factory.mktemp("examples")
    serving_toys.export_examples(folder / "3")
    repository = ModelRepository(
        lambda: {"ex": ModelConfig("ex", folder, labels={"best": 3})}, load_saved_model, poll_seconds=0
    )
    repository.start()
    with serving_toys.apis(repository, Metrics()) as (url, address), grpc.insecure_channel(address) as channel:
        yield url, prediction_service_pb2_grpc.PredictionServiceStub(channel)


@pytest.fixture(scope="module")
def url(served):
    return served[0]


@pytest.fixture(scope="module")
def stub(served):
    return served[1]


def fill(spec, name="ex", signature="", version=None, label=""):
    spec.name, spec.signature_name = name, signature
    if version is not None:
        spec.version.value = version
    if label:
        spec.version_label = label


def request_of(kind, document=EXAMPLES, **spec):
    request = kind()
    fill(request.model_spec, **spec)
    if document:
        request.input.MergeFromString(input_from_json(document).SerializeToString())
    return request


def refusal(method, message):
    with pytest.raises(grpc.RpcError) as raised:
        method(message, timeout=20)
    return raised.value.code().name, raised.value.details()


def rest(url, method, document, place=""):
    return post(url, document, f"/v1/models/ex{place}:{method}")


@pytest.mark.parametrize("place", ["", "/versions/3", "/labels/best"])
def test_rest_classifies_and_regresses(url, place):
    assert rest(url, "classify", EXAMPLES, place) == (200, {"results": CLASSIFIED})
    assert rest(url, "regress", EXAMPLES | {"signature_name": "regress"}, place) == (200, {"results": REGRESSED})


def test_rest_writes_scores_as_tf_serving_does(url):
    body = b'{"examples": [{"x": [0.25000095367431640625, 9999998.0]}]}'
    _, _, text = http_request(url, "POST", "/v1/models/ex:classify", body)
    assert text == '{"results": [[["-a", 0.750000954], ["-b", 9999998.0]]]}'
    body = b'{"signature_name": "regress", "examples": [{"n": 2}, {"x": [NaN, 0.0]}]}'
    _, _, text = http_request(url, "POST", "/v1/models/ex:regress", body)
    assert text == '{"results": [3.0, NaN]}'


def test_grpc_classifies_and_regresses_and_says_what_answered(stub):
    response = stub.Classify(request_of(classification_pb2.ClassificationRequest, label="best"))
    rows = [[[c.label, c.score] for c in row.classes] for row in response.result.classifications]
    assert rows == CLASSIFIED
    spec = response.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("ex", 3, "serving_default")
    for signature in ("regress", "column"):
        response = stub.Regress(request_of(regression_pb2.RegressionRequest, signature=signature, version=3))
        assert [regression.value for regression in response.result.regressions] == REGRESSED
        spec = response.model_spec
        assert (spec.name, spec.version.value, spec.signature_name) == ("ex", 3, signature)


def test_classes_or_scores_may_be_missing(url):
    _, answer = rest(url, "classify", EXAMPLES | {"signature_name": "classes"})
    assert answer["results"][0] == [["c-a", 0.0], ["c-b", 0.0]]
    _, answer = rest(url, "classify", EXAMPLES | {"signature_name": "scores"})
    assert answer["results"][0] == [["", 1.5], ["", 2.5]]


def test_predict_runs_every_kind_of_signature_on_serialized_examples(stub, url):
    example = input_from_json({"examples": [{"n": 4}]}).example_list.examples[0].SerializeToString()
    for signature, alias, output in (("predict", "examples", "total"), ("regress", "inputs", "outputs")):
        request = predict_pb2.PredictRequest()
        fill(request.model_spec, signature=signature)
        request.inputs[alias].CopyFrom(tf.make_tensor_proto([example]))
        assert list(stub.Predict(request).outputs[output].float_val) == [5.0]


BOTH = [
    ("classify", {"signature_name": "no"}, "No signature was found with the name: no"),
    ("regress", {"signature_name": "no"}, "No signature was found with the name: no"),
    ("classify", {"signature_name": "regress"}, 'to contain at least one of "classes" or "scores". Signature was: '),
    ("classify", {"signature_name": "predict"}, "No classification inputs found in SignatureDef: inputs {"),
    ("regress", {}, "Expected one output Tensor."),
    ("classify", {"signature_name": "three"}, "Expected one or two output Tensors, found 3"),
    ("classify", {"signature_name": "classify_input"}, "No classification inputs found in SignatureDef: inputs {"),
    ("classify", {"signature_name": "neither"}, 'to contain at least one of "classes" or "scores". Signature was: '),
    ("classify", {"signature_name": "classes_rank"}, "shape: [batch_size num_classes] but got [2]"),
    ("classify", {"signature_name": "classes_type"}, "Expected classes Tensor of DT_STRING. Got: DT_FLOAT"),
    ("classify", {"signature_name": "classes_batch"}, "Expected classes output batch size of 2. Got: 1"),
    ("classify", {"signature_name": "scores_type"}, "Expected scores Tensor of DT_FLOAT. Got: DT_STRING"),
    ("classify", {"signature_name": "uneven"}, "class and score should match in dim_size(1). Got 2 vs. 1"),
    ("regress", {"signature_name": "regress_two"}, "Expected one output Tensor."),
    ("regress", {"signature_name": "regress_input"}, "No regression inputs found in SignatureDef: inputs {"),
    ("regress", {"signature_name": "regress_output"}, "No regression outputs found in SignatureDef: inputs {"),
    ("regress", {"signature_name": "regress_rank"}, "either [batch_size] or [batch_size, 1] but got [2,2]"),
    ("regress", {"signature_name": "regress_batch"}, "Input batch size did not match output batch size: 2 vs. 1"),
    ("regress", {"signature_name": "regress_type"}, "Expected output Tensor of DT_FLOAT.  Got: DT_INT64"),
]


@pytest.mark.parametrize(("method", "change", "message"), BOTH)
def test_signatures_that_do_not_fit_have_the_same_fault_in_both_apis(url, stub, method, change, message):
    status, answer = rest(url, method, EXAMPLES | change)
    assert (status, message in answer["error"]) == (400, True), answer
    call, kind = {
        "classify": (stub.Classify, classification_pb2.ClassificationRequest),
        "regress": (stub.Regress, regression_pb2.RegressionRequest),
    }[method]
    code, details = refusal(call, request_of(kind, signature=change.get("signature_name", "")))
    assert (code, details) == ("INVALID_ARGUMENT", answer["error"])


@pytest.mark.parametrize("method", ["classify", "regress"])
@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/v1/models/no", b"{", 400, "JSON Parse error: "),
        ("/v1/models/no", {"signature_name": 1}, 400, "'signature_name' key must be a string value."),
        ("/v1/models/no", {}, 400, "When method is classify, key 'examples' is expected and was not found"),
        ("/v1/models/no", {"examples": [{"f": [1, 2.0]}]}, 400, "Unexpected element type in feature: f"),
        ("/v1/models/no", EXAMPLES, 404, "Servable not found for request: Latest(no)"),
        ("/v1/models/ex/versions/99", EXAMPLES, 404, "Servable not found for request: Specific(ex, 99)"),
        ("/v1/models/ex/labels/no", EXAMPLES, 400, "Unrecognized servable version label: no"),
    ],
)
def test_rest_reads_the_body_before_it_looks_for_the_model(url, method, path, body, status, message):
    received, answer = post(url, body, f"{path}:{method}")
    assert (received, message in answer["error"]) == (status, True), answer


def test_an_example_that_does_not_parse_is_the_model_s_own_error(url):
    status, answer = rest(url, "classify", {"examples": [{"x": [1.0]}]})
    assert status == 400
    assert "Number of float values != expected" in answer["error"]
    assert "node" not in answer["error"]


@pytest.mark.parametrize("kind", ["Classify", "Regress"])
def test_grpc_faults_of_the_request(stub, kind):
    request = {"Classify": classification_pb2.ClassificationRequest, "Regress": regression_pb2.RegressionRequest}[kind]
    call, signature = getattr(stub, kind), {"Classify": "", "Regress": "regress"}[kind]
    assert refusal(call, request()) == ("INVALID_ARGUMENT", "Missing ModelSpec")
    assert refusal(call, request_of(request, name="")) == ("INVALID_ARGUMENT", "ModelSpec has no name specified.")
    assert refusal(call, request_of(request, name="no")) == (
        "NOT_FOUND",
        "Servable not found for request: Latest(no)",
    )
    assert refusal(call, request_of(request, label="no")) == (
        "INVALID_ARGUMENT",
        "Unrecognized servable version label: no",
    )
    empty = request_of(request, document=None, signature=signature)
    assert refusal(call, empty) == ("INVALID_ARGUMENT", "Input is empty.")


def multi(*tasks, document=EXAMPLES):
    request = inference_pb2.MultiInferenceRequest()
    for method, spec in tasks:
        fill(request.tasks.add(method_name=method).model_spec, **spec)
    if document:
        request.input.MergeFromString(input_from_json(document).SerializeToString())
    return request


def test_multi_inference_answers_every_task_in_order(stub):
    response = stub.MultiInference(multi((REGRESS, {"signature": "regress"}), (CLASSIFY, {"label": "best"})))
    regressed, classified = response.results
    assert [regression.value for regression in regressed.regression_result.regressions] == REGRESSED
    rows = classified.classification_result.classifications
    assert [[[c.label, c.score] for c in row.classes] for row in rows] == CLASSIFIED
    specs = [(s.name, s.version.value, s.signature_name) for s in (regressed.model_spec, classified.model_spec)]
    assert specs == [("ex", 3, "regress"), ("ex", 3, "serving_default")]


@pytest.mark.parametrize(
    ("message", "code", "details"),
    [
        (multi(), "INVALID_ARGUMENT", "ModelSpec has no name specified."),
        (multi((CLASSIFY, {"name": "no"})), "NOT_FOUND", "Servable not found for request: Latest(no)"),
        (
            multi((CLASSIFY, {}), (REGRESS, {"name": ""})),
            "INVALID_ARGUMENT",
            "Found ModelSpec with an empty model name.",
        ),
        (
            multi((CLASSIFY, {}), (REGRESS, {"name": "other"})),
            "INVALID_ARGUMENT",
            "All ModelSpecs in a MultiInferenceRequest must access the same model name.",
        ),
        (
            multi((CLASSIFY, {}), (CLASSIFY, {"signature": "serving_default"})),
            "INVALID_ARGUMENT",
            "Duplicate evaluation of signature: serving_default",
        ),
        (
            multi((CLASSIFY, {"signature": "no"})),
            "INVALID_ARGUMENT",
            "Requested signature not found in model graph: no",
        ),
        (
            multi((CLASSIFY, {}), ("tensorflow/serving/predict", {"signature": "predict"})),
            "UNIMPLEMENTED",
            "Unsupported signature method_name: tensorflow/serving/predict",
        ),
        (multi((REGRESS, {})), "INVALID_ARGUMENT", "Expected one output Tensor."),
        (multi((CLASSIFY, {}), document=None), "INVALID_ARGUMENT", "Input is empty."),
    ],
)
def test_multi_inference_faults(stub, message, code, details):
    assert refusal(stub.MultiInference, message) == (code, details)


@pytest.fixture(scope="module")
def of_today(tmp_path_factory):
    """A model as written by `tf.saved_model.save`: every signature has the method name `predict`."""

    def parsed(inputs):
        return tf.io.parse_example(inputs, {"x": tf.io.FixedLenFeature([2], tf.float32)})["x"]

    spec = tf.TensorSpec([None], tf.string, name="inputs")
    made = {
        "serving_default": tf.function(lambda inputs: {"scores": parsed(inputs)}).get_concrete_function(spec),
        "regress": tf.function(lambda inputs: {"outputs": parsed(inputs)[:, 0]}).get_concrete_function(spec),
    }
    folder = tmp_path_factory.mktemp("today")
    tf.saved_model.save(tf.Module(), str(folder / "ex" / "1"), signatures=made)
    return folder


def test_signatures_that_say_predict_classify_and_regress(of_today):
    document = {"examples": [{"x": [1.0, 2.0]}]}
    with Server(serving_toys.config(of_today)) as server, grpc.insecure_channel(server.grpc_address) as channel:
        assert rest(server.rest_url, "classify", document) == (200, {"results": [[["", 1.0], ["", 2.0]]]})
        assert rest(server.rest_url, "regress", document | {"signature_name": "regress"}) == (200, {"results": [1.0]})
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        tasks = multi((CLASSIFY, {}), (REGRESS, {"signature": "regress"}), document=document)
        classified, regressed = stub.MultiInference(tasks).results
        assert [one.score for one in classified.classification_result.classifications[0].classes] == [1.0, 2.0]
        assert regressed.regression_result.regressions[0].value == 1.0


def test_method_names_are_looked_at_where_that_is_wanted(of_today):
    config = serving_toys.config(of_today, enable_signature_method_name_check=True)
    document, said = {"examples": [{"x": [1.0, 2.0]}]}, "Was: tensorflow/serving/predict"
    with Server(config) as server, grpc.insecure_channel(server.grpc_address) as channel:
        for method, kind, name in (("classify", "classification", CLASSIFY), ("regress", "regression", REGRESS)):
            status, answer = rest(server.rest_url, method, document)
            assert status == 400
            assert answer["error"] == f"Expected {kind} signature method_name to be {name}. {said}"
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        code, details = refusal(stub.MultiInference, multi((CLASSIFY, {}), document=document))
        assert (code, said in details) == ("INVALID_ARGUMENT", True)
        instances = post(server.rest_url, {"inputs": {"inputs": []}}, "/v1/models/ex:predict")
        assert instances == (200, {"outputs": []})  # their method name is predict
        server.repository.get("ex").signature_defs["serving_default"].method_name = "else"
        status, answer = post(server.rest_url, {"inputs": {"inputs": []}}, "/v1/models/ex:predict")
        assert status == 500
        assert answer["error"].startswith("Expected prediction signature method_name to be one of {")
        assert answer["error"].endswith("Was: else")


def test_metadata_of_such_a_model_keeps_its_methods(url):
    _, answer, _ = http_request(url, "GET", "/v1/models/ex/labels/best/metadata")
    signatures = answer["metadata"]["signature_def"]["signature_def"]
    assert answer["model_spec"]["version"] == "3"
    assert signatures["regress"]["method_name"] == REGRESS
    np.testing.assert_equal(sorted(signatures["serving_default"]["outputs"]), ["classes", "scores"])


class Fake:
    """A version with given outputs that records its requests."""

    name, version, check_method_names = "m", 4, False

    def __init__(self, **outputs):
        self.outputs, self.asked = outputs, []
        signature = SignatureDef()
        signature.inputs["inputs"].name = "x"
        for name in outputs:
            signature.outputs[name].name = name
        self.signature_defs = {"serving_default": signature}

    def predict(self, signature_name, inputs, output_filter, timeout):
        self.asked.append((signature_name, sorted(inputs), list(output_filter), timeout))
        return self.outputs


def test_a_run_is_asked_within_its_time_for_what_its_api_needs():
    values = np.array([[1.5], [2.5]], np.float32)
    fake = Fake(outputs=values)
    inference = Inference(fake, timeout=3.0)
    assert inference.predict("s", {"x": values}, ["outputs"]) == {"outputs": values}
    result = inference.regress("", input_from_json(EXAMPLES))
    assert [one.value for one in result.regressions] == [1.5, 2.5]
    assert fake.asked == [("s", ["x"], ["outputs"], 3.0), ("", ["inputs"], ["outputs"], 3.0)]
    spec = inference.model_spec("")
    assert (spec.name, spec.version.value, spec.signature_name) == ("m", 4, "serving_default")


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros([2], np.float32), r"Expected Tensor shape: \[batch_size num_classes\] but got \[2\]"),
        (np.zeros([3, 1], np.float32), "Expected scores output batch size of 2. Got: 3"),
        (np.zeros([2, 1]), "Expected scores Tensor of DT_FLOAT. Got: DT_DOUBLE"),
    ],
)
def test_scores_of_another_form_are_refused(scores, message):
    with pytest.raises(ServingError, match=message) as raised:
        Inference(Fake(scores=scores)).classify("", input_from_json(EXAMPLES))
    assert raised.value.code == "INVALID_ARGUMENT"
