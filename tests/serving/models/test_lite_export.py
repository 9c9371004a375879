"""LiteRT exports that answer strings: the replies are those of the SavedModel, up to the numbers."""

import base64
import contextlib
import shutil
import threading

import numpy as np
import pytest
from serving_toys import until

from seqattn_tf.lite import LiteModel
from seqattn_tf.lite.answer import Answer
from seqattn_tf.presets import FOLDER, presets
from seqattn_tf.serving.client import connect
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.models.lite_export import LiteExportEngine
from seqattn_tf.serving.models.session import SessionEngine
from seqattn_tf.serving.server import Server, ServerConfig

WORDS = np.array([b"hello", b"attention", b"", "café".encode()], object)


def run(engine, timeout=None, **inputs):
    signature = engine.signature_defs["serving_default"]
    return engine.run("serving_default", inputs, sorted(signature.outputs), timeout)


@pytest.fixture(scope="module")
def pronounce():
    return LiteExportEngine(FOLDER / "pronounce" / "lite")


def config(root, **more):
    return ServerConfig(root, engine="litert", rest_api_port=0, port=0, file_system_poll_wait_seconds=0, **more)


def test_signature_and_answers_are_those_of_the_saved_model(exported):
    """Catches an output that is missing or has another dtype or rank, and padding that becomes part of an answer."""
    version = exported / "models" / "pronounce" / "1"
    engines = SessionEngine(version), LiteExportEngine(version / "assets.extra" / "lite")
    saved, lite = (
        [
            {name: (info.dtype, len(info.tensor_shape.dim)) for name, info in side.items()}
            for side in (
                engine.signature_defs["serving_default"].inputs,
                engine.signature_defs["serving_default"].outputs,
            )
        ]
        for engine in engines
    )
    assert lite == saved
    found, expected = (run(engine, text=WORDS) for engine in reversed(engines))
    assert {name: (array.dtype, array.shape) for name, array in found.items()} == {
        name: (array.dtype, array.shape) for name, array in expected.items()
    }
    for row in range(len(WORDS)):
        one, other = (Answer.from_outputs(outputs, row) for outputs in (found, expected))
        assert (one.text, one.tokens) == (other.text, other.tokens)
        assert one.score == pytest.approx(other.score, abs=1e-3)
        np.testing.assert_allclose(one.attention["text"].weights, other.attention["text"].weights, atol=1e-3)
        assert one.attention["text"].keys == other.attention["text"].keys


@pytest.mark.parametrize("name", [name for name in presets() if name not in ("image_to_latex", "parse")])
def test_every_preset_answers_its_examples_as_in_python(name):
    """Catches an output that cannot be converted, such as a grid, and inputs in another order."""
    engine, model = LiteExportEngine(FOLDER / name / "lite"), LiteModel(FOLDER / name / "lite")
    rows = model.manifest["examples"][:2]
    inputs = {key: np.array([_bytes(row[key]) for row in rows], object) for key in engine._inputs}
    outputs = run(engine, **dict(reversed(inputs.items())))
    assert outputs.keys() == engine.signature_defs["serving_default"].outputs.keys()
    for place, expected in enumerate(model.answer([{key: inputs[key][place] for key in inputs} for place in range(2)])):
        found = Answer.from_outputs(outputs, place)
        assert (found.text, found.tokens) == (expected.text, expected.tokens)
        assert [text for text, _ in found.alternatives] == [text for text, _ in expected.alternatives]
        for key, look in expected.attention.items():
            assert (found.attention[key].queries, found.attention[key].keys) == (look.queries, look.keys)
            np.testing.assert_array_equal(found.attention[key].weights, np.float32(look.weights))
    for alias, array in outputs.items():
        assert array.ndim == len(engine.signature_defs["serving_default"].outputs[alias].tensor_shape.dim), alias


def _bytes(value):
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else value.encode()


def test_no_rows_are_no_answers(pronounce):
    outputs = run(pronounce, text=np.array([], object))
    assert {name: array.shape for name, array in outputs.items()} == {
        **dict.fromkeys(["text", "score"], (0,)),
        **dict.fromkeys(["alternatives", "alternative_scores", "tokens", "text_queries", "text_keys"], (0, 0)),
        "text_attention": (0, 0, 0),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ([b"a", b"x" * 65], r"row 1: text: expected at most 64 .* Received: 65"),
        ([b"x" * 65], r"^INVALID_ARGUMENT: text: expected at most 64 .* Received: 65"),
        ([[b"a"]], r"text: expected a list of strings\. Received: object \(1, 1\)"),
        ([1.5], r"text: expected a list of strings\. Received: float64 \(1,\)"),
    ],
)
def test_bad_rows_are_invalid_arguments(pronounce, text, message):
    with pytest.raises(ServingError, match=message) as raised:
        run(pronounce, text=np.array(text, None if text == [1.5] else object))
    assert raised.value.code == "INVALID_ARGUMENT"


