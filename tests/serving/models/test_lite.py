"""`--prefer_tflite_model`: a LiteRT file in a version folder."""

import re
import shutil
import threading

import flatbuffers
import numpy as np
import pytest
import serving_toys
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import flexbuffers
from serving_toys import post

from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.models.lite import LiteEngine
from seqattn_tf.serving.models.version_folders import LITE_FILE
from seqattn_tf.serving.protos import SignatureDef
from seqattn_tf.serving.server import Server


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A LiteRT file with one signature that scales rows and also returns their sums."""
    module = tf.Module()

    specs = [tf.TensorSpec([None, 2], tf.float32, name="x"), tf.TensorSpec([1], tf.float32, name="k")]

    @tf.function(input_signature=specs)
    def scale(x, k):
        return {"y": x * k, "sum": tf.reduce_sum(x, axis=1)}

    folder = tmp_path_factory.mktemp("lite")
    tf.saved_model.save(module, str(folder / "saved"), signatures={"scale": scale})
    made = tf.lite.TFLiteConverter.from_saved_model(str(folder / "saved")).convert()
    (folder / LITE_FILE).write_bytes(made)
    return folder / LITE_FILE


X = {"x": np.float32([[1, 2], [3, 4], [5, 6]]), "k": np.float32([2])}


def test_its_signatures_are_told_and_answer(file):
    engine = LiteEngine(file)
    signature = engine.signature_defs["scale"]
    assert sorted(signature.inputs) == ["k", "x"]
    assert [dim.size for dim in signature.inputs["x"].tensor_shape.dim] == [-1, 2]
    assert (signature.inputs["x"].dtype, signature.method_name) == (1, "tensorflow/serving/predict")
    found = engine.run("scale", X, ["sum", "y"], None)
    assert found["y"].tolist() == [[2, 4], [6, 8], [10, 12]]
    assert found["sum"].tolist() == [3, 7, 11]
    assert list(engine.run("scale", {"x": X["x"][:1], "k": X["k"]}, ["sum"], 5.0)) == ["sum"]
    assert found["y"].tolist() == [[2, 4], [6, 8], [10, 12]]  # not a view of memory that the next run overwrites


def test_a_file_without_signatures_has_a_default_one(tmp_path):
    double = tf.function(lambda x: 2 * x, input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    made = tf.lite.TFLiteConverter.from_concrete_functions([double.get_concrete_function()]).convert()
    (tmp_path / LITE_FILE).write_bytes(made)
    engine = LiteEngine(tmp_path / LITE_FILE)
    [(name, signature)] = engine.signature_defs.items()
    [alias], [output] = signature.inputs, signature.outputs
    assert (name, alias) == ("serving_default", "x")
    for rows in (1, 4):
        found = engine.run(name, {alias: np.ones([rows, 3], np.float32)}, [output], None)
        assert found[output].tolist() == [[2, 2, 2]] * rows


@pytest.fixture(scope="module")
def half_plus_two():
    """A LiteRT file without signatures whose input `x` and output `y` have the shape [1, 1]."""
    half = tf.function(lambda x: tf.identity(x / 2 + 2, "y"), input_signature=[tf.TensorSpec([1, 1], name="x")])
    return tf.lite.TFLiteConverter.from_concrete_functions([half.get_concrete_function()]).convert()


def in_metadata(model, signatures):
    """Return a LiteRT file with signatures in its metadata, where converters before TensorFlow 2.5 wrote them."""
    file = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model, 0))
    packed = flexbuffers.Builder()
    with packed.Map():
        for name, signature in signatures.items():
            packed.String(name, signature.SerializeToString().decode("latin-1"))
    entry = schema.MetadataT()
    entry.name, entry.buffer = "signature_defs_metadata", len(file.buffers)
    content = schema.BufferT()
    content.data = np.frombuffer(bytes(packed.Finish()), np.uint8)
    file.buffers.append(content)
    file.metadata = [*(file.metadata or []), entry]
    builder = flatbuffers.Builder(len(model) + 1000)
    builder.Finish(file.Pack(builder), b"TFL3")
    return bytes(builder.Output())


@pytest.mark.parametrize("alias", ["", "other"])
def test_files_of_older_converters_answer_by_the_names_of_tensors_or_of_their_metadata(half_plus_two, alias, tmp_path):
    """TensorFlow Serving's own cases: a row of shape [1] where [1, 1] is declared, and signatures in the metadata."""
    (tmp_path / LITE_FILE).write_bytes(half_plus_two)
    [output] = LiteEngine(tmp_path / LITE_FILE).signature_defs["serving_default"].outputs
    if alias:
        signature = SignatureDef(method_name="tensorflow/serving/predict")
        for side, name, tensor in ((signature.inputs, alias, "x:0"), (signature.outputs, "half", output)):
            side[name].name, side[name].dtype = tensor, 1
            for _ in range(2):
                side[name].tensor_shape.dim.add(size=1)
        (tmp_path / LITE_FILE).write_bytes(in_metadata(half_plus_two, {"mine": signature}))
        output = "half"
    engine = LiteEngine(tmp_path / LITE_FILE)
    [(name, signature)] = engine.signature_defs.items()
    assert (name, list(signature.inputs)) == (("mine", [alias]) if alias else ("serving_default", ["x"]))
    for value in ([2.0], [[2.0]], [[2.0], [2.0]]):
        found = engine.run(name, {alias or "x": np.float32(value)}, [output], None)[output]
        assert found.ravel().tolist() == [3.0] * len(value)
    with pytest.raises(ServingError, match=r"expected the shape \[1, 1\], .* Received: \[2\]"):
        engine.run(name, {alias or "x": np.float32([1, 2])}, [output], None)


