"""Training of captioners: on scenes, with frozen feature maps, with supervised attention; and attention metrics."""

import base64
import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from support.slow import slow
from support.tried import quick, tried

from seqattn_tf.lite.answer import Answer, AttentionMap
from seqattn_tf.lite.fields import Image, Map
from seqattn_tf.lite.targets.base import save_target
from seqattn_tf.training import recipes
from seqattn_tf.training.data import Example, Examples
from seqattn_tf.training.data.corpora import scenes
from seqattn_tf.training.distillation import distill
from seqattn_tf.training.ensembling import as_one
from seqattn_tf.training.previews import sample_of
from seqattn_tf.training.record import describe
from seqattn_tf.training.run import train
from seqattn_tf.training.soft_targets import Teacher, read_soft_targets, write_soft_targets
from seqattn_tf.training.tasks.captioning import cells, looked_inside
from seqattn_tf.training.tasks.images import of_maps

pytestmark = pytest.mark.usefixtures("as_traced")

RECIPE = recipes.get("caption")
TINY = dataclasses.replace(
    RECIPE.small,
    units=16,
    embedding=8,
    filters="8 12",
    image_size=40,
    num_examples=16,
    epochs=1,
    batch_size=16,
    warmup_steps=2,
    max_target_length=8,  # the longest caption
)


@pytest.fixture(scope="module")
def splits():
    return scenes.load(16, 4)


