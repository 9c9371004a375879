"""Formulas: training, measuring by the rendered pictures, and reading pictures of any size."""

import dataclasses
import io

import numpy as np
import pytest
from PIL import Image as Pillow
from support.tried import tried

from seqattn_tf.lite.fields import Image
from seqattn_tf.training import evaluation, recipes, run
from seqattn_tf.training.data.corpora import formulas
from seqattn_tf.training.metrics import latex_accuracy

RECIPE = recipes.get("image_to_latex")
TINY = dataclasses.replace(
    RECIPE.small,
    units=8,
    embedding=6,
    row_units=4,
    filters="4 6 8",
    num_examples=24,
    epochs=1,
    batch_size=8,
    max_target_length=12,
    beam_width=1,
    alternatives=0,
)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    load = formulas.load

    def short(train, held=2, **how):
        splits = load(train, held, **how)
        most = TINY.max_target_length
        return dataclasses.replace(splits, train=[one for one in splits.train if len(one.target.split()) <= most])

    monkeypatch.setattr(formulas, "load", short)


def check(model, answer, report):
    assert answer.attention["image"].weights.shape == (len(answer.tokens), 12, 52)
    assert set(report.metrics) == {"accuracy", "rendered", "bleu"}
    assert sum(count for _, count, _ in report.groups["accuracy by depth"]) == 2
    assert sum(count for _, count, _ in report.groups["accuracy by length"]) == 2
    blank = io.BytesIO()
    Pillow.new("L", (5000, 300), 255).save(blank, "PNG")
    [nothing] = model.answer([blank.getvalue()])
    assert isinstance(nothing.text, str)


def test_formulas_are_learned_from_answered_and_measured():
    check(*tried(RECIPE, TINY, RECIPE.load(None, TINY), formulas.draw(1).read()))


@pytest.mark.slow
def test_it_trains_saves_reloads_answers_and_is_measured(tmp_path):
    model = run.train(RECIPE, TINY, tmp_path)
    check(model, model.answer([formulas.draw(1).read()])[0], evaluation.evaluate(tmp_path))


def test_a_formula_that_looks_the_same_is_rendered_right():
    right = {"a": ["x _ { 1 } ^ { 2 }"], "b": ["y"], "c": [r"\frac { a } { b }"]}
    found = latex_accuracy({"a": "x ^ { 2 } _ { 1 }", "b": "y", "c": r"\frac { a } { c }"}, right)
    assert found["accuracy"] == pytest.approx(1 / 3)
    assert found["rendered"] == pytest.approx(2 / 3)
    assert latex_accuracy({"a": "x ^ {", "b": "", "c": "}"}, right)["rendered"] == 0


def test_groups_are_of_ten_lengths_and_of_each_depth():
    answers = {"a": "x", "b": "y", "c": "z"}
    references, notes = {"a": ["x"], "b": ["y"], "c": ["-"]}, {"a": "5 0", "b": "10 1", "c": "11 1"}
    groups = RECIPE.task.groups
    assert groups["accuracy by length"](answers, references, notes) == [("1-10", 2, 1.0), ("11-20", 1, 0.0)]
    assert groups["accuracy by depth"](answers, references, notes) == [("0", 1, 1.0), ("1", 2, 0.5)]


def test_a_picture_keeps_its_proportions_and_a_small_one_its_size():
    field = Image(64, 320, pad=True)
    small = formulas.draw(2).pixels()[:40, :100]
    data = io.BytesIO()
    Pillow.fromarray(small).save(data, "PNG")
    found = field.arrays(data.getvalue())["pixels"]
    np.testing.assert_allclose(found[:40, :100], small, atol=1e-3)
    assert (found[40:] == 255).all()
    assert (found[:, 100:] == 255).all()
    # The background of attention maps.
    np.testing.assert_array_equal(field.picture(data.getvalue()), found.astype(np.uint8))
    large = io.BytesIO()
    Pillow.fromarray(np.zeros([100, 1000, 3], np.uint8)).save(large, "PNG")
    shrunk = field.arrays(large.getvalue())["pixels"]
    assert (shrunk[:32] == 0).all()
    assert (shrunk[32:] == 255).all()


def test_other_seeds_draw_other_formulas():
    drawn = [RECIPE.load(None, dataclasses.replace(TINY, seed=seed)).train[0].target for seed in (0, 1, 0)]
    assert drawn[0] == drawn[2] != drawn[1]
