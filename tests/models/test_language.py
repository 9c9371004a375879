import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.edge import assert_same_on_the_edge
from support.systems import language_model

from seqattn_tf.decoding.sample import drawing
from seqattn_tf.export.comparison import difference
from seqattn_tf.export.package import export_model
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.lite.text.rules import BEGIN, END
from seqattn_tf.models.base import load
from seqattn_tf.models.draws import keys_of, noise
from seqattn_tf.models.language import LanguageNetwork, packed

LETTERS = SymbolRules(tuple("abcdefgh"))
WORDS = SymbolRules(("the", "cat", "sat", "on", "mat"), tokenizer="spaces", unknown=True)


def model_of(rules, **settings):
    keras.utils.set_random_seed(2)
    network = LanguageNetwork(rules.size, units=8, embedding=6, dropout=0.3)
    network.build()
    for weight in network.weights:  # far from uniform, so that choices are unambiguous
        weight.assign(3 * weight.numpy())
    return language_model(network, rules, max_source_length=20, max_target_length=9, **settings)


@pytest.fixture(scope="module")
def model():
    return model_of(LETTERS)


@pytest.fixture(scope="module")
def words():
    return model_of(WORDS, temperature=0.0)


def surprises(model, ids):
    """Return the negative log-likelihood of each id and of the end in nats, step by step."""
    memory, state = model.network.begin(1)
    found = []
    for before, after in zip([BEGIN, *ids], [*ids, END], strict=True):
        logits, _, state = model.network.step(tf.constant([before]), state, memory)
        found.append(-float(tf.nn.log_softmax(tf.cast(logits, tf.float32))[0, after]))
    return found


def test_steps_give_what_all_at_once_gives():
    network = LanguageNetwork(LETTERS.size, units=8, embedding=6, depth=2, tie_embeddings=True)
    tokens = tf.constant([[1, 4, 5, 9], [1, 3, 3, 10]])
    logits = network({"shifted": tokens})
    memory, state = network.begin(2)
    for time in range(4):
        one, weights, state = network.step(tokens[:, time], state, memory)
        np.testing.assert_allclose(one, logits[:, time], atol=1e-5)
        assert weights.shape == (2, 0)


@pytest.mark.parametrize(("units", "tie_embeddings"), [(8, True), (6, True), (6, False)])
def test_every_argument_of_the_network_is_saved(units, tie_embeddings, tmp_path):
    given = {
        "size": 9,
        "units": units,
        "embedding": 6,
        "cell": "gru",
        "depth": 2,
        "dropout": 0.2,
        "tie_embeddings": tie_embeddings,
    }
    network = LanguageNetwork(**given)
    network.build()
    assert given.items() <= network.get_config().items()
    inputs = {"shifted": tf.constant([[1, 4, 3], [1, 8, 2]])}
    network.save(tmp_path / "n.keras")
    again = keras.models.load_model(tmp_path / "n.keras")
    np.testing.assert_allclose(again(inputs), network(inputs), atol=1e-6)
    count = 9 * 6 + 9 + (0 if tie_embeddings and units == 6 else units * (6 if tie_embeddings else 9))
    layers = sum(3 * units * (n + units + 2) for n in (6, units))
    assert network.count_params() == count + layers


def test_wrong_settings_are_refused(model):
    for name, value in (("size", 0), ("units", 2.5), ("depth", 0)):
        with pytest.raises(ValueError, match=f"{name}: expected a positive integer"):
            LanguageNetwork(**{"size": 9, name: value})
    for name, value in (("temperature", -1), ("top_p", 0), ("top_k", -1), ("beam_width", -1)):
        with pytest.raises(ValueError, match=f"{name}: expected"):
            language_model(model.network, LETTERS, **{name: value})


def test_answer_goes_on_from_the_text(model):
    for text, answer in zip(["abc", "h"], model.answer(["abc", "h"]), strict=True):
        assert answer.text.startswith(text)
        assert answer.text == "".join(answer.tokens)
        assert not answer.attention
        assert answer.score < 0


def test_one_seed_one_answer_whatever_stands_beside(model):
    texts = ["abc", "h", "", "deadbeef", "abc", "bad"]
    together = model.answer(texts)
    assert together[0].text == together[4].text
    for answer, text in zip(together, texts, strict=True):
        [alone] = model.answer([text])
        assert (alone.text, alone.tokens) == (answer.text, answer.tokens)
        assert alone.score == pytest.approx(answer.score, abs=1e-5)
    other = model.with_settings(seed=7)
    assert [a.text for a in other.answer(texts)] != [a.text for a in together]