def test_faults_are_told(file, tmp_path):
    engine = LiteEngine(file, interpreters=1)
    for shape in ((), (2,), (2, 3), (3, 2, 1), (1,) * 9):  # some of these shapes crash the interpreter
        message = rf"^INVALID_ARGUMENT: x: expected the shape \[-1, 2\], .* Received: {re.escape(str(list(shape)))}$"
        with pytest.raises(ServingError, match=message):
            engine.run("scale", X | {"x": np.ones(shape, np.float32)}, ["y"], None)
    with pytest.raises(ServingError, match=r"^INVALID_ARGUMENT: .*FLOAT64"):
        engine.run("scale", X | {"x": np.ones([1, 2])}, ["y"], None)
    assert engine.run("scale", X, ["y"], None)["y"].shape == (3, 2)  # its interpreter is available again
    taken = engine._pool._free.get()
    with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
        engine.run("scale", X, ["y"], 0.05)
    engine._pool._free.put(taken)
    with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):  # it ran, but too long
        engine.run("scale", X, ["y"], 1e-9)
    (tmp_path / LITE_FILE).write_bytes(file.read_bytes()[:100])
    with pytest.raises(ServingError, match="expected a complete LiteRT file"):
        LiteEngine(tmp_path / LITE_FILE)


def test_scalar_inputs_are_refused_by_name(tmp_path):
    """They would crash the interpreter of version 2.3."""
    double = tf.function(lambda x: 2 * x, input_signature=[tf.TensorSpec([], tf.float32, name="x")])
    made = tf.lite.TFLiteConverter.from_concrete_functions([double.get_concrete_function()]).convert()
    (tmp_path / LITE_FILE).write_bytes(made)
    with pytest.raises(ServingError, match=r"UNIMPLEMENTED: .* Received: scalars \['x'\]"):
        LiteEngine(tmp_path / LITE_FILE)


def test_threads_share_its_interpreters(file):
    engine, found = LiteEngine(file, interpreters=2), []

    def run(number):
        inputs = {"x": np.full([number, 2], number, np.float32), "k": np.float32([3])}
        found.extend((number, engine.run("scale", inputs, ["y"], None)["y"].tolist()) for _ in range(20))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 120
    assert all(rows == [[3.0 * number] * 2] * number for number, rows in found)


def test_the_server_prefers_it_when_told_so(exported, file, exports, tmp_path):
    serving_toys.install(exports / "1", tmp_path / "toy", 1)  # without such a file, the SavedModel is served
    version = tmp_path / "edge" / "1"
    version.mkdir(parents=True)
    shutil.copy(exported / "models/pronounce/1/assets.extra/lite/model.tflite", version / LITE_FILE)
    shutil.copytree(exports / "1", tmp_path / "both" / "1")
    shutil.copy(file, tmp_path / "both" / "1" / LITE_FILE)
    pools = {"num_tflite_pools": 2, "num_tflite_interpreters_per_pool": 3}
    with Server(serving_toys.config(tmp_path, prefer_tflite_model=True, **pools)) as server:
        ids = {"signature_name": "tensors", "inputs": {"text_ids": [[5, 3, 22]]}}
        status, answer = post(server.rest_url, ids, "/v1/models/edge:predict")
        assert (status, len(answer["outputs"]["text_attention"][0][0])) == (200, 3)
        assert server.repository.get("both")._engine._pool._free.qsize() == 6
        scaled = {"signature_name": "scale", "inputs": {"x": [[1, 2]], "k": [2]}}
        assert post(server.rest_url, scaled, "/v1/models/both:predict")[1]["outputs"]["y"] == [[2, 4]]
        assert post(server.rest_url, {"instances": ["a"]}, "/v1/models/toy:predict")[0] == 200
        status, answer = post(server.rest_url, scaled | {"signature_name": "no"}, "/v1/models/both:predict")
        assert (status, answer["error"]) == (400, 'Serving signature name: "no" not found in signature def')
    with Server(serving_toys.config(tmp_path)) as server:
        assert post(server.rest_url, {"instances": ["a"]}, "/v1/models/both:predict")[0] == 200
        [status] = server.repository.status("edge")
        assert (status.state, status.error_code) == ("END", "NOT_FOUND")
        assert status.error_message.startswith("Could not find SavedModel .pb")
