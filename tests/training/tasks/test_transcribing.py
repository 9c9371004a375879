"""Training of speech recognition: with tones, with separate metrics for longer strings, and with invalid sounds."""

import dataclasses

import numpy as np
import pytest
from support.sounds import wav
from support.tried import tried

from seqattn_tf.training import evaluation, recipes, run
from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import digits

RECIPE = recipes.get("transcribe")
TINY = dataclasses.replace(
    RECIPE.small,
    units=12,
    embedding=8,
    n_mels=16,
    hop_ms=20,
    depth=2,
    num_examples=16,
    epochs=1,
    warmup_steps=5,
    digits="1-2",
    max_target_length=4,
    beam_width=1,
    alternatives=0,
)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(digits, "STRINGS", {"dev": 2, "test": 2, "beyond": 1})


def check(model, answer, figures):
    look = answer.attention["sound"]
    assert look.queries == answer.tokens
    assert look.keys[:2] == ("0.00 s", "0.04 s")
    assert look.weights.shape == (len(answer.tokens), 13)
    assert set(figures) == {
        "symbol_error_rate",
        "answer_error_rate",
        "symbol_error_rate_beyond",
        "answer_error_rate_beyond",
    }
    [silent] = model.answer([wav(loud=0)])
    assert (silent.text, silent.score) == ("", -np.inf)


def test_sounds_are_learned_from_answered_and_measured():
    settings = dataclasses.replace(TINY, digits="1", max_test_digits=2)
    model, answer, report = tried(RECIPE, settings, RECIPE.load(None, settings), wav(samples=4_000))
    check(model, answer, report.metrics)


def test_the_options_of_the_decoder_are_those_of_the_settings():
    settings = dataclasses.replace(TINY, decoder="luong", align="sigmoid", score="general")
    decoder = RECIPE.task.open(settings, RECIPE.load(None, settings)).model.network.decoder
    assert decoder.name_in_registry == "luong"
    assert (decoder.attention.score.name_in_registry, decoder.attention.align.name_in_registry) == (
        "general",
        "sigmoid",
    )


@pytest.mark.slow
def test_it_trains_saves_reloads_answers_and_is_measured(tmp_path):
    model = run.train(RECIPE, dataclasses.replace(TINY, max_test_digits=4), tmp_path)
    check(model, model.answer([wav(samples=4_000)])[0], evaluation.evaluate(tmp_path).metrics)


def test_what_is_longer_is_measured_apart():
    splits = RECIPE.load(None, dataclasses.replace(TINY, max_test_digits=4)).at_most(0)
    model = RECIPE.task.build(TINY, splits.train)
    [said] = model.answer([wav()])
    answers = {e.key: dataclasses.replace(said, text=e.target) for e in splits.test}
    for example in splits.test:
        if splits.notes.get(example.key):
            answers[example.key] = dataclasses.replace(answers[example.key], text="")
    figures = RECIPE.task.evaluate(model, answers, splits.test, splits.notes).metrics
    assert figures == {
        "symbol_error_rate": 0,
        "answer_error_rate": 0,
        "symbol_error_rate_beyond": 1,
        "answer_error_rate_beyond": 1,
    }


@pytest.mark.slow
def test_a_sound_that_cannot_be_read_is_named(tmp_path):
    splits = RECIPE.load(None, TINY)
    bad = splits.train[5]._replace(inputs={"sound": wav()[:-3]})
    broken = Splits([*splits.train[:5], bad, *splits.train[6:]], splits.dev, splits.test, "broken")
    recipe = dataclasses.replace(RECIPE, load=lambda data, settings: broken)
    with pytest.raises(ValueError, match=r"train 5, sound: expected a WAV sound of .* truncated"):
        run.train(recipe, TINY, tmp_path)


def test_sounds_of_ones_own_stand_beside_a_table(tmp_path):
    rows = []
    for number, part in enumerate(("train", "train", "dev", "test")):
        (tmp_path / f"{number}.wav").write_bytes(wav(samples=900 + number))
        rows.append(f"{number}.wav,{('yes', 'no')[number % 2]},{part}")
    (tmp_path / "said.csv").write_text("\n".join(["file,words,part", *rows]))
    settings = dataclasses.replace(TINY, sound_column="file", text_column="words", split_column="part")
    splits = RECIPE.load(tmp_path / "said.csv", settings)
    assert [e.target for e in splits.train] == ["yes", "no"]
    assert splits.train[0].inputs["sound"].read() == wav(samples=900)
    assert RECIPE.task.open(settings, splits).model.target.rules.symbols == ("no", "yes")


@pytest.mark.parametrize("digits", ["", "5-3", "0", "a-b", "3-"])
def test_a_wrong_number_of_digits_is_refused(digits):
    with pytest.raises(ValueError, match="digits: expected a number or a range such as 3-5"):
        dataclasses.replace(RECIPE.settings, digits=digits)
