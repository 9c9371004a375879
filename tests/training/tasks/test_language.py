"""Language models trained on small generated texts."""

import dataclasses
import math

import numpy as np
import pytest
import tensorflow as tf
from support.slow import slow

from seqattn_tf.models import load
from seqattn_tf.training import evaluation, recipes, run
from seqattn_tf.training.data import Example, Splits
from seqattn_tf.training.ngrams import KneserNey
from seqattn_tf.training.tasks.language import LanguageSettings, LanguageTask

pytestmark = pytest.mark.usefixtures("as_traced")

TINY = {
    "units": 24,
    "embedding": 16,
    "depth": 1,
    "dropout": 0.0,
    "epochs": 5,
    "learning_rate": 0.03,
    "warmup_steps": 5,
    "patience": 3,
}
LINE = "the cat sat on the mat and the dog sat on the cat\n"


@pytest.fixture(scope="module")
def plays(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plays")
    (folder / "plays.txt").write_text(LINE * 60)
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    lines = ["the/at cat/nn sat/vb", "a/at dog/nn sat/vb ./.", "the/at cat/nn ran/vb ./."]
    (folder / "brown.txt").write_text("\n".join(lines * 80))
    return folder


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("First Citizen:\nBefore we proceed", "First Citizen:\nBefore we"),
        ("a b", "a b"),
        ("", ""),
        ("語" * 500, "語" * 60),
    ],
)
def test_a_text_is_shown_by_its_beginning(text, asked):
    assert LanguageTask().model_inputs(Example("key", {}, text)) == {"text": asked}


@pytest.mark.slow
def test_characters_of_a_text_are_learned(plays, tmp_path):
    recipe = recipes.get("char_lm")
    settings = dataclasses.replace(
        recipe.small, sequence_length=24, batch_size=4, max_target_length=30, temperature=0.0, **TINY
    )
    model = run.train(recipe, settings, tmp_path / "run", plays)
    report = evaluation.evaluate(tmp_path / "run", plays)
    assert set(report.metrics) == {"bits"}
    assert report.metrics["bits"] < 1  # 3.4 without any context
    [answer] = model.answer(["the cat"])
    assert answer.text.startswith("the cat")
    assert load(tmp_path / "run").answer(["the cat"])[0].text == answer.text
    with pytest.raises(ValueError, match="contains a run with other settings"):
        run.train(recipe, dataclasses.replace(settings, sequence_length=25), tmp_path / "run", plays)


@pytest.mark.parametrize("softmax", ["sampled", slow("adaptive")])
def test_a_large_vocabulary_is_learned_by_parts_and_measured_whole(softmax, corpus, tmp_path):
    recipe = recipes.get("word_lm")
    settings = dataclasses.replace(
        recipe.small, softmax=softmax, num_sampled=5, batch_size=16, tie_embeddings=False, temperature=0.0, **TINY
    )
    model = run.train(recipe, settings, tmp_path / "run", corpus)
    [answer], [again] = model.answer(["the cat"]), load(tmp_path / "run").answer(["the cat"])
    assert answer.text == again.text
    assert model.network.settings["softmax"] == softmax
    figures = evaluation.evaluate(tmp_path / "run", corpus).metrics
    assert figures["perplexity"] < 4  # 10 before training
    texts = [example.target for example in run.open_splits(recipe, settings, corpus).test[:3]]
    rules, lost, count = model.rules, 0.0, 0
    for text in texts:
        ids = [*rules.encode(text), 2]
        chances = tf.nn.softmax(model.network({"shifted": tf.constant([[1, *ids[:-1]]])}))[0].numpy()
        np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-5)
        lost, count = lost - np.log(chances[np.arange(len(ids)), ids]).sum(), count + len(ids)
    assert model.measure(texts) == (pytest.approx(lost, rel=1e-4), count)


def test_a_part_of_the_words_is_smoothed_over_by_nothing():
    with pytest.raises(ValueError, match=r"label_smoothing: expected 0 unless softmax=full\. Received: 0\.1"):
        LanguageSettings(softmax="sampled", label_smoothing=0.1)


@pytest.mark.slow
def test_sentences_of_words_are_learned(corpus, tmp_path):
    recipe = recipes.get("word_lm")
    settings = dataclasses.replace(recipe.small, batch_size=4, min_count=1, temperature=0.0, **TINY)
    model = run.train(recipe, settings, tmp_path / "run", corpus)
    splits = recipe.load(corpus, settings)
    report = evaluation.evaluate(tmp_path / "run", corpus)
    assert set(report.metrics) == {"perplexity", "kneser_ney_5"}
    assert report.metrics["perplexity"] < 1.5  # three sentences, so at least 1.27
    assert model.answer(["a"])[0].text == "a dog sat ."
    baselines = recipe.task.baselines(model, splits.train, splits.test)
    texts = [[example.target for example in part] for part in (splits.train, splits.test)]
    expected = KneserNey(texts[0], 5, model.source.rules.symbols).perplexity(texts[1])
    assert baselines == {"kneser_ney_5": pytest.approx(expected)}


