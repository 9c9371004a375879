"""Every recipe: train, save, load, query and evaluate its small preset on a part of its data."""

import dataclasses
import functools
import warnings

import numpy as np
import pytest
from support import corpora
from support.tried import quick, tried

from seqattn_tf.training import evaluation, recipes, run
from seqattn_tf.training.data import from_text
from seqattn_tf.training.data.corpora import expressions, programs
from seqattn_tf.training.record import read_record

QUICK = {"units": 8, "embedding": 6, "batch_size": 16, "epochs": 1, "warmup_steps": 5, "max_examples": 64}
MORE = {
    "execute": {"num_programs": 200, "length": 1, "max_target_length": 4},
    "toy": {"num_examples": 200},
    "char_lm": {"sequence_length": 12, "max_target_length": 4},
    "word_lm": {"max_target_length": 4},
    "translate": {"vocabulary": 60, "max_target_length": 8},
    "summarize": {"max_target_length": 8},
    "dialog": {"max_target_length": 8},
    "entail_generate": {"max_target_length": 8},
    "entail": {"head_attention": "softmax", "compare_units": 8},
    "answer": {"attention_form": "chain", "hops": 1},
    "transduce": {"head_attention": "softmax", "num_examples": 200, "max_depth": 2, "max_target_length": 24},
}


LOOK = ("dialog", "entail_generate", "execute", "pronounce", "summarize", "translate", "transliterate")


LOOKS = {
    "tag": {"text"},
    "parse": {"text"},
    "sentiment": {"text_nodes"},
    "classify": {"text", "text_lines"},
    "entail": {"premise", "hypothesis", "premise_heads", "hypothesis_heads"},
    "answer": {"story_lines"},
    "transduce": {"text", "text_heads"},
}


SENSES = (
    "answer_image",
    "caption",
    "caption_video",
    "classify_video",
    "transcribe",
    "image_to_latex",
)  # not texts: tested elsewhere
READS = [name for name in recipes.PACKAGED if name not in SENSES]


@pytest.fixture(autouse=True)
def few_held_out(monkeypatch):
    """Hold out only a few generated examples, to save time."""
    for made in (programs, expressions):
        monkeypatch.setattr(made, "load", functools.partial(made.load, held=20))


def opened(name, folder, monkeypatch):
    """Return a recipe with its settings, a little data and an input."""
    recipe = recipes.get(name)
    assert name == recipe.name
    folder.mkdir()
    data, text = corpora.write(name, folder)
    settings = dataclasses.replace(recipe.small, **QUICK, **MORE.get(name, {}))
    return recipe, settings, data, text


def check(name, answer):
    assert set(answer.attention) == LOOKS.get(name, {"text"} if name in LOOK else set())
    for look in answer.attention.values():
        assert look.weights.shape == (len(look.queries), len(look.keys))
        if name in LOOK:
            assert look.queries == answer.tokens
            np.testing.assert_allclose(look.weights.sum(axis=1), 1, atol=1e-5)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("name", READS)
def test_small_preset_learns_answers_and_is_measured(name, tmp_path, monkeypatch):
    recipe, settings, data, text = opened(name, tmp_path / "data", monkeypatch)
    settings = dataclasses.replace(quick(settings), batch_size=4)
    _, answer, _ = tried(recipe, settings, _few(run.open_splits(recipe, settings, data)), text)
    check(name, answer)


@pytest.mark.slow
@pytest.mark.parametrize("name", READS)
def test_small_preset_trains_saves_reloads_and_answers(name, tmp_path, monkeypatch):
    recipe, settings, data, text = opened(name, tmp_path / "data", monkeypatch)
    model = run.train(recipe, settings, tmp_path / "run", data)
    [answer] = model.answer([text])  # `train` returns the model loaded from the folder
    check(name, answer)
    assert model.explain(text).axes or not any(look.weights.size for look in answer.attention.values())
    report = evaluation.evaluate(tmp_path / "run", data)
    assert recipe.task.monitor in report.metrics
    assert all(np.isfinite(value) for value in report.metrics.values()), report.metrics
    assert read_record(tmp_path / "run")["examples"]  # examples for its page


def _few(splits):
    return dataclasses.replace(splits, dev=splits.dev[:3], test=splits.test[:3])


def test_a_curriculum_is_learned_in_its_order():
    """An ordered task gives each epoch its own part of the examples, in order."""
    recipe = recipes.get("execute")
    settings = dataclasses.replace(
        recipe.small, num_programs=120, batch_size=10, epochs=3, curriculum="naive", nesting=2
    )
    training = recipe.task.open(settings, run.open_splits(recipe, settings, None))
    assert len(training.rows) == 120
    assert training.steps == 4
    seen = [inputs["text_ids"].numpy() for inputs, _ in training.batches(0)]
    assert len(seen) == 12
    rules, train = training.model.inputs["text"].rules, training.splits.train
    for epoch in range(3):
        rows = [row[row > 0].tolist() for batch in seen[epoch * 4 : epoch * 4 + 4] for row in batch]
        expected = [rules.encode(example.key) for example in train[epoch * 40 : epoch * 40 + 40]]
        assert sorted(rows) == sorted(expected)
    later = [inputs["text_ids"].numpy() for inputs, _ in training.batches(2)]
    assert [batch.tolist() for batch in later] == [batch.tolist() for batch in seen[8:]]


