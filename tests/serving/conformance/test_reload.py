"""HandleReloadConfigRequest: configs of the model `moving`, and the versions or errors of subsequent requests.

`moving` has the versions 1, 2 and 3 and returns its version for x = 0. See serving_config.md. TF Serving waits for new
models but not for new versions of an existing model, so the cases repeat requests until the response is as expected.
"""

import time

import pytest
from conformance.calls import like, named, predict, refusal, values
from conformance.models import config
from google.protobuf import text_format
from grpc import RpcError
from tensorflow_serving.apis import get_model_status_pb2, model_management_pb2

SECONDS = 20.0
MOVING = 'name: "moving" base_path: "FOLDER/moving" model_platform: "tensorflow" '
LATEST_2 = "model_version_policy { latest { num_versions: 2 } } "
ALL = "model_version_policy { all {} } "
ONLY_1 = "model_version_policy { specific { versions: 1 } } "
ONLY_1_AND_3 = "model_version_policy { specific { versions: 1 versions: 3 } } "
NOT_FOUND, INVALID = "NOT_FOUND", "INVALID_ARGUMENT"


def label(name, version):
    return f'version_labels {{ key: "{name}" value: {version} }} '


class Changing:
    """A server whose config changes: the config of the suite, optionally with more entries."""

    def __init__(self, target, stubs):
        self._folder = target.models
        self._stubs = stubs

    def request(self, *entries, replace=("", ""), metrics=()):
        message = model_management_pb2.ReloadConfigRequest(metric_names=metrics)
        text_format.Parse(config(self._folder).replace(*replace), message.config)
        for entry in entries:
            added = message.config.model_config_list.config.add()
            text_format.Parse(entry.replace("FOLDER", str(self._folder)), added)
        return message

    def reload(self, *entries, **more):
        return self._stubs.models.HandleReloadConfigRequest(self.request(*entries, **more), timeout=SECONDS)

    def refuses(self, request):
        return refusal(self._stubs.models.HandleReloadConfigRequest, request)

    def answer(self, asked):
        """Query the newest version (None), a number or a label; return the version that responds or the error code."""
        spec = {"label": asked} if isinstance(asked, str) else {"version": asked}
        try:
            response = self._stubs.predictions.Predict(predict("moving", {"x": [0.0]}, **spec), timeout=SECONDS)
        except RpcError as failure:
            return failure.code().name
        assert response.model_spec.version.value == values(response.outputs["y"])[0]
        return response.model_spec.version.value

    def states(self):
        request = get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = "moving"
        told = self._stubs.models.GetModelStatus(request, timeout=SECONDS).model_version_status
        return {entry.version: type(entry).State.Name(entry.state) for entry in told}

    def comes_to_answer(self, answers):
        _until(lambda: {asked: self.answer(asked) for asked in answers}, answers)


def _until(look, expected):
    end = time.monotonic() + SECONDS
    while (seen := look()) != expected and time.monotonic() < end:
        time.sleep(0.02)
    assert seen == expected


@pytest.fixture
def changing(target, stubs):
    """A server that is reset to the config of the suite after each case."""
    if target.models is None:
        pytest.skip("needs TF_SERVING_MODELS, the folder of the models as the server sees it")
    changing = Changing(target, stubs)
    yield changing
    changing.reload()
    changing.comes_to_answer({None: NOT_FOUND})


SERVED = [  # name | the config of `moving` | query: version
    ("no policy: the newest", "", {None: 3, 3: 3, 2: NOT_FOUND, 1: NOT_FOUND, "stable": INVALID}),
    ("latest, two of them", LATEST_2, {None: 3, 3: 3, 2: 2, 1: NOT_FOUND}),
    ("all", ALL, {None: 3, 3: 3, 2: 2, 1: 1}),
    ("a specific one", ONLY_1, {None: 1, 1: 1, 2: NOT_FOUND, 3: NOT_FOUND}),
    ("specific ones", ONLY_1_AND_3, {None: 3, 1: 1, 2: NOT_FOUND, 3: 3}),
    ("labels", ALL + label("stable", 1) + label("canary", 2), {None: 3, "stable": 1, "canary": 2, "no": INVALID}),
    ("two labels of one version", ALL + label("a", 2) + label("b", 2), {"a": 2, "b": 2}),
    ("a label of another model", ALL + label("next", 2), {"next": 2, "stable": INVALID}),
]


@pytest.mark.parametrize(("told", "answers"), named(SERVED))
def test_a_new_model(changing, told, answers):
    response = changing.reload(MOVING + told)
    assert (response.status.error_code, response.status.error_message) == (0, "")
    changing.comes_to_answer(answers)


