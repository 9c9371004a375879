"""Exports in TensorFlow's C++ loader and session, which TensorFlow Serving also uses, without Keras."""

import re
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from support import systems
from support.slow import slow

from seqattn_tf.export import cpp_loader, meta_graph
from seqattn_tf.export.compatibility import check
from seqattn_tf.export.cpp_loader import CppError, CppSession, RunRequest
from seqattn_tf.export.forms import SavedModel
from seqattn_tf.export.forms.saved_model import ask_signatures
from seqattn_tf.export.package import export_model
from seqattn_tf.export.signatures import concrete
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.lite.text.pieces import INSIDE, SPACE
from seqattn_tf.models import EncoderDecoder, LanguageNetwork

LETTERS, SOUNDS = SymbolRules(tuple("abc")), SymbolRules(("A", "B"), tokenizer="spaces")
PIECES = SymbolRules((f"{SPACE}a", f"{INSIDE}b", f"{INSIDE}a", SPACE), tokenizer="subwords", unknown=True)
WORDS = SymbolRules(("cat", "sat"), tokenizer="words", unknown=True)


def clear(network):
    """Set large weights, so that choices are unambiguous."""
    network.build()
    for weight in network.weights:
        weight.assign(3 * weight.numpy())
    return network


def seq2seq(source, target, **settings):
    found = {name: settings.pop(name) for name in ("beam_width", "alternatives") if name in settings}
    network = EncoderDecoder.of_symbols(source.size, target.size, units=6, embedding=4, dropout=0.2, **settings)
    return systems.seq2seq(clear(network), source, target, max_target_length=5, **found)


KINDS = {
    "pairs, greedy": lambda: seq2seq(LETTERS, SOUNDS),
    "pairs, beam over a chain": lambda: seq2seq(PIECES, WORDS, align="crf", beam_width=3, alternatives=2, depth=2),
    "language": lambda: systems.language_model(clear(LanguageNetwork(WORDS.size, units=6)), WORDS, max_target_length=5),
    "labels": lambda: systems.text_classifier(clear(systems.text_network(LETTERS.size, 2)), LETTERS, ("no", "yes")),
    "numbers": lambda: systems.text_classifier(clear(systems.text_network(LETTERS.size)), LETTERS),
}
TEXTS = {LETTERS: ["abc", "", "c?a", "aa"], PIECES: ["ab", "", "aba a", "zz"], WORDS: ["cat sat", "", "sat dog", "cat"]}


LONG = ("pairs, beam over a chain", "pairs, greedy", "numbers")  # the shipped model covers pairs in the fast tests


@pytest.fixture
def clean_process(monkeypatch):
    """Run the loader in a process without any imports, as for a user."""
    monkeypatch.setattr(cpp_loader, "subprocess", subprocess)


@pytest.fixture(params=[slow(kind) if kind in LONG else kind for kind in KINDS])
def model(request):
    keras.utils.set_random_seed(3)
    return KINDS[request.param]()


def asked_in_python(model, texts):
    """Return the outputs of the Keras model for each signature, computed with its methods alone."""
    strings = tf.constant(texts)
    tokens = model.graph_inputs["text"].tokenizer.tokens(strings)
    ids = model.graph_inputs["text"].tokenizer.lookup(tokens)
    lengths = tf.reduce_sum(tf.cast(tf.strings.length(tokens) > 0, tf.int32), axis=1)
    served = model.serve(text=strings)
    answers = served["text"].numpy().tolist()
    questions = {
        "serving_default": {"text": np.array([text.encode() for text in texts], object)},
        "tensors": {"text_ids": ids.numpy(), "text_lengths": lengths.numpy()},
        "log_likelihood": {
            "text": np.array([text.encode() for text in texts], object),
            "answer": np.array(answers, object),
        },
    }
    said = {
        "serving_default": served,
        "tensors": model.serve_tensors(text_ids=ids, text_lengths=lengths),
        "log_likelihood": {"log_likelihood": model.log_likelihood(tf.constant(answers), text=strings)},
    }
    return questions, said


