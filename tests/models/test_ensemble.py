"""Ensembles compared with their members: mean probabilities, every short answer, and both directions."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from support.edge import assert_same_on_the_edge
from support.slow import slow
from support.systems import teller, text_classifier, text_network
from support.varied import LETTERS, SOUNDS, TEXTS, varied

from seqattn_tf.encoders import GridEncoder
from seqattn_tf.export.comparison import difference
from seqattn_tf.export.package import export
from seqattn_tf.lite.fields import Image, Text
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.lite.text.rules import BEGIN, END
from seqattn_tf.models import (
    Captioner,
    CaptionNetwork,
    EncoderDecoder,
    Ensemble,
    EnsembleNetwork,
    PointerNetwork,
    Seq2Seq,
    load,
)
from seqattn_tf.models.networks.ensemble import log_mean

LIMIT = 3
EVERY = sum(4**length for length in range(LIMIT + 1))  # a beam width that covers all answers
BACKWARDS = "right_to_left"
SAYABLE = [SOUNDS.ids[name] for name in SOUNDS.symbols]
ANSWERS = [ids for count in range(LIMIT + 1) for ids in itertools.product(SAYABLE, repeat=count)]


def one(seed, direction="left_to_right", limit=LIMIT, network=None, **settings):
    target = Symbols(SOUNDS, limit, direction)
    return Seq2Seq(network or varied(seed), {"text": Text(LETTERS)}, target, **settings)


@pytest.fixture(scope="module")
def forwards():
    """Two models with different values of everything that may differ."""
    return [one(5), one(3, network=varied(3, units=5, cell="lstm", decoder="luong", encoder="forward"))]


@pytest.fixture(scope="module")
def backwards():
    return [one(4, BACKWARDS), one(6, BACKWARDS)]


@pytest.fixture(scope="module")
def both(forwards, backwards):
    return Ensemble.of([*forwards, *backwards])


def said(ids):
    return " ".join(SOUNDS.names(ids))


def steps(networks, text, answers):
    """Return the logarithms `[answers, steps, symbols]` of mean probabilities, and mean weights, by teacher forcing."""
    tensors = {"text_ids": tf.constant([LETTERS.encode(text)] * len(answers))}
    shifted = tf.constant([[BEGIN, *ids, *[0] * (LIMIT - len(ids))] for ids in answers])
    shares, looks = [], []
    for network in networks:
        read = network.encoder(tensors)
        logits, weights = network.decoder(shifted, read.values, mask=read.mask, summary=read.summary)
        powers = np.exp(logits.numpy().astype("float64"))
        shares.append(powers / powers.sum(-1, keepdims=True))
        looks.append(weights.numpy())
    return np.log(np.mean(shares, axis=0)), np.mean(looks, axis=0)


def scored(models, text, answers=ANSWERS, cut=True):
    """Return the log-probability of each answer; if `cut`, answers of maximum length have no end."""
    table, _ = steps([model.network for model in models], text, answers)
    whole = [(*ids, END) if len(ids) < LIMIT or not cut else ids for ids in answers]
    return np.array([table[row, range(len(ids)), ids].sum() for row, ids in enumerate(whole)])


def ranked(models, text, penalty=0.0, rescorers=()):
    """Return every answer by its rank, as `(text, score)`."""
    scores = scored(models, text)
    if rescorers:
        scores = (scores + scored(rescorers, text, [ids[::-1] for ids in ANSWERS], cut=False)) / 2
    ranks = scores / ((5 + np.array([len(ids) for ids in ANSWERS])) / 6) ** penalty
    return [(said(ANSWERS[place]), scores[place]) for place in np.argsort(-ranks)]


def given(answer):
    return [(answer.text, answer.score), *answer.alternatives]


def assert_given(answer, expected, tolerance=1e-4):
    assert [text for text, _ in given(answer)] == [text for text, _ in expected]
    np.testing.assert_allclose([score for _, score in given(answer)], [score for _, score in expected], atol=tolerance)


def test_the_mean_of_probabilities():
    logits = np.random.default_rng(0).normal(size=(3, 4, 5)).astype("float32") * 4
    shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    np.testing.assert_allclose(np.exp(log_mean(list(logits))), shares.mean(0), rtol=1e-5)
    # The probability is too small for a float.
    far = log_mean([tf.constant([[0.0, -300.0]]), tf.constant([[0.0, -400.0]])])
    np.testing.assert_allclose(far, [[-np.log(2) + np.log(2), -300 - np.log(2)]], rtol=1e-5, atol=1e-6)


WIDE = {"beam_width": 4, "alternatives": 3, "length_penalty": 0.7}
COVERAGE, STACKED = {"score": "coverage"}, {"decoder": "stacked", "cell": "lstm"}


@pytest.mark.parametrize(
    ("network", "settings"),
    [(COVERAGE, {}), (STACKED, WIDE), slow({}, {}), slow({}, WIDE), slow(COVERAGE, WIDE), slow(STACKED, {})],
)
def test_one_alone_is_itself(network, settings):
    model = one(5, network=varied(5, **network), limit=5, **settings)
    ensemble = Ensemble.of([model])
    assert ensemble.settings == model.settings
    assert ensemble.score_meaning == model.score_meaning
    for found, expected in zip(ensemble.answer(TEXTS), model.answer(TEXTS), strict=True):
        assert difference(expected, found, 1e-5) == ""
    asked = {"answer": tf.constant(["A B", "", "X"]), "text": tf.constant(["a", "ab", "c"])}
    np.testing.assert_allclose(ensemble.log_likelihood(**asked), model.log_likelihood(**asked), atol=1e-5)


def test_the_likelihood_is_by_the_mean_probability_of_every_step(forwards, both):
    texts = [said(ids) for ids in ANSWERS]
    expected = scored(forwards, "cab", cut=False)
    for ensemble in (Ensemble.of(forwards), both):  # rescorers have no influence on the likelihood
        found = ensemble.log_likelihood(tf.constant(texts), text=tf.constant(["cab"] * len(texts)))
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_greedy_takes_the_best_of_the_mean_at_every_step(forwards):
    ensemble = Ensemble.of(forwards)
    for text, answer in zip(("a", "cab", "bb"), ensemble.answer(["a", "cab", "bb"]), strict=True):
        tokens = ()
        while len(tokens) < LIMIT:
            step = steps([model.network for model in forwards], text, [tokens])[0][0, len(tokens)]
            best = max([*SAYABLE, END], key=lambda symbol: step[symbol])
            if best == END:
                break
            tokens = (*tokens, best)
        assert answer.text == said(tokens)
        assert answer.score == pytest.approx(scored(forwards, text, [tokens])[0], abs=1e-4)


@pytest.mark.parametrize("penalty", [slow(0.0), 1.5])
def test_a_beam_wide_enough_finds_the_best_of_all_answers(forwards, penalty):
    ensemble = Ensemble.of(forwards, beam_width=EVERY, alternatives=9, length_penalty=penalty)
    for text, answer in zip(("a", "cab"), ensemble.answer(["a", "cab"]), strict=True):
        assert_given(answer, ranked(forwards, text, penalty)[:10])


def test_a_beam_whose_members_do_not_all_share_one_memory(forwards):
    """Coverage needs a separate state for every beam, so its memory and that of the other members are repeated."""
    models = [forwards[0], one(3, network=varied(3, score="coverage"))]
    [answer] = Ensemble.of(models, beam_width=EVERY, alternatives=9).answer(["cab"])
    assert_given(answer, ranked(models, "cab")[:10])


def test_attention_is_the_mean_of_all(forwards, both):
    for ensemble in (Ensemble.of(forwards), both):
        for text, answer in zip(("ab", "cab"), ensemble.answer(["ab", "cab"]), strict=True):
            ids = SOUNDS.encode(answer.text)
            _, weights = steps([model.network for model in forwards], text, [ids])
            look = answer.attention["text"]
            assert (look.queries, look.keys) == (answer.tokens, tuple(text))
            np.testing.assert_allclose(look.weights, weights[0, : len(ids)], atol=1e-5)


# Rescoring


@pytest.mark.parametrize("penalty", [slow(0.0), 1.5])
def test_both_directions_rank_all_answers(forwards, backwards, penalty):
    models = [backwards[0], *forwards, backwards[1]]
    ensemble = Ensemble.of(models, beam_width=EVERY, alternatives=9, length_penalty=penalty)
    turned = 0
    for text, answer in zip(("a", "cab"), ensemble.answer(["a", "cab"]), strict=True):
        expected = ranked(forwards, text, penalty, backwards)[:10]
        assert_given(answer, expected)
        turned += [text for text, _ in expected] != [text for text, _ in ranked(forwards, text, penalty)[:10]]
    assert turned


def test_what_a_narrow_beam_found_is_ranked_anew(forwards, backwards):
    texts = ["ab", "cab", "abcabcabcabc"]
    found = Ensemble.of(forwards, beam_width=4, alternatives=3).answer(texts)
    *judged, nothing = Ensemble.of([*forwards, *backwards], beam_width=4, alternatives=2).answer([*texts, ""])
    for text, before, after in zip(texts, found, judged, strict=True):
        answers = [SOUNDS.encode(answer)[::-1] for answer, _ in given(before)]
        other = scored(backwards, text, answers, cut=False)
        means = [((score + back) / 2, said) for (said, score), back in zip(given(before), other, strict=True)]
        assert_given(after, [(said, score) for score, said in sorted(means, reverse=True)[:3]])
        _, weights = steps([model.network for model in forwards], text, [SOUNDS.encode(after.text)])
        np.testing.assert_allclose(after.attention["text"].weights, weights[0, : len(after.tokens)], atol=1e-5)
    assert any(
        before.tokens[:1] != after.tokens[:1] and len(after.attention["text"].keys) > 1 < len(after.tokens)
        for before, after in zip(found, judged, strict=True)
    )
    assert (nothing.text, nothing.score, nothing.alternatives) == ("", -np.inf, ())


def test_fewer_answers_than_a_beam_are_no_more_with_rescorers():
    network = varied(5)
    network.decoder.output_bias.assign([0, 0, 0, -99, -99, -99, -99])  # every answer ends at once
    limited = [one(5, network=network, limit=1), one(8, BACKWARDS, limit=1)]
    ensemble = Ensemble.of(limited, beam_width=7, alternatives=6)
    [answer] = ensemble.answer(["ab"])
    assert len(answer.alternatives) == 4  # of one symbol each; the empty answer is the fifth
    assert all(np.isfinite(score) for _, score in given(answer))


def test_a_beam_of_one_asks_no_rescorer(forwards, both):
    alone, quick = Ensemble.of(forwards), both.with_settings(beam_width=1)
    assert quick.score_meaning == alone.score_meaning == "log-probability"
    for found, expected in zip(quick.answer(TEXTS), alone.answer(TEXTS), strict=True):
        assert difference(expected, found, 0) == ""


def test_settings_are_those_of_the_first_and_a_beam_where_there_is_something_to_rank(forwards, backwards, both):
    assert Ensemble.of(forwards).beam_width == 1
    assert both.beam_width == 4
    assert Ensemble.of([*forwards, *backwards], beam_width=2).beam_width == 2
    wide = [model.with_settings(beam_width=6, alternatives=2, max_length_ratio=3) for model in forwards]
    assert Ensemble.of([*wide, *backwards]).settings == wide[0].settings
    assert both.score_meaning == "mean log-probability of both directions"
    assert both.with_settings(length_penalty=0.5).score_meaning == (
        "mean log-probability with a length penalty of 0.5 of both directions"
    )


# Saved and exported


@pytest.mark.parametrize(("rescorers", "compact"), [(2, False), (0, True), slow(0, False), slow(2, True)])
def test_it_is_saved_and_loaded_like_any_other(forwards, backwards, tmp_path, rescorers, compact):
    model = Ensemble.of([*forwards, *backwards[:rescorers]])
    model.save(tmp_path / "run", {"recipe": "none"}, compact=compact)
    again = load(tmp_path / "run")
    assert isinstance(again, Ensemble)
    assert [len(again.network.members), len(again.network.rescorers)] == [2, rescorers]
    assert again.settings == model.settings
    for before, after in zip(model.network.weights, again.network.weights, strict=True):
        np.testing.assert_allclose(after, before, atol=4e-3 if compact else 0)
    if rescorers and not compact:
        for found, expected in zip(again.answer(TEXTS), model.answer(TEXTS), strict=True):
            assert difference(expected, found, 1e-6) == ""


@pytest.mark.traced
def test_both_directions_say_the_same_on_the_edge(tmp_path):
    models = [one(0, way, network=varied(5, encoder="forward")) for way in ("left_to_right", BACKWARDS)]
    model = Ensemble.of(models, beam_width=2, alternatives=1, length_penalty=0.5)
    assert_same_on_the_edge(model, tmp_path, TEXTS[:4], 1e-3)


@pytest.mark.slow
@pytest.mark.traced
def test_every_form_says_the_same(forwards, backwards, tmp_path):
    """Before they are published, both exports are compared with the Keras model in texts, scores and attention."""
    model = Ensemble.of([*forwards, backwards[0]], beam_width=3, alternatives=2, length_penalty=0.5)
    model.save(tmp_path / "run", {"examples": [{"text": text} for text in TEXTS]})
    done = export(tmp_path / "run", tmp_path / "models/m")
    assert done.agreeing["SavedModel"] == done.rows
    assert done.agreeing["LiteRT"] >= done.rows - 1
    for found, expected in zip(LiteModel(done.lite).answer(TEXTS), model.answer(TEXTS), strict=True):
        assert difference(expected, found, 1e-3) == ""


# Invalid arguments


def test_models_that_have_not_enough_in_common_are_refused(forwards, backwards):
    network = EncoderDecoder.of_symbols(LETTERS.size, SOUNDS.size, units=4)
    other = SymbolRules(tuple("ABCE"), tokenizer="spaces")
    for model, words in (
        (one(5, limit=9), r"the same limit of the target in all models\. Received: a different one in models\[1\]"),
        (Seq2Seq(network, {"text": Text(LETTERS)}, Symbols(other, LIMIT)), "the same rules of the target"),
        (Seq2Seq(network, {"text": Text(LETTERS, 9)}, Symbols(SOUNDS, LIMIT)), "the same input 'text'"),
        (teller(PointerNetwork(LETTERS.size, units=4), LETTERS), r"Received: 'rearranger' as models\[1\]"),
        (
            text_classifier(text_network(LETTERS.size, outputs=2), LETTERS, ("no", "yes")),
            "Received: 'classifier' as models",
        ),
        (Ensemble.of(forwards), r"encoder-decoder models\. Received: 'ensemble'"),
    ):
        with pytest.raises(ValueError, match=f"models: expected .*{words}"):
            Ensemble.of([forwards[0], model])
    with pytest.raises(ValueError, match=r"expected at least one with direction left_to_right\. Received: none"):
        Ensemble.of(backwards)
    with pytest.raises(ValueError, match="models: expected at least one"):
        Ensemble.of([])


def test_networks_that_look_at_other_places_or_say_other_symbols_are_refused(forwards):
    sees_all = EncoderDecoder.of_symbols(LETTERS.size, SOUNDS.size, units=4, conditioning="input")
    with pytest.raises(ValueError, match="members: expected networks with the same source positions"):
        EnsembleNetwork([forwards[0].network, sees_all])
    EnsembleNetwork([forwards[0].network], [sees_all])  # the attention of a rescorer is irrelevant
    larger = EncoderDecoder.of_symbols(LETTERS.size, SOUNDS.size + 1, units=4)
    with pytest.raises(ValueError, match=r"the same symbols\. Received: \[7, 8\]"):
        EnsembleNetwork([forwards[0].network], [larger])
    with pytest.raises(ValueError, match="members: expected encoder-decoders, one or more"):
        EnsembleNetwork([])


def test_an_ensemble_without_looks_answers_too():
    networks = [varied(seed, conditioning="input") for seed in (5, 6)]
    models = [one(0, network=network, beam_width=3) for network in networks]
    ensemble = Ensemble.of(models)
    assert ensemble.attention_maps == {}
    assert len(ensemble.answer(TEXTS)) == len(TEXTS)


def test_captions_of_a_picture_are_averaged_like_any_other():
    image, networks = Image(32, 32), []
    for units in (6, 8):
        networks.append(CaptionNetwork.of_pictures(GridEncoder("cnn", 32, 32, units=units), SOUNDS.size, units=units))
    models = [Captioner(network, {"image": image}, Symbols(SOUNDS, LIMIT), max_length_ratio=0) for network in networks]
    ensemble, pictures = Ensemble.of(models), image.sample_inputs(2)
    answers = tf.constant(["A", "B C"])
    each = [model.log_likelihood(answers[:1], image=tf.constant(pictures[:1])) for model in models]
    found = ensemble.log_likelihood(answers, image=tf.constant(pictures))
    assert min(each) - 1 < found[0] < max(each) + 1
    for answer in ensemble.answer(pictures):
        weights = answer.attention["image"].weights
        assert weights.shape == (len(answer.tokens), 4, 4)
        np.testing.assert_allclose(weights.sum(axis=(1, 2)), 1, atol=1e-5)
