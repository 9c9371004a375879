"""Tags, trees and labels: the data used for training, and invalid combinations."""

import dataclasses
import itertools

import numpy as np
import pytest

from seqattn_tf.models import load
from seqattn_tf.training import recipes
from seqattn_tf.training.data import DataWarning, Example, Splits
from seqattn_tf.training.run import open_splits

SMALL = {"units": 4, "embedding": 3, "min_count": 1, "batch_size": 2}


def opened(name, pairs, labels=(), **changes):
    recipe = recipes.get(name)
    examples = [Example(text, {"text": text}, target) for text, target in pairs]
    splits = Splits(examples, examples[:1], examples[:1], "here", labels=labels)
    return recipe.task.open(dataclasses.replace(recipe.small, **SMALL, **changes), splits)


TAGGED = [("John\nruns\n", "B-X O"), ("Mary\nDoe\n", "I-X I-X"), ("No\n", "O")]


def test_tags_that_a_scheme_forbids_are_told_and_not_learned_from():
    with pytest.warns(DataWarning, match="1 of 3 training examples have targets that the model cannot produce"):
        assert opened("tag", TAGGED, scheme="BIO").rows.tolist() == [0, 2]
    assert opened("tag", TAGGED).rows.tolist() == [0, 1, 2]


def test_crossing_trees_are_learned_from_only_where_they_may_cross():
    crossing = [("a\nb\nc\nd\n", "3:x 4:x 0:x 3:x"), ("a\nb\n", "0:x 1:x")]
    with pytest.warns(DataWarning, match="1 of 2 training examples have targets that the model cannot produce"):
        assert opened("parse", crossing).rows.tolist() == [1]
    assert opened("parse", crossing, structure="spanning").rows.tolist() == [0, 1]
    with pytest.raises(ValueError, match="structure: expected one of"):
        opened("parse", crossing, structure="any")


def test_words_and_tags_must_be_as_many():
    shifted = [("can't\nrun\n", "V V"), ("he\nran\n", "N V")]
    assert len(opened("tag", shifted).rows) == 2  # the words are unchanged
    with pytest.raises(ValueError, match=r"train: expected one target per word\. Received: 3 words and 2 targets"):
        opened("tag", shifted, encoder="bidirectional")
    with pytest.raises(ValueError, match=r"encoder: expected an encoder with one output per token\. Received: tree"):
        opened("tag", shifted, encoder="tree")


def test_ten_columns_are_read_by_their_names(tmp_path):
    """The word's number in the sentence must not be read as a word."""
    row = "{}\t{}\t_\t{}\t_\t_\t{}\tdep\t_\t_\n"
    sentence = row.format(1, "Dogs", "NOUN", 2) + row.format(2, "bark", "VERB", 0) + "\n"
    for part in ("train", "dev", "test"):
        (tmp_path / f"x-{part}.conllu").write_text(sentence)
        (tmp_path / f"x-{part}.txt").write_text("Dogs bark\n")  # plain texts beside the treebank, as usual
    recipe = recipes.get("tag")
    found = recipe.load(tmp_path, dataclasses.replace(recipe.small, tag_column="upos")).train[0]
    assert (found.inputs["text"], found.target) == ("Dogs\nbark\n", "NOUN VERB")
    recipe = recipes.get("parse")
    assert recipe.load(tmp_path, recipe.small).train[0].target == "2:dep 0:dep"


def test_a_text_of_unknown_words_has_an_answer_and_labels_of_parts_are_learned():
    model = opened("sentiment", [("(good (bad not) (bad bad))", ("good", "bad", "bad")), ("bad", ("bad",))]).model
    assert model.network.everywhere
    assert model.answer(["zebra"])[0].text in ("good", "bad")
    model = opened("classify", [("a good\nfilm", "good"), ("a bad\nfilm", "bad")]).model
    assert model.answer(["zebra"])[0].text in ("good", "bad")
    assert np.isfinite(model.answer(["zebra"])[0].score)
    flat = opened("classify", [("a good film", "good"), ("a bad film", "bad")]).model  # no text has two lines
    assert flat.network.encoder.name_in_registry == "bidirectional"
    assert np.isfinite(flat.answer(["zebra"])[0].score)


LABELLED = [("(z (m not) (b bad))", ("z", "m", "b")), ("(q (b so) (b bad))", ("q", "b", "b"))]


def test_labels_stand_in_the_order_of_the_data_and_others_after_them(tmp_path):
    assert opened("sentiment", LABELLED).model.target.labels == ("b", "m", "q", "z")
    model = opened("sentiment", LABELLED, ["z", "none", "m"]).model
    assert model.target.labels == ("z", "none", "m", "b", "q")
    assert model.network.outputs_count == 5
    model.save(tmp_path, {})
    [answer] = load(tmp_path).answer([LABELLED[0][0]])
    assert answer.attention["text_nodes"].queries == ("z", "none", "m", "b", "q")


def test_sentiments_are_a_scale_however_few_examples_there_are(tmp_path):
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.txt").write_text("(4 (2 so) (3 good))\n(0 (2 so) (1 bad))\n")
    recipe = recipes.get("sentiment")
    for most, sentiments in itertools.product((0, 1), (2, 5)):
        settings = dataclasses.replace(recipe.small, **SMALL, max_examples=most, num_classes=sentiments)
        for _ in range(2):  # a resumed run opens it again
            training = recipe.task.open(settings, open_splits(recipe, settings, tmp_path))
            names = ("very negative", "negative", "neutral", "positive", "very positive")
            assert training.model.target.labels == (names if sentiments == 5 else names[1::2])
