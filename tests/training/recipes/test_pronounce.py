"""The pronounce recipe on the real dictionary, as in the demonstration."""

import pytest

from seqattn_tf.training import recipes, run
from seqattn_tf.training.tasks.base import answer_all


@pytest.mark.slow
def test_small_preset_pronounces_words_it_has_never_seen(tmp_path):
    recipe = recipes.get("pronounce")
    model = run.train(recipe, recipe.small, tmp_path)
    figures = recipe.task.measure(model, recipe.load(None, recipe.small).test).metrics
    assert figures["symbol_error_rate"] <= 0.20
    assert figures["answer_error_rate"] <= 0.60


def test_stress_is_a_setting(tmp_path):
    for part in ("train", "test"):
        (tmp_path / f"my.{part}").write_text("".join(f"{part}{letter} B AH0 B AH1\n" for letter in "abcdefghijk"))
    recipe = recipes.get("pronounce")
    assert {example.target for example in recipe.load(tmp_path, recipe.small).test} == {"B AH B AH"}
    for settings in (recipe.small, recipe.settings):
        stressed = settings.with_assignments(["stress=true"])
        assert {example.target for example in recipe.load(tmp_path, stressed).test} == {"B AH0 B AH1"}
    assert "AH0" in recipe.settings.meanings()["stress"]


def test_shipped_model_keeps_its_record(preset, shared_data):
    """Uses every tenth test word; the results of the whole split are in docs/results.md."""
    recipe = recipes.get("pronounce")
    test = recipe.load(shared_data / "cmudict", recipe.settings).test
    words = set(sorted({example.key for example in test})[::10])
    chosen = [example for example in test if example.key in words]
    # One batch, because the cost of a step does not depend on its size.
    answers = answer_all(preset, chosen, batch_size=len(words))
    figures = recipe.task.evaluate(preset, answers, chosen).metrics
    # 0.2427 on the whole split; three standard errors for 1 200 words are 0.037
    assert figures["answer_error_rate"] < 0.28
    assert figures["symbol_error_rate"] < 0.07