def test_inputs_need_as_many_rows():
    engine = LiteExportEngine(FOLDER / "answer_scene" / "lite")
    with pytest.raises(ServingError, match=r"as many rows in each\. Received: \{'image': 1, 'question': 2\}"):
        run(engine, image=np.array([b""], object), question=np.array([b"a", b"b"], object))


def test_a_run_ends_at_its_deadline_between_rows(pronounce):
    """Catches a request with many rows that holds an interpreter long after its client has gone."""
    with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
        run(pronounce, timeout=0.02, text=np.array([b"attention"] * 1000, object))
    assert run(pronounce, timeout=5, text=WORDS[:1])["text"].tolist() == [b"HH AH L OW"]


def test_requests_run_at_once_and_wait_for_a_free_interpreter():
    engine = LiteExportEngine(FOLDER / "pronounce" / "lite", interpreters=2)
    with engine._pool.lend(1) as first, engine._pool.lend(1) as second:
        assert first is not second
        with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
            run(engine, timeout=0.01, text=WORDS[:1])
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(run(engine, text=WORDS)["text"].tolist())) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [run(engine, text=WORDS)["text"].tolist()] * 6


def test_each_preset_answers_once_it_is_ready_and_names_its_engine(tmp_path):
    """Catches ports that open only after the slowest model, and a damaged model that stops the others."""
    for name in ("pronounce", "tag"):
        shutil.copytree(FOLDER / name / "lite", tmp_path / name / "lite")
    (tmp_path / "damaged" / "lite").mkdir(parents=True)
    (tmp_path / "damaged" / "lite" / "model.tflite").write_bytes(b"\xff" * 100)
    held, attempted = threading.Event(), []

    def hold(name):
        attempted.append(name)
        if name == "pronounce":
            assert held.wait(20)

    with Server(config(tmp_path), hold) as server, connect_to(server.rest_url) as client:
        until(lambda: attempted == ["damaged", "pronounce"])
        assert client.answer("pronounce", ["hello"])[0].text == "HH AH L OW"
        assert client.status("tag")["model_version_status"][0]["state"] in ("START", "LOADING")
        with pytest.raises(ServingError, match=r"NOT_FOUND: Servable not found for request: Latest\(tag\)"):
            client.predict("tag", {"text": ["Time flies."]})
        assert not server.ready
        held.set()
        until(lambda: attempted == ["damaged", "pronounce", "tag"])
        for url in (server.rest_url, f"grpc://{server.grpc_address}"):
            with connect_to(url) as other:
                assert other.answer("tag", ["Time flies."])[0].attention["text"].keys == ("Time", "flies", ".")
                assert other.metadata("tag")["metadata"]["engine"] == "litert"
                (status,) = other.status("tag")["model_version_status"]
                assert (status["version"], status["state"], status["engine"]) == ("1", "AVAILABLE", "litert")
        (status,) = client.status("damaged")["model_version_status"]
        assert status["state"] == "END"
        assert "engine" not in status
        assert "manifest.json" in status["status"]["error_message"]


def connect_to(url):
    return contextlib.closing(connect(url))


def test_exports_are_found_by_version_and_other_folders_refused(exported, tmp_path):
    with Server(config(exported / "models")) as server:
        until(lambda: server.ready)
        assert server.repository.get("pronounce").version == 1
    (tmp_path / "model" / "1").mkdir(parents=True)
    with pytest.raises(
        ValueError, match=r"models: expected a folder with NAME/VERSION/assets\.extra/lite\. Received: "
    ):
        Server(config(tmp_path)).start()
    with pytest.raises(ValueError, match=r"engine: expected tensorflow for models\.config\. Received: 'litert'"):
        ServerConfig(model_config_file="models.config", engine="litert")
    with pytest.raises(ValueError, match=r"engine: expected one of tensorflow, litert\. Received: 'keras'"):
        ServerConfig(tmp_path, engine="keras")
