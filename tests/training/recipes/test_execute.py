import dataclasses
import functools

from seqattn_tf.training.data.corpora import programs
from seqattn_tf.training.recipes.execute import ExecuteSettings, by_difficulty, recipe


def test_accuracy_is_told_for_each_difficulty_and_not_without_notes():
    answers = {"p": "1", "q": "2", "r": "3"}
    references = {"p": ["1"], "q": ["9"], "r": ["3"]}
    rows = by_difficulty(answers, references, {"p": "easy", "q": "easy", "r": "hard"})
    assert sorted(rows) == [("easy", 2, 0.5), ("hard", 1, 1.0)]
    assert by_difficulty(answers, references, {}) == []


def test_the_settings_say_how_difficult_the_programs_are(monkeypatch):
    monkeypatch.setattr(programs, "load", functools.partial(programs.load, held=20))
    settings = dataclasses.replace(recipe.small, num_programs=40, length=1, nesting=1, curriculum="baseline")
    assert isinstance(settings, ExecuteSettings)
    splits = recipe.load(None, settings)
    assert len(splits.train) == 40
    again = recipe.load(None, dataclasses.replace(settings, seed=settings.seed + 1))
    assert [example.key for example in splits.train] != [example.key for example in again.train]
