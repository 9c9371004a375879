"""`seqattn export --check`: any SavedModel, ours or not, is compared with the ops of TensorFlow Serving."""

import shutil
import sys

import keras
import pytest
import tensorflow as tf
import tensorflow_text as tf_text
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

from seqattn_tf import cli
from seqattn_tf.export.compatibility import check


def saved(folder, **functions):
    module = tf.Module()
    module.weight = tf.Variable(2.0)
    made = {
        name: tf.function(call, autograph=False).get_concrete_function(tf.TensorSpec([None], dtype, name="x"))
        for name, (call, dtype) in functions.items()
    }
    tf.saved_model.save(module, str(folder), signatures=made)
    return folder


def lines(folder):
    [findings] = check(folder).values()
    return [str(finding) for finding in findings], any(finding.fault for finding in findings)


def test_our_own_answers(exported, capsys):
    assert cli.main(["export", "--check", str(exported / "models/pronounce")]) == 0
    version, *rest = capsys.readouterr().out.splitlines()
    assert version == str(exported / "models/pronounce/1")
    assert rest == [f"  signature {name}: answers" for name in ("log_likelihood", "serving_default", "tensors")]


def test_a_keras_export_answers(tmp_path):
    model = keras.Sequential([keras.Input([4]), keras.layers.Dense(3)])
    model.export(tmp_path / "1", verbose=False)
    assert lines(tmp_path) == (["signature serve: answers", "signature serving_default: answers"], False)


def test_a_model_of_tensorflow_1_answers(tmp_path):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None], name="x")
        y = v1.get_variable("half", initializer=0.5) * x
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(tmp_path / "m"), {"x": x}, {"y": y})
    assert lines(tmp_path / "m") == (["signature serving_default: answers"], False)


def test_an_input_that_cannot_be_made_up_is_no_fault(tmp_path):
    def picky(x):
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(x > 0), ["expected more than 0"])]):
            return {"y": tf.identity(x)}

    said, fault = lines(saved(tmp_path / "m", picky=(picky, tf.float32), plain=(lambda x: {"y": x + 1}, tf.float32)))
    assert not fault
    assert said[0].startswith("signature picky: runs, but rejected the sample input: assertion failed: [expected more")
    assert said[1] == "signature plain: answers"