def test_score_is_the_likelihood_of_the_answer(model, words):
    for one, texts in ((model, ["abc", "h", "", "a1b", "?"]), (words, ["the cat", "dog sat", ""])):
        answers = one.answer(texts)
        found = one.log_likelihood(tf.constant([answer.text for answer in answers]), text=tf.constant(texts)).numpy()
        for text, answer, likelihood in zip(texts, answers, found, strict=True):
            prompt = [i for i in one.rules.encode(text) if i]
            said = answer.tokens[sum(i >= len(one.rules.special) for i in prompt) :]
            nats = surprises(one, prompt + [one.rules.ids[token] for token in said])[len(prompt) :]
            assert likelihood == pytest.approx(-sum(nats), abs=1e-4)
            cut = len(said) == one.target.limit
            assert answer.score == pytest.approx(-sum(nats[:-1] if cut else nats), abs=1e-4)


def test_likelihood_has_limits(model):
    texts, answers = ["ab", "ab", "ab", "abc"], ["ab", "ba", "abz", "ab"]
    values = model.log_likelihood(tf.constant(answers), text=tf.constant(texts)).numpy()
    assert values[0] == pytest.approx(-surprises(model, LETTERS.encode("ab"))[-1], abs=1e-4)
    assert values[1:].tolist() == [-np.inf] * 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="answer: expected one for each row"):
        model.log_likelihood(tf.constant(["a"]), text=tf.constant(["a", "b"]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="answer: expected at most 29 symbols"):
        model.log_likelihood(tf.constant(["a" * 30]), text=tf.constant(["a"]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="text_ids: expected at most 20 symbols"):
        model.serve_tensors(text_ids=tf.ones([1, 21], tf.int32), text_lengths=tf.constant([21]))


@pytest.mark.parametrize("text", ["", "  ", "123", "日本語", b"\xff\xfe"])
def test_nothing_readable_begins_from_nothing(model, text):
    [answer], [empty] = model.answer([text]), model.answer([""])
    assert (answer.text, answer.score) == (empty.text, empty.score)


def test_unknown_symbols_are_skipped_or_read_as_unknown(model, words):
    assert model.answer(["a1b2"])[0].text == model.answer(["ab"])[0].text
    [answer] = words.answer(["the dog"])
    assert answer.text.startswith("the")
    assert answer.score != words.answer(["the"])[0].score


def test_too_long_and_wrong_types_are_refused(model):
    with pytest.raises(ValueError, match=r"text: expected at most 20 symbols\. Received: 100000"):
        model.answer(["ab", "a" * 100_000])
    with pytest.raises(ValueError, match="expected a list of rows"):
        model.answer("abc")
    assert model.answer([]) == []


def test_ways_of_going_on(model):
    """Greedy decoding is sampling at a temperature near 0; a beam finds nothing less probable."""
    texts = ["ab", "c", "hg"]
    ways = [{"temperature": 0.0}, {"temperature": 1e-4, "top_k": 3, "top_p": 0.9}, {"beam_width": 4}]
    found = [language_model(model.network, LETTERS, 20, 3, **way).answer(texts) for way in ways]
    assert [a.text for a in found[1]] == [a.text for a in found[0]]
    for greedy, wide in zip(found[0], found[2], strict=True):
        assert wide.score >= greedy.score - 1e-5


def test_draws_follow_the_probabilities():
    rows = 4000
    logits = tf.tile(tf.math.log([[0.5, 0.3, 0.15, 0.05]]), [rows, 1])
    keys = keys_of(tf.range(1, rows + 1)[:, None], seed=5)
    ways = {(0, 1.0): [0.5, 0.3, 0.15, 0.05], (3, 1.0): [0.526, 0.316, 0.158, 0], (0, 0.75): [0.625, 0.375, 0, 0]}
    for (top_k, top_p), expected in ways.items():
        for time in (0, 1):
            drawn, _ = drawing(1.0, top_k, top_p, lambda left, at: noise(left.shape[-1], keys, at))(
                logits, tf.constant(time)
            )
            np.testing.assert_allclose(np.bincount(drawn, minlength=4) / rows, expected, atol=0.03)


def test_noise_of_one_text_is_not_that_of_another():
    ids = tf.constant([[3, 4, 5], [3, 4, 6], [4, 3, 5], [3, 4, 0]])
    keys = tf.concat([keys_of(ids, seed) for seed in (0, 1)], axis=0)
    values = np.concatenate([noise(500, keys, time) for time in (0, 1)])  # 16 rows: texts, seeds, times
    assert np.abs(np.corrcoef(values) - np.eye(16)).max() < 0.2
    assert 0 < values.min() < values.max() < 1
    assert keys_of(tf.zeros([2, 0], tf.int32), 3).shape == (2,)


def test_saved_folder_rebuilds_the_model(words, tmp_path):
    settings = {"temperature": 0.7, "top_k": 4, "top_p": 0.9, "seed": 3, "beam_width": 0}
    model = language_model(words.network, WORDS, max_source_length=11, max_target_length=5, **settings)
    assert model.settings == settings
    model.save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.settings == settings
    assert (again.source.limit, again.target.limit) == (11, 5)
    assert [a.text for a in again.answer(["the", ""])] == [a.text for a in model.answer(["the", ""])]


@pytest.mark.traced
def test_sampling_is_the_same_on_the_edge(model, tmp_path):
    assert_same_on_the_edge(model, tmp_path, ["abc", "", "c"])


@pytest.mark.slow
@pytest.mark.traced
def test_all_forms_say_the_same(model, tmp_path):
    """Includes sampling in LiteRT with built-in ops."""
    exported = export_model(model, tmp_path / "models/m", {})
    assert exported.agreeing == {"SavedModel": 105, "LiteRT": 105}
    [edge], [here] = LiteModel(exported.lite).answer(["abc"]), model.answer(["abc"])
    assert difference(here, edge, 1e-4) == ""


def test_measure_of_sentences_is_a_plain_loop(words):
    texts = ["the cat sat", "", "a dog on the mat", "cat"]
    nats, symbols = words.measure(texts, batch_size=2)
    expected = [surprises(words, WORDS.encode(text)) for text in texts]
    assert symbols == sum(map(len, expected)) == 13
    assert nats == pytest.approx(sum(map(sum, expected)), rel=1e-5)


def test_measure_of_a_stream_scores_each_symbol_once_after_half_a_window(model):
    text = "abcdefghhgfedcba" + "ba" * 5  # 26 symbols
    ids = LETTERS.encode(text)
    nats, symbols = model.measure([text, ""], window=8, batch_size=3)
    expected = sum(surprises(model, ids[:8])[:8])
    for start in range(4, 22, 4):
        expected += sum(surprises(model, ids[start : start + 8])[4:-1])
    assert symbols == 26
    assert nats == pytest.approx(expected, rel=1e-5)
    assert model.measure(["abz"], window=8) == (math.inf, 3)
    spaced = language_model(LanguageNetwork(5, units=4), SymbolRules(("a", " ")))
    assert spaced.measure([" a "], window=2)[1] == 3  # spaces at the ends count
    with pytest.raises(ValueError, match="window: expected 0 or an even number"):
        model.measure(["abc"], window=3)


def test_explain_draws_every_symbol(model, tmp_path):
    figure = model.explain("bad")
    [answer] = model.answer(["bad"])
    shown = [text.get_text() for text in figure.axes[0].texts]
    assert shown[:-1] == list(answer.tokens)
    assert "bits" in shown[-1]
    figure.savefig(tmp_path / "a.png")


def test_packed_moves_symbols_to_the_front():
    ids = tf.constant([[0, 5, 0, 7], [0, 0, 0, 0], [1, 2, 3, 4]])
    assert packed(ids).numpy().tolist() == [[5, 7, 0, 0], [0, 0, 0, 0], [1, 2, 3, 4]]
    assert packed(tf.zeros([2, 0], tf.int32)).shape == (2, 0)


def test_mixed_precision():
    network = LanguageNetwork(LETTERS.size, units=8, embedding=8, tie_embeddings=True, dtype="mixed_float16")
    logits = network({"shifted": tf.constant([[1, 3]])})
    assert logits.dtype == tf.float16
    assert np.isfinite(logits).all()
    assert len(language_model(network, LETTERS, max_target_length=3).answer(["abc", ""])) == 2


@pytest.mark.parametrize(("cell", "count"), [("lstm", 2), ("gru", 1)])
def test_states_are_those_of_reading_a_step_at_a_time(cell, count):
    network = LanguageNetwork(LETTERS.size, units=8, embedding=6, cell=cell, depth=2)
    model = language_model(network, LETTERS)
    symbols, layers = model.states("badz cab")
    assert symbols == list("badz cab")
    assert [[state.shape for state in layer] for layer in layers] == [[(8, 8)] * count] * 2
    memory, state = network.begin(1)
    _, _, state = network.step(tf.constant([BEGIN]), state, memory)
    for time, symbol in enumerate(symbols):
        _, _, state = network.step(tf.constant([LETTERS.ids.get(symbol, 0)]), state, memory)
        for layer, own in zip(layers, state, strict=True):
            for found, expected in zip(layer, own, strict=True):
                np.testing.assert_allclose(found[time], expected[0], atol=1e-6)


def test_states_of_words_and_of_nothing(words):
    symbols, [[outputs, _]] = words.states(" the dog sat ")
    assert symbols == ["the", "dog", "sat"]
    assert outputs.shape == (3, 8)
    symbols, [[outputs, _]] = words.states("")
    assert symbols == []
    assert outputs.shape == (0, 8)
    with pytest.raises(ValueError, match="texts: expected a list of strings"):
        words.states(7)
