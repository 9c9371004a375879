"""docs/seeing.md: what it shows runs, and the shipped models that see."""

import json

import pytest
from support.pages import python_of

from seqattn_tf.models.presets import FOLDER, open_model
from seqattn_tf.training import recipes
from seqattn_tf.training.data import scenes


def test_the_python_of_the_page_runs():
    scope = {}
    exec("\n".join(python_of("seeing.md")), scope)
    assert scope["answer"].looks["image"].weights.shape[1:] == (10, 10)
    assert scope["figure"].axes


@pytest.fixture(scope="module", params=["caption_scene", "answer_scene"])
def name(request):
    return request.param


def test_a_shipped_model_is_small_and_says_where_it_comes_from(name):
    assert sum(path.stat().st_size for path in (FOLDER / name).rglob("*") if path.is_file()) < 4e6
    record = json.loads((FOLDER / name / "config.json").read_text())["record"]
    assert "generated" in record["data"]
    assert len(record["examples"]) == 6
    assert name in (FOLDER / "NOTICE.md").read_text()


def test_a_shipped_model_is_right_about_what_it_has_never_seen_together(name):
    model = open_model(name)
    splits = scenes.load(1, 100) if name == "caption_scene" else scenes.load_questions(1, 100)
    recipe = recipes.get("caption" if name == "caption_scene" else "answer_image")
    figures = recipe.task.measure(model, splits.test).figures
    assert figures["accuracy"] >= 0.95
    if name == "caption_scene":
        assert figures["inside"] >= 0.9 > 0.35 > figures["inside_by_chance"]