def assert_same(found, said):
    for name, outputs in said.items():
        assert set(found[name]) == set(outputs)
        for alias, expected in outputs.items():
            expected = expected.numpy()
            if expected.dtype.kind == "f":
                np.testing.assert_allclose(
                    found[name][alias], expected, rtol=1e-4, atol=1e-5, err_msg=f"{name} {alias}"
                )
            else:
                np.testing.assert_array_equal(found[name][alias], expected, err_msg=f"{name} {alias}")


def assert_weights_are_stored_once(model, folder):
    stored = dict(tf.train.list_variables(str(folder / "variables/variables")))
    stored.pop("_CHECKPOINTABLE_OBJECT_GRAPH")
    assert sorted(map(tuple, stored.values())) == sorted(tuple(weight.shape) for weight in model.network.weights)
    handles = [node for node in meta_graph.read(folder).graph_def.node if node.op == "VarHandleOp"]
    assert len(handles) == len(model.network.weights)


def test_every_signature_of_every_kind_answers_there_as_in_keras(model, tmp_path):
    SavedModel().write(model, tmp_path / "m", {})
    questions, said = asked_in_python(model, TEXTS[model.inputs["text"].rules])
    assert_same(ask_signatures(tmp_path / "m", questions)[0], said)
    assert_weights_are_stored_once(model, tmp_path / "m")


def test_the_shipped_model_answers_there_as_in_keras(preset, exported, clean_process):
    questions, said = asked_in_python(preset, ["hello", "", "naïve"])
    [found] = ask_signatures(exported / "models/pronounce/1", questions)
    assert_same(found, said)
    assert found["serving_default"]["text"][0] == b"HH AH L OW"