def test_what_the_model_and_the_n_grams_count_is_the_same(corpus):
    """With zero weights, the perplexity is the size of the vocabulary, including the end and the unknown word."""
    task, splits = LanguageTask(order=5), recipes.get("word_lm").load(corpus, None).at_most(0)
    model = task.build(LanguageSettings(tokenizer="spaces", min_count=81, **TINY), splits.train)
    for weight in model.network.weights:
        weight.assign(tf.zeros_like(weight))
    assert set(model.source.rules.symbols) == {"the", "cat", "sat", "."}
    assert task.measure(model, splits.test).metrics["perplexity"] == pytest.approx(model.source.rules.size)
    assert model.measure(["the dog ran ."])[1] == 5
    assert task.baselines(model, splits.train, splits.test)["kneser_ney_5"] < 4


def test_stretches_are_of_the_text_and_begin_elsewhere_every_epoch():
    text = "".join(chr(200 + i) for i in range(103))
    splits = Splits([Example("", {}, text)], [Example("", {}, "x")], [Example("", {}, "x")], "made").at_most(0)
    task, settings = LanguageTask(window=8), LanguageSettings(sequence_length=10, batch_size=4, **TINY)
    training = task.open(settings, splits)
    rules = training.model.source.rules
    assert training.steps == 2
    assert task.open(dataclasses.replace(settings, max_examples=5), splits).steps == 1
    epochs = []
    for epoch in range(4):
        starts = set()
        for inputs, targets in training.batches(epoch).take(training.steps):
            [(name, shifted)] = inputs.items()
            assert (name, shifted.shape, targets.shape) == ("shifted", (4, 10), (4, 10))
            assert (shifted[:, 0].numpy() == 1).all()
            assert (shifted[:, 1:].numpy() == targets[:, :-1].numpy()).all()
            for row in targets.numpy():
                said = "".join(rules.names(row))
                assert len(said) == 10
                assert said in text
                starts.add(text.index(said))
        assert len({start % 10 for start in starts}) == 1
        epochs.append(frozenset(starts))
    assert len(set(epochs)) > 1
    later = [targets.numpy().tolist() for _, targets in training.batches(1, 1).take(3)]
    assert later == [targets.numpy().tolist() for _, targets in training.batches(0).skip(3).take(3)]


def test_spaces_at_the_ends_are_part_of_a_text(plays):
    splits = recipes.get("char_lm").load(plays, None).at_most(0)
    task = recipes.get("char_lm").task
    model = task.build(LanguageSettings(**TINY), splits.train)
    [example] = splits.test
    assert model.measure([example.target], window=512)[1] == len(example.target)
    assert len(model.stream(" \n")) == 2
    assert min(model.stream(" \n")) > 3


def test_a_symbol_never_seen_is_finite(plays):
    task = LanguageTask(window=8)
    model = task.build(LanguageSettings(**TINY), recipes.get("char_lm").load(plays, None).at_most(0).train)
    assert math.isfinite(task.measure(model, [Example("", {}, "the ¿ cat")]).metrics["bits"])


def test_faults_are_said():
    one = Splits([Example("", {}, "aaaa")], [Example("", {}, "a")], [Example("", {}, "a")], "made")
    with pytest.raises(ValueError, match="vocabulary: expected at least two symbols"):
        LanguageTask(window=8).open(LanguageSettings(**TINY), one.at_most(0))
    two = dataclasses.replace(one, train=[Example("", {}, "ab")])
    settings = LanguageSettings(sequence_length=9, **TINY)
    with pytest.raises(ValueError, match=r"expected at least 9 symbols \(sequence_length\)\. Received: 2"):
        LanguageTask(window=8).open(settings, two.at_most(0))
    for name in ("sequence_length", "max_source_length", "max_target_length"):
        with pytest.raises(ValueError, match=rf"{name}: expected at least 1\. Received: 0"):
            LanguageSettings(**{name: 0})
    long = dataclasses.replace(one, train=[Example("", {}, "ab"), Example("", {}, "ab" * 300)])
    with pytest.warns(
        UserWarning,
        match=r"1 of 2 training examples are too long; skipped: target has up to \d+ positions, the maximum is \d+",
    ):
        assert LanguageTask().open(settings, long.at_most(0)).rows.tolist() == [0]


def test_a_sentence_is_its_symbols_and_its_end():
    splits = Splits(
        [Example("", {}, "a b"), Example("", {}, "b")], [Example("", {}, "a")], [Example("", {}, "a")], "made"
    )
    task, settings = LanguageTask(), LanguageSettings(tokenizer="spaces", batch_size=2, **TINY)
    training = task.open(settings, splits.at_most(0))
    [(inputs, targets)] = training.batches(0).take(training.steps)
    a, b = (training.model.source.rules.ids[word] for word in "ab")
    assert list(inputs) == ["shifted"]
    assert np.array_equal(targets, [[b, 2, 0], [a, b, 2]])
    assert np.array_equal(inputs["shifted"], [[1, b, 2], [1, a, b]])


@pytest.mark.parametrize("split", ["words", "letters"])
def test_a_long_text_may_be_cut_into_other_symbols(split, plays):
    recipe = recipes.get("char_lm")
    settings = dataclasses.replace(recipe.small, tokenizer=split, sequence_length=16, batch_size=4, max_examples=9)
    training = recipe.task.open(settings, run.open_splits(recipe, settings, plays))
    assert len(list(training.batches(training.settings.epochs - 1))) == training.steps == 2