@pytest.mark.filterwarnings("ignore:64 of 64 training examples are too long")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text_column": "fr"}, r"(?s)expected.*de.*en.*fr|fr"),
        (
            {"max_source_length": 2},
            r"development split: expected text of at most 2 positions \(max_source_length for text\)",
        ),
        ({"max_target_length": 0}, "max_target_length: expected at least 1"),
        ({"max_length_ratio": -1}, "max_length_ratio: expected at least 0"),
        ({"length_penalty": -1.0}, "length_penalty: expected a number of at least 0"),
        ({"beam_width": 0}, "beam_width: expected at least 1"),
        ({"alternatives": 9}, "alternatives: expected at least 0 and less than beam_width = 5"),
        ({"vocabulary": -1}, "vocabulary: expected at least 0"),
        ({"min_count": 0}, "min_count: expected at least 1"),
        ({"max_target_length": 1}, "train: expected at least one usable example"),
        ({"align": "heads"}, "align: expected an alignment from a query to positions"),
        (
            {"encoder": "hierarchical"},
            r"lines: expected training texts with several lines\. Received: single lines only",
        ),
    ],
)
def test_what_a_user_gets_wrong_is_said(change, message, tmp_path):
    corpora.translate(tmp_path)
    recipe = recipes.get("translate")
    with pytest.raises(ValueError, match=message):
        run.train(recipe, dataclasses.replace(recipe.small, **QUICK, **change), tmp_path / "run", tmp_path)


def test_a_vocabulary_of_one_word_is_refused(tmp_path):
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.de").write_text("ja\nja\n")
        (tmp_path / f"{part}.en").write_text("yes\nyes\n")
    recipe = recipes.get("translate")
    settings = dataclasses.replace(recipe.small, **QUICK, source_tokenizer="spaces", target_tokenizer="spaces")
    with pytest.raises(ValueError, match=r"source vocabulary: expected at least two symbols\. Received: \('ja',\)"):
        run.train(recipe, settings, tmp_path / "run", tmp_path)


def test_too_long_a_test_source_is_found_before_training(tmp_path):
    corpora.translate(tmp_path)
    with (tmp_path / "test.de").open("a") as more, (tmp_path / "test.en").open("a") as other:
        more.write("Hund " * 300 + "\n")
        other.write("dog\n")
    recipe = recipes.get("translate")
    with pytest.raises(
        ValueError, match=r"test split: expected text of at most 200 positions \(max_source_length for text\)"
    ):
        run.train(recipe, dataclasses.replace(recipe.small, **QUICK), tmp_path / "run", tmp_path)


def test_unknown_words_are_not_left_out_of_perplexity(tmp_path):
    corpora.entail_generate(tmp_path)
    recipe = recipes.get("entail_generate")
    settings = dataclasses.replace(recipe.small, **QUICK, min_count=1)
    model = recipe.task.build(settings, run.open_splits(recipe, settings, tmp_path).train)
    known, unknown = (from_text("A dog runs.", text) for text in ("An animal runs.", "Zebras quack loudly!"))
    assert recipe.task.measure(model, [known]).metrics["perplexity"] > 1
    ids = model.target.rules.encode(unknown.target)
    assert all(i == 3 for i in ids[:3])  # each unknown word has an id, so each one counts


def test_a_curriculum_shorter_than_its_epochs_is_refused(tmp_path):
    recipe = recipes.get("execute")
    settings = dataclasses.replace(recipe.small, num_programs=300, max_examples=3, epochs=5)
    with pytest.raises(ValueError, match="train: expected at least one example for each of 5 epochs"):
        run.train(recipe, settings, tmp_path / "run")


def test_only_as_many_best_as_there_are_are_counted(tmp_path):
    corpora.transliterate(tmp_path)
    recipe = recipes.get("transliterate")
    settings = dataclasses.replace(recipe.small, **QUICK, alternatives=1)
    splits = run.open_splits(recipe, settings, tmp_path)
    figures = recipe.task.measure(recipe.task.build(settings, splits.train), splits.dev[:3]).metrics
    assert set(figures) == {"accuracy", "accuracy_2"}


def test_answers_that_may_not_be_long_enough_are_said(tmp_path):
    corpora.translate(tmp_path)
    recipe = recipes.get("translate")
    settings = dataclasses.replace(
        recipe.small, **QUICK, source_tokenizer="spaces", target_tokenizer="characters", max_length_ratio=1
    )
    splits = run.open_splits(recipe, settings, tmp_path)
    with pytest.warns(
        UserWarning,
        match=r"max_length_ratio=1: \d+ of 64 training targets .* use --set max_length_ratio=\d to allow all",
    ):
        recipe.task.open(settings, splits)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recipe.task.open(
            dataclasses.replace(settings, max_length_ratio=0), splits
        )  # not longer than `max_target_length`