def test_that_process_holds_neither_tensorflow_in_python_nor_keras(exported):
    code = """
import sys
import numpy as np
from seqattn_tf.export.cpp_loader import CppSession
found = CppSession(sys.argv[1]).run([("serving_default_text", np.array([b"cat"], object))], [sys.argv[2]])
print(found[0].tolist(), {"tensorflow", "keras"} & set(sys.modules))
"""
    folder = exported / "models/pronounce/1"
    name = meta_graph.read(folder).signature_def["serving_default"].outputs["text"].name
    done = subprocess.run([sys.executable, "-c", code, folder, name], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[b'K AE T'] set()", done.stderr


@pytest.mark.slow
def test_saved_model_cli_prints_an_answer(exported):
    """TensorFlow's own tool; it has no flag for importing the ops of TensorFlow Text."""
    code = "import tensorflow_text; from tensorflow.python.tools.saved_model_cli import main; main()"
    asked = ["--signature_def", "serving_default", "--input_exprs", 'text=[b"attention"]']
    command = [
        sys.executable,
        "-c",
        code,
        "run",
        "--dir",
        exported / "models/pronounce/1",
        "--tag_set",
        "serve",
        *asked,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "[b'AH T EH N SH AH N']" in done.stdout, done.stderr


@pytest.fixture(scope="module")
def old_export(tmp_path_factory):
    """An export in the old format: the model saved as it is, with Keras's objects around its weights."""
    model = KINDS["labels"]()
    folder = tmp_path_factory.mktemp("old") / "m"
    tf.saved_model.save(model, str(folder / "1"), signatures=concrete(model))
    return folder


def test_a_folder_written_by_the_old_code_is_refused_with_the_way_out(old_export):
    # Loading it in Python succeeds, which hides the problem.
    assert tf.saved_model.load(str(old_export / "1")).signatures["serving_default"](text=tf.constant(["a"]))
    [findings] = check(old_export).values()
    said = [str(finding) for finding in findings]
    assert [finding.signature for finding in findings] == ["log_likelihood", "serving_default", "tensors", ""]
    assert all(re.match(r"signature \w+: Could not find variable classifier_network\S+$", line) for line in said[:3])
    assert "copies" in said[3]
    assert "Export it again: seqattn export RUN models/NAME" in said[3]
    assert all(finding.fault for finding in findings)


def test_an_export_that_this_loader_cannot_run_is_not_published(tmp_path, monkeypatch):
    def as_before(form, model, folder, described):
        tf.saved_model.save(model, str(folder), signatures=concrete(model))
        return {}

    monkeypatch.setattr(SavedModel, "write", as_before)
    with pytest.raises(ValueError, match=r"expected an answer from signature .*Could not find variable"):
        export_model(KINDS["labels"](), tmp_path / "models/m", {})
    assert not list((tmp_path / "models/m").iterdir())


def test_an_op_that_tensorflow_serving_lacks_is_refused_by_name(tmp_path, monkeypatch):
    model = KINDS["labels"]()
    monkeypatch.setattr(model, "serve", lambda text: {"text": tf.py_function(lambda v: v, [text], tf.string)})
    with pytest.raises(ValueError, match=r"expected ops that TensorFlow Serving links\. Received: \['EagerPyFunc'\]"):
        SavedModel().write(model, tmp_path / "m", {})


def echo(folder):
    """Save a model with one signature that returns its inputs of every dtype."""
    specs = {}
    for dtype in cpp_loader.DTYPES:
        name = tf.as_dtype(dtype).name
        specs[name] = tf.TensorSpec(None, tf.as_dtype(dtype), name)
    function = tf.function(lambda **values: {f"{name}_out": tf.identity(value) for name, value in values.items()})
    tf.saved_model.save(tf.Module(), str(folder), signatures=function.get_concrete_function(**specs))
    return meta_graph.read(folder).signature_def["serving_default"]


def test_values_of_every_dtype_and_shape_come_back(tmp_path):
    signature = echo(tmp_path / "echo")
    session = CppSession(tmp_path / "echo")
    long = b"\x00" + 100 * "é".encode()
    for shape in [(), (0,), (2, 3), (2, 0, 1)]:
        values = {}
        for alias, info in signature.inputs.items():
            dtype = tf.as_dtype(info.dtype).as_numpy_dtype
            some = np.arange(int(np.prod(shape))) % 2 + 1
            texts = np.array(([long, b"", b"a"] * 2)[: some.size], object).reshape(shape)
            values[alias] = texts if dtype is object else some.astype(dtype).reshape(shape)
        feeds = [(signature.inputs[alias].name, value) for alias, value in values.items()]
        found = session.run(feeds, [signature.outputs[f"{alias}_out"].name for alias in values])
        for (alias, value), back in zip(values.items(), found, strict=True):
            assert back.dtype == value.dtype, alias
            assert back.shape == shape, alias
            assert back.tolist() == value.tolist(), alias


def test_what_is_wrong_is_said(tmp_path, exported, clean_process):
    with pytest.raises(CppError, match="is not in the graph"):
        CppSession(exported / "models/pronounce/1").run([("nobody", np.zeros(1))], [])
    with pytest.raises(
        ValueError, match=r"expected a model that TensorFlow's C\+\+ loader can load\. Received: .*not find"
    ):
        cpp_loader.ask(tmp_path, [])
    with pytest.raises(ValueError, match=r"can run\. Received: SIGSEGV"):
        cpp_loader.ask(exported / "models/pronounce/1", [RunRequest([], _Crash())])
    with pytest.raises(ValueError, match=r"within 0\.01 s\. Received: none"):
        cpp_loader.ask(exported / "models/pronounce/1", [], timeout=0.01)


class _Crash:
    """Reads from an invalid address in the process that unpickles it."""

    def __reduce__(self):
        import ctypes

        return ctypes.string_at, (0,)


def test_a_folder_that_is_called_tensorflow_is_not_taken_for_it(tmp_path, monkeypatch, clean_process):
    double = tf.function(lambda x: {"y": 2 * x}, input_signature=[tf.TensorSpec([None], name="x")])
    tf.saved_model.save(tf.Module(), str(tmp_path / "m"), signatures=double)
    for name in ("tensorflow", "ml_dtypes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError")
    monkeypatch.chdir(tmp_path)
    [found] = ask_signatures(tmp_path / "m", {"serving_default": {"x": np.float32([1, 2])}})
    assert found["serving_default"]["y"].tolist() == [2, 4]
