"""docs/seeing.md: its examples run, and so do the shipped vision models."""

import pytest
from support.pages import python_of

from seqattn_tf.presets import open_model
from seqattn_tf.training import recipes
from seqattn_tf.training.data.corpora import scenes


def test_the_python_of_the_page_runs():
    scope = {}
    exec("\n".join(python_of("seeing.md")), scope)
    assert scope["answer"].attention["image"].weights.shape[1:] == (10, 10)
    assert scope["figure"].axes


@pytest.fixture(scope="module", params=["caption_scene", "answer_scene"])
def name(request):
    return request.param


def test_a_shipped_model_is_right_about_what_it_has_never_seen_together(name):
    model = open_model(name, "keras")
    splits = scenes.load(1, 100) if name == "caption_scene" else scenes.load_questions(1, 100)
    recipe = recipes.get("caption" if name == "caption_scene" else "answer_image")
    figures = recipe.task.measure(model, splits.test).metrics
    assert figures["accuracy"] >= 0.95
    if name == "caption_scene":
        assert figures["inside"] >= 0.9 > 0.35 > figures["inside_by_chance"]