CHANGED = [  # name | successive configs of `moving` | query: version | states of the versions
    ("newer versions", [ONLY_1, ALL], {None: 3, 2: 2, 1: 1}, {3: "AVAILABLE", 2: "AVAILABLE", 1: "AVAILABLE"}),
    ("back to an old one", [ALL, ONLY_1], {None: 1, 3: NOT_FOUND}, {3: "END", 2: "END", 1: "AVAILABLE"}),
    ("an old one leaves", [LATEST_2, ""], {None: 3, 2: NOT_FOUND}, {3: "AVAILABLE", 2: "END"}),
    ("the same again", [LATEST_2, LATEST_2], {None: 3, 2: 2}, {3: "AVAILABLE", 2: "AVAILABLE"}),
    (
        "a label moves",  # the canary in the documentation is promoted
        [ALL + label("stable", 1) + label("canary", 2), ALL + label("stable", 2)],
        {"stable": 2, "canary": INVALID, 1: 1},
        {3: "AVAILABLE", 2: "AVAILABLE", 1: "AVAILABLE"},
    ),
    ("labels leave", [ALL + label("stable", 1), ALL], {"stable": INVALID, 1: 1}, None),
]


@pytest.mark.parametrize(("steps", "answers", "states"), named(CHANGED))
def test_a_model_that_is_there(changing, steps, answers, states):
    for told in steps:
        changing.reload(MOVING + told)
        newest = 1 if ONLY_1 in told else 3
        changing.comes_to_answer({None: newest} | ({1: 1, 2: 2} if ALL in told else {}))
    changing.comes_to_answer(answers)
    if states:
        _until(lambda: {version: changing.states().get(version) for version in states}, states)


def test_a_model_that_is_not_listed_leaves(changing, stubs):
    changing.reload(MOVING + ONLY_1_AND_3)
    changing.comes_to_answer({1: 1, 3: 3})
    changing.reload()
    changing.comes_to_answer({None: NOT_FOUND, 1: NOT_FOUND, 3: NOT_FOUND})
    _until(lambda: {version: changing.states().get(version) for version in (3, 1)}, {3: "END", 1: "END"})
    stubs.predictions.Predict(predict("half_plus_two", {"x": [1.0]}, label="stable"), timeout=SECONDS)


ONLY_LISTS = (
    "ServerModelConfig type not supported by HandleReloadConfigRequest. Only ModelConfigList is currently supported"
)


def test_a_request_without_a_list(changing):
    request = model_management_pb2.ReloadConfigRequest()
    assert changing.refuses(request) == (INVALID, ONLY_LISTS)
    request.config.custom_model_config.SetInParent()
    assert changing.refuses(request) == (INVALID, ONLY_LISTS)


REFUSED = [  # name | more entries | replacement in the suite's config | code | message
    ("a model twice", [MOVING, MOVING], None, INVALID, "Illegal to list model moving multiple times in config list"),
    (
        "a relative path",
        ['name: "moving" base_path: "models/moving" model_platform: "tensorflow"'],
        None,
        INVALID,
        "Expected model moving to have an absolute path or URI; got base_path()=models/moving",
    ),
    (
        "no platform",
        [],
        ('/toy" model_platform: "tensorflow"', '/toy"'),
        INVALID,
        "Illegal setting neither ModelServerConfig::model_type (deprecated) nor ModelServerConfig::model_platform, "
        "model name is toy",
    ),
    (
        "another platform",
        [],
        ('/toy" model_platform: "tensorflow"', '/toy" model_platform: "no"'),
        INVALID,
        "...platform...",
    ),
]


@pytest.mark.parametrize(("entries", "replace", "code", "message"), named(REFUSED))
def test_a_config_that_cannot_be_served_changes_nothing(changing, stubs, entries, replace, code, message):
    received, text = changing.refuses(changing.request(*entries, replace=replace or ("", "")))
    assert (received, like(message, text)) == (code, True), text
    assert changing.answer(None) == NOT_FOUND
    stubs.predictions.Predict(predict("toy", {"text": ["a"]}, label="stable"), timeout=SECONDS)


def test_a_label_does_not_move_to_a_version_that_is_not_there(changing):
    changing.reload(MOVING + ALL + label("stable", 1))
    changing.comes_to_answer({"stable": 1})
    code, message = changing.refuses(changing.request(MOVING + ALL + label("stable", 9)))
    assert code == "FAILED_PRECONDITION"
    assert like("...to version 9 of model moving, which is not currently available for inference", message)
    assert changing.answer("stable") == 1


def test_how_much_a_counter_grew(changing):
    count = "/tensorflow/serving/request_count"
    response = changing.reload(MOVING, metrics=[count])
    assert {metric.name: metric.int64_value_increase for metric in response.metric} == {count: 0}