def of_tensorflow_1(folder, tags=("serve",), **signatures):
    """Save a model with the placeholders `a` and `b`; the signatures use `a`, `b` and `sum` as inputs and outputs."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        tensors = {name: v1.placeholder(tf.float32, [None], name=name) for name in ("a", "b")}
        tensors["sum"] = tf.add(tensors["a"], tensors["b"], name="sum")
        info = {name: v1.saved_model.build_tensor_info(tensor) for name, tensor in tensors.items()}
        made = {
            name: v1.saved_model.build_signature_def(
                {f"in{place}": info[one] for place, one in enumerate(inputs)}, {one: info[one] for one in outputs}
            )
            for name, (inputs, outputs) in signatures.items()
        }
        builder = v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(session, list(tags), made)
        builder.save()
    return folder


def test_what_no_input_can_help_is_a_fault(tmp_path):
    folder = of_tensorflow_1(
        tmp_path / "m",
        good=(["a", "b"], ["sum"]),
        lacking=(["a"], ["sum"]),
        same=(["a"], ["a"]),
        silent=(["a", "b"], []),
        twice=(["a", "a", "b"], ["sum"]),
    )
    [findings] = check(folder).values()
    assert {finding.signature for finding in findings if finding.fault} == {"lacking", "same", "silent", "twice"}
    assert {finding.signature: str(finding) for finding in findings}["good"] == "signature good: answers"


def test_the_graph_is_the_one_that_the_loader_takes(tmp_path):
    [findings] = check(of_tensorflow_1(tmp_path / "m", ["serve", "gpu"], good=(["a", "b"], ["sum"]))).values()
    assert "expected a graph with only the tag 'serve'" in str(findings[0])


def test_a_text_form_and_versions_with_zeros_and_a_folder_of_models(tmp_path):
    folder = of_tensorflow_1(tmp_path / "models/m/001", good=(["a", "b"], ["sum"]))
    model = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    (folder / "saved_model.pb").unlink()
    (folder / "saved_model.pbtxt").write_text(text_format.MessageToString(model))
    for place in (folder, folder.parent, folder.parent.parent):
        [(version, findings)] = check(place).items()
        assert (version, [str(finding) for finding in findings]) == (folder, ["signature good: answers"])


def test_a_model_that_prints_and_a_folder_called_tensorflow(tmp_path, monkeypatch):
    def prints(x):
        with tf.control_dependencies([tf.print("much", output_stream=sys.stdout)]):
            return {"y": tf.identity(x)}

    saved(tmp_path / "m", serving_default=(prints, tf.float32))
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow/__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    assert lines(tmp_path / "m") == (["signature serving_default: answers"], False)


def test_ops_of_tensorflow_text_are_linked(tmp_path):
    def cut(x):
        return {"y": tf_text.WhitespaceTokenizer().tokenize(x).to_tensor()}

    assert lines(saved(tmp_path / "m", serving_default=(cut, tf.string)))[0] == ["signature serving_default: answers"]


def test_complex_numbers_are_asked_and_what_is_no_tensor_is_told(tmp_path):
    folder = saved(tmp_path / "m", twice=(lambda x: {"y": 2 * x}, tf.complex64), plain=(lambda x: {"y": x}, tf.float32))
    model = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    model.meta_graphs[0].signature_def["plain"].inputs["x"].dtype = 20  # a resource
    (folder / "saved_model.pb").write_bytes(model.SerializeToString())
    told = "signature plain: not run: an input or output is not a dense tensor"
    assert lines(folder) == ([told, "signature twice: answers"], False)


def test_an_op_that_is_not_linked_is_named(tmp_path):
    def python(x):
        return {"y": tf.py_function(lambda value: value, [x], tf.float32)}

    [first, *_], fault = lines(saved(tmp_path / "m", serving_default=(python, tf.float32)))
    assert fault
    assert first == "TensorFlow Serving does not link these ops: EagerPyFunc"


def test_a_run_time_failure_is_a_fault(tmp_path):
    def reads(x):
        return {"y": tf.fill(tf.shape(x), tf.io.read_file(str(tmp_path / "elsewhere.txt")))}

    [said], fault = lines(saved(tmp_path / "m", serving_default=(reads, tf.float32)))
    assert fault
    assert said.startswith("signature serving_default:")
    assert "elsewhere.txt; No such file" in said


@pytest.mark.parametrize("lost", ["variables", "saved_model.pb"])
def test_half_a_folder_is_refused(exported, tmp_path, lost):
    shutil.copytree(exported / "models/pronounce/1", tmp_path / "m")
    if lost == "variables":
        shutil.rmtree(tmp_path / "m/variables")
        said, fault = lines(tmp_path / "m")
        assert fault
        assert said == ["expected weights in variables/. Received: a folder without them"]
    else:
        whole = (tmp_path / "m/saved_model.pb").read_bytes()
        (tmp_path / "m/saved_model.pb").write_bytes(whole[: len(whole) // 2])
        said, fault = lines(tmp_path / "m")
        assert fault
        assert "expected a complete SavedModel" in said[0]


def test_bad_calls(tmp_path, capsys):
    assert cli.main(["export", "--check", str(tmp_path)]) == 2
    assert (
        "expected a SavedModel, or a folder with versions of one. Received: a folder with neither"
        in capsys.readouterr().err
    )
    for where, told in ((tmp_path / "no", "a path that does not exist"), (tmp_path / "file", "a file")):
        (tmp_path / "file").touch()
        assert cli.main(["export", "--check", str(where)]) == 2
        assert f"expected a folder. Received: {told}" in capsys.readouterr().err
    for arguments in (["export"], ["export", "pronounce"], ["export", "pronounce", "a", "--check", "b"]):
        assert cli.main(arguments) == 2
        assert "expected MODEL and TARGET, or --check DIR" in capsys.readouterr().err


def test_a_fault_is_told_by_the_exit_status(tmp_path, capsys):
    saved(tmp_path / "1", serving_default=(lambda x: {"y": tf.py_function(lambda v: v, [x], tf.float32)}, tf.float32))
    assert cli.main(["export", "--check", str(tmp_path)]) == 1
    assert "does not link" in capsys.readouterr().out
