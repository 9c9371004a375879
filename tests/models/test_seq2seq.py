import json

import numpy as np
import pytest
import tensorflow as tf
from support.systems import seq2seq, small_seq2seq

from seqattn_tf.lite.formats import FORMAT
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import EncoderDecoder, load

LETTERS = SymbolRules(tuple("abcdefgh"), lowercase=True, strip_accents=True)
SOUNDS = SymbolRules(("AH", "B", "K", "D"), tokenizer="spaces")


@pytest.fixture(scope="module")
def model():
    tf.keras.utils.set_random_seed(1)
    network = EncoderDecoder.of_symbols(LETTERS.size, SOUNDS.size, units=8, embedding=4, cell="lstm", dropout=0.2)
    return seq2seq(network, LETTERS, SOUNDS, max_source_length=20, max_target_length=9)


def test_answer_carries_text_score_and_attention(model):
    [answer] = model.answer(["Badge"])
    assert answer.text == " ".join(answer.tokens)
    look = answer.attention["text"]
    assert (look.queries, look.keys) == (answer.tokens, tuple("badge"))
    assert look.weights.shape == (len(answer.tokens), 5)
    np.testing.assert_allclose(look.weights.sum(-1), 1, atol=1e-5)


def test_batch_equals_one_by_one(model):
    texts = ["abc", "h", "deadbeef", "", "fade"]
    for together, text in zip(model.answer(texts), texts, strict=True):
        [alone] = model.answer([text])
        assert together.text == alone.text
        assert together.score == pytest.approx(alone.score, abs=1e-5)
        np.testing.assert_allclose(together.attention["text"].weights, alone.attention["text"].weights, atol=1e-5)


def test_score_is_the_likelihood_of_the_answer(preset):
    """Greedy decoding (step by step) and teacher forcing (all steps at once) give an answer the same score."""
    words = ["hello", "a", "attention", "rhythm", "don't"]
    answers = preset.answer(words)
    likelihoods = preset.log_likelihood(tf.constant([answer.text for answer in answers]), text=tf.constant(words))
    np.testing.assert_allclose(likelihoods, [answer.score for answer in answers], atol=1e-3)


def test_likelihood_has_limits_and_counts_its_arguments(model):
    with pytest.raises(tf.errors.InvalidArgumentError, match="answer: expected at most 9 symbols"):
        model.log_likelihood(tf.constant(["B " * 10]), text=tf.constant(["abc"]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="answer: expected one for each row"):
        model.log_likelihood(tf.constant(["B"]), text=tf.constant(["abc", "abc"]))
    values = model.log_likelihood(tf.constant(["", "B"]), text=tf.constant(["12", "12"])).numpy()
    assert values.tolist() == [-np.inf, -np.inf]
    with pytest.raises(tf.errors.InvalidArgumentError, match="text_ids: expected at most 20 symbols"):
        model.serve_tensors(text_ids=tf.ones([1, 21], tf.int32), text_lengths=tf.constant([21]))


def test_likelihood_of_what_cannot_be_said_is_minus_infinity(model):
    values = model.log_likelihood(tf.constant(["AH XX B", ""]), text=tf.constant(["abc", "abc"])).numpy()
    assert values[0] == -np.inf
    assert np.isfinite(values[1])


@pytest.mark.parametrize("text", ["", "   ", "123", "日本語", b"\xff\xfe", "\U0001f600"])
def test_nothing_readable_gives_the_empty_answer(model, text):
    [answer] = model.answer([text])
    assert (answer.text, answer.score, answer.tokens) == ("", -np.inf, ())


def test_unreadable_symbols_are_seen_and_not_read(model):
    [answer], [clean] = model.answer(["a1b2"]), model.answer(["ab"])
    assert answer.text == clean.text
    assert answer.attention["text"].keys == ("a", "1", "b", "2")
    assert (answer.attention["text"].weights[:, [1, 3]] == 0).all()


def test_too_long_and_wrong_types_are_refused(model):
    with pytest.raises(ValueError, match=r"expected at most 20 symbols\. Received: 10000"):
        model.answer(["ab", "a" * 10_000])
    with pytest.raises(ValueError, match="expected a list of rows"):
        model.answer("abc")
    with pytest.raises(ValueError, match="rows: expected a string, bytes or a list of strings for text"):
        model.answer([3])
    assert model.answer([]) == []


def test_saved_folder_rebuilds_the_model(model, tmp_path):
    model.save(tmp_path / "run", {"recipe": "none"})
    again = load(tmp_path / "run")
    assert (again.inputs["text"].limit, again.target.limit) == (20, 9)
    assert again.settings == model.settings
    assert again.network.encoder.get_config() == model.network.encoder.get_config()
    for one, other in zip(model.answer(["abc", "bad"]), again.answer(["abc", "bad"]), strict=True):
        assert (one.text, one.score) == (other.text, other.score)


def test_compact_folder_is_smaller_and_near(model, tmp_path):
    model.save(tmp_path / "whole")
    model.save(tmp_path / "compact", compact=True)
    again = load(tmp_path / "compact")
    for one, other in zip(model.network.weights, again.network.weights, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)
    stored = (tmp_path / "compact/weights.npz").read_bytes()
    assert len(stored) < (tmp_path / "whole/model.keras").stat().st_size / 2
    (tmp_path / "compact/weights.npz").write_bytes(stored[:500])
    with pytest.raises(ValueError, match="expected a complete network"):
        load(tmp_path / "compact")


def test_damaged_folders_are_refused(model, tmp_path):
    with pytest.raises(ValueError, match="expected a model folder"):
        load(tmp_path)
    model.save(tmp_path / "run")
    whole = (tmp_path / "run/model.keras").read_bytes()
    (tmp_path / "run/model.keras").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="expected a complete network"):
        load(tmp_path / "run")
    (tmp_path / "run/config.json").write_text(json.dumps({"format": FORMAT, "system": "oracle"}))
    with pytest.raises(ValueError, match="Received: 'oracle'"):
        load(tmp_path / "run")
    (tmp_path / "run/config.json").write_text("{")
    with pytest.raises(ValueError, match="expected JSON"):
        load(tmp_path / "run")


