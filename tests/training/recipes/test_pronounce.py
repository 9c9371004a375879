"""The pronounce recipe on the real dictionary, as the demonstration trains it."""

import pytest

from seqattn_tf.training import recipes, run
from seqattn_tf.training.tasks.base import answer_all


@pytest.mark.slow
def test_small_preset_pronounces_words_it_has_never_seen(tmp_path):
    recipe = recipes.get("pronounce")
    model = run.train(recipe, recipe.small, tmp_path)
    figures = recipe.task.measure(model, recipe.load(None, recipe.small).test).figures
    assert figures["per"] <= 0.20
    assert figures["wer"] <= 0.60


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
    """On every tenth test word; the whole split is in docs/results.md."""
    recipe = recipes.get("pronounce")
    test = recipe.load(shared_data / "cmudict", recipe.settings).test
    words = set(sorted({example.key for example in test})[::10])
    chosen = [example for example in test if example.key in words]
    answers = answer_all(preset, chosen, batch_size=len(words))  # together: a step costs the same for one or for all
    figures = recipe.task.judge(preset, answers, chosen).figures
    assert figures["wer"] < 0.28  # 0.2427 on the whole split; three standard errors of 1 200 words are 0.037
    assert figures["per"] < 0.07
