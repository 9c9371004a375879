"""Questions about pictures: attention of words, saving, invalid inputs, and training on feature maps."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.encoders import BidirectionalEncoder, GridEncoder
from seqattn_tf.lite.fields import Image, Text
from seqattn_tf.lite.targets import Label
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import ImageAnswerer, ImageAnswerNetwork, load
from seqattn_tf.training import recipes
from seqattn_tf.training.data.corpora import scenes
from seqattn_tf.vision import ConvolutionalBackbone

WORDS = SymbolRules(("what", "colour", "is", "it", "how", "many"), "spaces", unknown=True)
IMAGE = Image(16, 24)
ASKED = ["what colour is it", "how many"]
ROWS = [{"image": picture, "question": text} for picture, text in zip(IMAGE.sample_inputs(2), ASKED, strict=True)]


def made(use_attention=True, **arguments):
    question = BidirectionalEncoder(WORDS.size, units=6, embedding=4, input_name="question")
    encoder = GridEncoder(ConvolutionalBackbone((4, 6)), 16, 24, **arguments)
    network = ImageAnswerNetwork(encoder, question, outputs=3, use_attention=use_attention, units=8, dropout=0.2)
    return ImageAnswerer(network, {"image": IMAGE, "question": Text(WORDS, 6)}, Label(("blue", "red", "two")))


@pytest.mark.parametrize("use_attention", [True, False])
def test_an_answer_comes_with_its_looks_and_from_a_saved_model_too(use_attention, tmp_path):
    model = made(use_attention)
    answers = model.answer(ROWS)
    for answer, asked in zip(answers, ASKED, strict=True):
        assert answer.text in ("blue", "red", "two")
        assert len(answer.alternatives) == 2
        if use_attention:
            seen = answer.attention["image"]
            assert seen.queries == tuple(asked.split())
            assert seen.weights.shape == (len(seen.queries), 4, 6)
            np.testing.assert_allclose(seen.weights.sum((1, 2)), 1, atol=1e-5)
        else:
            assert not answer.attention
    model.save(tmp_path / "model")
    again = load(tmp_path / "model").answer(ROWS)
    assert [(a.text, round(a.score, 4)) for a in again] == [(a.text, round(a.score, 4)) for a in answers]
    assert model.explain(ROWS[0]).axes or not use_attention


def test_both_the_picture_and_the_question_count():
    network = made().network
    pixels = [tf.random.stateless_uniform([1, 16, 24, 3], [0, seed]) * 255 for seed in range(2)]
    tensors = {"image_pixels": pixels[0], "question_ids": tf.constant([[3, 4]])}
    first = network(tensors)
    for changed in ({"image_pixels": pixels[1]}, {"question_ids": tf.constant([[5, 6]])}):
        assert float(tf.reduce_max(abs(network({**tensors, **changed}) - first))) > 1e-4
    padded = {**tensors, "question_ids": tf.constant([[3, 4, 0, 0]])}
    np.testing.assert_allclose(network(padded), first, atol=1e-5)


def test_a_word_looks_where_its_score_is_high_and_says_what_it_saw():
    """Compute the attention with the weights of the network, one word after the other."""
    network = made().network
    tensors = {"image_pixels": tf.random.stateless_uniform([1, 16, 24, 3], [0, 1]) * 255}
    tensors["question_ids"] = tf.constant([[3, 4, 5, 0]])
    found = network.look(tensors)[1].numpy().reshape(4, 24)
    words = network.norm(network.question(tensors).values)[0].numpy()
    cells = network.encoder(tensors).values[0].numpy()
    logits = words @ (cells @ network.attention.score.kernel.numpy()).T / np.sqrt(words.shape[-1])
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(found[:3], expected[:3], atol=1e-5)
    assert not found[3].any()  # padding has no attention


def test_twice_as_many_that_fit_count_twice():
    """The total over the whole picture is a sum rather than a mean, so that counting questions can be answered."""
    network = made().network
    network.build()
    cells = tf.random.stateless_normal([1, 10, 6], [0, 1])
    asked = tf.random.stateless_normal([1, 12], [0, 2])
    once, twice = network._fitting(cells, asked), network._fitting(tf.concat([cells, cells], axis=1), asked)
    np.testing.assert_allclose(twice, once * np.sqrt(2), rtol=1e-5)


def test_every_weight_learns():
    network = made().network
    network.build()
    tensors = {
        "image_pixels": tf.random.stateless_uniform([4, 16, 24, 3], [0, 1]) * 255,
        "question_ids": tf.constant([[3, 4], [5, 0], [6, 7], [8, 3]]),
    }
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(network(tensors, training=True) ** 2)
    for weight, gradient in zip(network.trainable_weights, tape.gradient(loss, network.trainable_weights), strict=True):
        assert gradient is not None, weight.path


def test_an_empty_question_gets_nothing_and_an_unknown_word_an_answer():
    model = made()
    nothing, unknown = model.answer([{**ROWS[0], "question": ""}, {**ROWS[0], "question": "zebra"}])
    assert (nothing.text, nothing.score) == ("", -np.inf)
    assert unknown.text
    with pytest.raises(ValueError, match="question"):
        model.answer([{**ROWS[0], "question": "what " * 7}])
    with pytest.raises(ValueError, match="image: expected a JPEG, PNG or BMP picture"):
        model.answer([{**ROWS[0], "image": b"GIF89a"}])


def test_bad_arguments_are_refused():
    model = made()
    with pytest.raises(ValueError, match="inputs: expected image and question"):
        ImageAnswerer(model.network, {"image": IMAGE}, model.target)
    with pytest.raises(ValueError, match="target: expected size 3, as in the network"):
        ImageAnswerer(model.network, model.inputs, Label(("a", "b")))


def beside(first, second):
    dx, dy = first.x - second.x, first.y - second.y
    return ("right of" if dx > 0 else "left of") if abs(dx) > abs(dy) else ("below" if dy > 0 else "above")


def test_questions_have_one_answer_which_the_scene_shows():
    import random

    counted = set()
    for number in range(400):
        scene = scenes.draw(number)
        kind, question, answer = scenes.ask(scene, random.Random(number))
        words, shapes = question.split(), scene.shapes
        counted.add(kind)
        if kind == "colour":
            assert [shape.colour for shape in shapes if shape.kind == words[4]] == [answer]
        elif kind == "shape":
            assert [shape.kind for shape in shapes if shape.colour == words[4]] == [answer]
        elif kind == "count":
            assert sum(words[2] in (shape.colour, shape.kind) for shape in shapes) == int(answer)
        elif kind == "existence":
            there = any((shape.colour, shape.kind) == (words[3], words[4]) for shape in shapes)
            assert answer == ("yes" if there else "no")
        else:
            named = [
                [shape for shape in shapes if f"{shape.colour} {shape.kind}" in part] for part in question.split("the")
            ]
            [first], [second] = filter(None, named)
            side = beside(first, second)
            expected = side.split()[0] if kind == "where" else "yes" if f" {side} the" in question else "no"
            assert answer == expected
            combination = scenes.part_of(first.name, side, second.name)
            assert combination == "train"
    assert counted == set(scenes.KINDS)
    splits = scenes.load_questions(30, 10)
    assert set(splits.notes.values()) <= set(scenes.KINDS)
    assert all(example.key in splits.notes for example in (*splits.train, *splits.dev, *splits.test))


def test_the_recipe_learns_with_frozen_maps_and_measures_by_kind(tmp_path):
    recipe = recipes.get("answer_image")
    sizes = {"units": 8, "embedding": 4, "question_units": 4, "filters": "4 6", "image_size": 40}
    settings = dataclasses.replace(
        recipe.small, **sizes, frozen=True, feature_cache=str(tmp_path), num_examples=32, batch_size=8
    )
    splits = scenes.load_questions(32, 10)
    training = recipe.task.open(settings, splits)
    tensors, right = next(iter(training.batches(0)))
    assert sorted(tensors) == ["image_map", "question_ids"]
    assert right.shape == (8,)
    assert set(training.model.inputs) == {"image", "question"}
    report = recipe.task.measure(training.model, training.splits.dev, splits.notes)
    assert sum(count for _, count, _ in report.groups["accuracy by kind"]) == 10


def test_a_backbone_may_come_from_another_run(tmp_path):
    recipe, other = recipes.get("answer_image"), made(frozen=False)
    other.save(tmp_path / "run", {})
    sizes = {"units": 8, "embedding": 4, "filters": "4 6", "pretrained": str(tmp_path / "run")}
    encoder = dataclasses.replace(recipe.small, **sizes).make_encoder()
    for one, given in zip(encoder.backbone.weights, other.network.pictures.backbone.weights, strict=True):
        np.testing.assert_array_equal(one, given)
    with pytest.raises(ValueError, match=r"expected a run with the backbone cnn of .*\(4, 8\).*Received"):
        dataclasses.replace(recipe.small, **{**sizes, "filters": "4 8"}).make_encoder()
    with pytest.raises(ValueError, match="pretrained: expected a run with the backbone"):
        dataclasses.replace(recipe.small, **{**sizes, "pretrained": "tag"}).make_encoder()