def test_explain_draws_the_answer(model, tmp_path):
    figure = model.explain("badge")
    [answer] = model.answer(["badge"])
    labels = {text.get_text() for axes in figure.axes for text in [*axes.get_xticklabels(), *axes.get_yticklabels()]}
    assert {*"badge", *answer.tokens} <= labels
    figure.savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_mixed_precision_network():
    network = EncoderDecoder.of_symbols(LETTERS.size, SOUNDS.size, units=8, embedding=4, dtype="mixed_float16")
    logits = network({"text_ids": tf.constant([[3, 4, 0]]), "shifted": tf.constant([[1, 3]])})
    assert logits.dtype == tf.float16
    assert np.isfinite(logits).all()
    assert seq2seq(network, LETTERS, SOUNDS, max_target_length=4).answer(["abc", ""])[1].text == ""


def test_unknown_symbols_cannot_be_said_and_nothing_has_no_alternatives():
    rules = SymbolRules(("AH", "B"), tokenizer="spaces", unknown=True)
    model = small_seq2seq(LETTERS, rules, settings={"beam_width": 3, "alternatives": 2})
    found = model.log_likelihood(tf.constant(["AH B", "AH ZZ"]), text=tf.constant(["a", "a"])).numpy()
    assert np.isfinite(found[0])
    assert found[1] == -np.inf
    assert model.answer([""])[0].alternatives == ()
    assert len(model.answer(["a"])[0].alternatives) == 2


def test_an_answer_has_so_many_symbols_for_each_place_read_and_a_few_more():
    model = small_seq2seq(LETTERS, SOUNDS, settings={"max_length_ratio": 3})
    assert model.max_answer_length(5) == 3 * 5 + 8
    assert model.max_answer_length(tf.constant([0, 2])).numpy().tolist() == [8, 14]
    bias = model.network.decoder.output_bias
    bias.assign(tf.one_hot(SOUNDS.encode("K")[0], SOUNDS.size, 99.0))  # never ends
    assert [len(answer.tokens) for answer in model.answer(["a", "abc", ""])] == [11, 17, 0]
    free = small_seq2seq(LETTERS, SOUNDS, max_target_length=30, settings={"max_length_ratio": 0})
    assert free.max_answer_length(5) == 30
    assert free.max_answer_length(tf.constant([0, 2])).numpy().tolist() == [30, 30]
