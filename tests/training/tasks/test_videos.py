"""Training of video models: captions and labels of clips, in all four formats."""

import dataclasses

import numpy as np
import pytest
from support.tried import quick, tried

from seqattn_tf.training import evaluation, recipes, run
from seqattn_tf.training.data.corpora import clips
from seqattn_tf.training.record import read_record
from seqattn_tf.training.tasks.videos import FORMS

SPOKEN = {"caption_video": {"max_target_length": 12}}  # the longest caption
TINY = {
    "units": 8,
    "filters": "6 8",
    "image_size": 16,
    "num_examples": 8,
    "epochs": 1,
    "batch_size": 8,
    "warmup_steps": 2,
}
CLIP = clips.draw(3)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    load = clips.load
    monkeypatch.setattr(clips, "load", lambda train, held=2, **how: load(train, held, **how))


def check(name, settings, answer):
    if settings.attends:
        look = answer.attention["clip"]
        assert look.keys == tuple(map(str, range(1, 17)))
        assert look.weights.shape == (len(answer.tokens) if name == "caption_video" else 1, 16)
        np.testing.assert_allclose(look.weights.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(("name", "form"), [("caption_video", "both"), ("classify_video", "local")])
def test_clips_are_learned_from_answered_and_measured(name, form):
    recipe = recipes.get(name)
    settings = quick(dataclasses.replace(recipe.small, attention_form=form, **TINY, **SPOKEN.get(name, {})))
    _, answer, report = tried(recipe, settings, recipe.load(None, settings), CLIP.read())
    check(name, settings, answer)
    assert 0 <= report.metrics["accuracy"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form"), [("caption_video", "both"), ("classify_video", "global"), ("classify_video", "local")]
)
def test_it_trains_saves_reloads_answers_and_is_measured(name, form, tmp_path):
    recipe = recipes.get(name)
    settings = dataclasses.replace(recipe.small, attention_form=form, **TINY)
    model = run.train(recipe, settings, tmp_path)
    check(name, settings, model.answer([CLIP.gif()])[0])
    assert 0 <= evaluation.evaluate(tmp_path).metrics["accuracy"] <= 1
    assert len(read_record(tmp_path)["examples"]) == 2  # 80 kB each, so only two fit into the record


@pytest.mark.parametrize("name", ["caption_video", "classify_video"])
@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_made_of_what_it_is_called(name, form):
    recipe = recipes.get(name)
    settings = dataclasses.replace(recipe.small, attention_form=form, **TINY)
    model = recipe.task.build(settings, recipe.load(None, settings).at_most(8).train)
    encoder = model.network.encoder
    watches = getattr(encoder, "encoder", encoder)
    assert watches.local == (3 if form in ("local", "both") else 1)
    assert set(model.attention_maps) == ({"clip"} if form in ("global", "both") else set())


def test_clips_of_ones_own_stand_beside_a_table(tmp_path):
    rows = ["clip,label"]
    clip = CLIP.gif()
    for number in range(16):
        (tmp_path / f"{number}.gif").write_bytes(clip + bytes(number))
        rows.append(f"{number}.gif,{'ab'[number % 2]}")
    (tmp_path / "clips.csv").write_text("\n".join(rows))
    recipe = recipes.get("classify_video")
    splits = recipe.load(tmp_path / "clips.csv", recipe.small)
    assert len(splits.train) + len(splits.dev) + len(splits.test) == 16
    assert {example.target for example in splits.train} == {"a", "b"}


def test_a_wrong_form_is_refused():
    with pytest.raises(ValueError, match=r"attention_form: expected one of \('basic', 'local', 'global', 'both'\)"):
        dataclasses.replace(recipes.get("caption_video").small, attention_form="most")