def test_cells_are_covered_as_the_box_lies():
    found = cells((0.25, 0.0, 0.75, 0.5), 4, 4)
    assert found.tolist() == [[0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    grown = cells((0.3, 0.3, 0.4, 0.4), 5, 4, grown=1)
    assert grown.astype(int).tolist() == [[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert cells((0.9, 0.9, 1.0, 1.0), 5, 5, grown=1).sum() == 4  # clipped at the border of the grid


def test_looks_are_measured_where_the_caption_is_right():
    scene = scenes.draw(3)
    words = tuple(scene.caption.split())
    weights = np.zeros([len(words), 10, 10])
    weights[:, 0, 0] = 1
    for place, region in enumerate(scene.regions):
        if region is not None:
            weights[place] = cells(region, 10, 10) / cells(region, 10, 10).sum()
    weights[1] = 0.5 * weights[1] + 0.005  # half of the weight is uniform
    example = Example("k", {"image": scene}, scene.caption)
    look = {"image": AttentionMap(weights, (), words)}
    found = looked_inside({"k": Answer(scene.caption, 0.0, attention=look)}, [example]).total
    chance = [cells(region, 10, 10, grown=1).mean() for region in scene.regions if region is not None]
    assert found["inside_by_chance"] == pytest.approx(np.mean(chance))
    assert found["inside"] == pytest.approx((3 + 0.5 + 0.5 * chance[0]) / 4)
    assert looked_inside({"k": Answer("a dog", 0.0, attention=look)}, [example]).total == {}
    assert looked_inside({"k": Answer(scene.caption, 0.0)}, [example]).total == {}
    assert looked_inside({"k": Answer("x", 0.0, attention=look)}, [Example("k", {"image": b""}, "x")]).total == {}


@pytest.mark.parametrize("frozen", [False, True])
def test_words_are_told_where_their_objects_are(splits, frozen, tmp_path):
    told = dataclasses.replace(TINY, attention_supervision=1.0, frozen=frozen, feature_cache=str(tmp_path))
    training = RECIPE.task.open(told, splits)
    tensors, right = next(iter(training.batches(0)))
    assert ("image_map" in tensors) == frozen
    regions = tensors["image_regions"].numpy()
    assert regions.shape == (16, right.shape[1], 100)
    one, _ = training.columns.batch(tf.constant([0]))
    scene = splits.train[0].inputs["image"]
    words = scene.caption.split()
    given = one["image_regions"].numpy()[0].reshape(-1, 10, 10)
    assert len(given) == len(words) + 1  # there is no region for the end
    for place, region in zip(given, (*scene.regions, None), strict=True):
        np.testing.assert_allclose(place, np.zeros([10, 10]) if region is None else cells(region, 10, 10), atol=1e-6)
    pictures = [example._replace(inputs={"image": example.inputs["image"].read()}) for example in splits.train]
    bare = dataclasses.replace(splits, train=pictures)
    with pytest.raises(ValueError, match="attention_supervision: expected a region for each word"):
        RECIPE.task.open(told, bare)


@pytest.mark.parametrize("frozen", [slow(False), True])
def test_two_captioners_teach_a_third(splits, frozen, tmp_path):
    teachers = as_one([RECIPE.task.create_model(dataclasses.replace(TINY, units=units), splits) for units in (16, 12)])
    about = {"target": save_target(teachers.target)}
    write_soft_targets(tmp_path / "soft_targets", Teacher(teachers), splits.train, list, about, quiet=True)
    soft_targets = read_soft_targets(tmp_path / "soft_targets", splits.train)
    student = dataclasses.replace(TINY, frozen=frozen, feature_cache=str(tmp_path))
    training = RECIPE.task.open(student, splits, soft_targets=soft_targets)
    assert len(training.rows) == 32
    given = "image_map" if frozen else "image_pixels"
    tensors, _ = training.columns.batch(tf.constant([3, 16 + 3]))
    # The same picture, with a caption from the data and a predicted one.
    np.testing.assert_array_equal(*tensors[given].numpy())
    rules, [said] = teachers.target.rules, teachers.answer([{"image": splits.train[3].inputs["image"].read()}])
    assert rules.names(tensors["shifted"].numpy()[1][1 : 1 + len(said.tokens)]) == list(said.tokens)
    with pytest.raises(ValueError, match="attention_supervision: expected 0 for distillation"):
        RECIPE.task.open(dataclasses.replace(TINY, attention_supervision=0.5), splits, soft_targets=soft_targets)


def test_a_student_told_where_to_look_is_refused_before_its_teachers_are_asked(tmp_path):
    with pytest.raises(ValueError, match="attention_supervision: expected 0 for distillation"):
        distill(RECIPE, dataclasses.replace(TINY, attention_supervision=0.5), tmp_path / "run", ["caption_scene"])
    assert not (tmp_path / "run").exists()


def test_captions_are_learned_and_said_without_case_where_that_is_asked(splits):
    loud = [example._replace(target=example.target.upper()) for example in splits.train]
    mixed = dataclasses.replace(splits, train=[*loud, *splits.train])
    training = RECIPE.task.open(dataclasses.replace(TINY, lowercase=True), mixed)
    assert training.model.target.rules.symbols == RECIPE.task.open(TINY, splits).model.target.rules.symbols
    both, _ = training.columns.batch(tf.constant([0, len(loud)]))
    np.testing.assert_array_equal(*both["shifted"].numpy())


def test_a_frozen_backbone_learns_from_maps_and_answers_pictures(tmp_path, splits):
    settings = dataclasses.replace(TINY, frozen=True, feature_cache=str(tmp_path / "maps"), conditioning="input")
    training = RECIPE.task.open(settings, splits)
    tensors, _ = next(iter(training.batches(0)))
    assert sorted(tensors) == ["image_map", "shifted"]
    assert isinstance(training.model.inputs["image"], Image)
    twin = of_maps(training.model, training.splits.dev)
    assert isinstance(twin.inputs["image"], Map)
    assert twin.max_length_ratio == 0
    said = [answer.text for answer in training.model.answer([e.inputs["image"].read() for e in splits.dev])]
    mapped = twin.answer([e.inputs["image"].read() for e in training.splits.dev])
    assert [answer.text for answer in mapped] == said
    assert of_maps(training.model, splits.dev) is training.model
    assert RECIPE.task.measure(training.model, training.splits.dev).metrics["accuracy"] == 0
    assert " -> " in sample_of(training.model, RECIPE.task, training.splits.dev, 0)  # printed after each epoch
    shown = describe(RECIPE, training, {}, 0.0)["examples"]
    assert (
        base64.b64decode(shown[0]["image"]["b64"]) == splits.dev[0].inputs["image"].read()
    )  # not the feature map, which clients do not have


def test_pictures_are_learned_from_captioned_and_measured(splits):
    settings = quick(dataclasses.replace(TINY, doubly_stochastic_weight=0.5))
    _, answer, report = tried(RECIPE, settings, splits, scenes.draw(0).read())
    assert answer.attention["image"].weights.shape == (len(answer.tokens), 10, 10)
    assert report.metrics.keys() >= {"accuracy"}


@pytest.mark.slow
@pytest.mark.parametrize("conditioning", ["soft", "hard"])
def test_a_run_is_trained_measured_and_kept(tmp_path, conditioning, splits, monkeypatch):
    monkeypatch.setattr(scenes, "load", lambda train, seed: splits)  # only a few examples for the evaluation
    settings = dataclasses.replace(TINY, conditioning=conditioning, doubly_stochastic_weight=0.5)
    model = train(RECIPE, settings, tmp_path / "run")
    assert model.answer([scenes.draw(0).read()])[0].attention["image"].weights.ndim == 3


def test_words_are_dropped_at_a_rate_of_their_own_where_that_is_asked(splits):
    rates = []
    for own in (-1.0, 0.0, 0.25):
        settings = dataclasses.replace(TINY, dropout=0.5, embedding_dropout=own)
        decoder = RECIPE.task.build(settings, Examples.of(splits.train)).network.decoder
        rates.append((decoder.drop.rate, decoder.drop_symbols.rate))
    assert rates == [(0.5, 0.5), (0.5, 0.0), (0.5, 0.25)]
    with pytest.raises(ValueError, match="embedding_dropout: expected a fraction less than 1"):
        dataclasses.replace(TINY, embedding_dropout=1.0)


def test_bad_settings_are_refused(splits):
    for changes, message in (
        ({"filters": "8 x"}, "filters: expected numbers separated by spaces"),
        ({"backbone": "none"}, "backbone: expected one of"),
        ({"conditioning": "none"}, "conditioning: expected one of"),
        ({"pretrained": "imagenet"}, "pretrained: expected none for cnn"),
        ({"image_size": 0}, "image_size"),
        ({"min_count": 0}, "min_count"),
    ):
        with pytest.raises(ValueError, match=message):
            RECIPE.task.open(dataclasses.replace(TINY, **changes), splits)
