"""Taggers, parsers and classifiers: their answers alone, in a batch, saved, exported and in LiteRT."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from support import readers
from support.edge import assert_same_on_the_edge
from support.slow import slow
from support.step_by_step import answering_eagerly

from seqattn_tf.export.comparison import difference
from seqattn_tf.export.package import export_model
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.lite.targets import ChainTags, Label, Tree
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import ClassifierNetwork, Parser, Tagger, TaggerNetwork, load

QUICK = {"tagger"}


ALIKE = {"softmax", "spanning", "two levels"}  # each differs from another model in a single choice


SPELLED = {"tagger", "softmax", "spanning"}  # eager mode does not support a text without words


def marked(name):
    chosen = [pytest.mark.slow] * (name in ALIKE) + [pytest.mark.traced] * (name in SPELLED)
    return pytest.param(name, marks=chosen)


def asked_alone(model):
    """Return short texts; for a parser none is empty, because an encoder without words is tested with a tagger."""
    return [readers.TEXTS[0], readers.TEXTS[2]] if isinstance(model, Parser) else readers.TEXTS[:4]


@pytest.fixture(params=map(marked, readers.READERS))
def model(request):
    return readers.small(request.param)


def test_an_answer_is_the_same_alone_in_a_batch_and_from_a_folder(model, tmp_path):
    together = model.answer(readers.TEXTS)
    model.save(tmp_path)
    again = load(tmp_path)
    assert again.settings == model.settings
    with answering_eagerly():
        after = again.answer(readers.TEXTS[:3])
    for answer, saved in zip(together[:3], after, strict=True):
        assert difference(answer, saved, 1e-4) == ""
    for text, answer in zip(readers.TEXTS, together, strict=True):
        if text in asked_alone(model):
            [alone] = model.answer([text])
            assert difference(answer, alone, 1e-4) == ""
        assert (answer.text == "") == (answer.score == -np.inf) == (text == "")
    assert model.answer([]) == []


@pytest.mark.traced
def test_a_tagger_answers_alike_on_the_edge(tmp_path):
    assert_same_on_the_edge(readers.small("tagger"), tmp_path, readers.TEXTS, 1e-3)


@pytest.mark.slow
@pytest.mark.traced
@pytest.mark.parametrize("name", readers.READERS)
def test_every_form_answers_alike(name, tmp_path):
    model = readers.small(name)
    exported = export_model(model, tmp_path / "models/m", {"examples": [{"text": text} for text in readers.TEXTS]})
    assert set(exported.agreeing.values()) == {exported.rows}
    for answer, edge in zip(model.answer(readers.TEXTS), LiteModel(exported.lite).answer(readers.TEXTS), strict=True):
        assert difference(answer, edge, 1e-3) == ""


def test_what_is_too_long_is_refused(model):
    with pytest.raises(ValueError, match=r"text: expected at most 12 (words|symbols)\. Received: 10000"):
        model.answer(["good " * 10_000])


def test_a_picture_is_drawn_of_anything(model):
    for text in asked_alone(model)[:3]:
        assert model.explain(text).axes or text == "" or not model.attention_maps


def test_tags_have_probabilities_and_alternatives():
    model = readers.small("tagger")
    [answer] = model.answer(["The dog barks."])
    look = answer.attention["text"]
    assert (look.queries, look.keys) == (readers.TAGS, ("The", "dog", "barks", "."))
    np.testing.assert_allclose(look.weights.sum(axis=0), 1, atol=1e-5)
    assert len(answer.tokens) == 4
    scores = [answer.score, *(score for _, score in answer.alternatives)]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert np.exp(scores).sum() <= 1
    for text in (answer.text, *(text for text, _ in answer.alternatives)):  # the answers follow the scheme
        tags = ["O", *text.split()]
        assert not any(one == "O" and other == "I-X" for one, other in itertools.pairwise(tags))
    assert model.with_settings(alternatives=0).answer(["The dog"])[0].alternatives == ()
    assert len(model.answer(["dog"])[0].alternatives) == 1  # one word has two possible tags


def test_a_list_of_words_is_left_as_it_is():
    model = readers.small("tagger")
    assert model.answer([["The", "dog", "barks."]])[0].attention["text"].keys == ("The", "dog", "barks.")
    assert model.answer([["barks."]])[0].attention["text"].keys == ("barks.",)
    assert model.answer([{"text": "barks."}])[0].attention["text"].keys == ("barks", ".")


def test_a_softmax_is_every_word_for_itself():
    model = readers.small("softmax")
    [answer] = model.answer(["The dog barks ."])
    weights = answer.attention["text"].weights
    assert [readers.TAGS[place] for place in weights.argmax(axis=0)] == list(answer.tokens)
    np.testing.assert_allclose(np.log(weights.max(axis=0)).sum(), answer.score, atol=1e-4)
    assert not any("transitions" in weight.path for weight in model.network.trainable_variables)


@pytest.mark.parametrize("name", ["projective", "spanning"])
def test_heads_are_a_tree_with_one_root_and_arcs_have_probabilities(name):
    [answer] = readers.small(name).answer(["it 's not good at all"])
    heads = [int(token.partition(":")[0]) for token in answer.tokens]
    assert heads.count(0) == 1
    assert {token.partition(":")[2] for token in answer.tokens} <= set(readers.RELATIONS)
    weights = answer.attention["text"].weights
    assert answer.attention["text"].queries == answer.attention["text"].keys
    np.testing.assert_allclose(len(heads) - weights.sum(), 1, atol=1e-4)  # one root
    assert not weights.diagonal().any()


def test_a_document_says_which_lines_and_which_words_counted():
    model = readers.small("document")
    [answer] = model.answer([["It 's good", "not", "very bad"]])
    words, lines = answer.attention["text"], answer.attention["text_lines"]
    assert words.queries == lines.queries == answer.tokens
    assert lines.keys == ("It 's good", "not", "very bad")
    assert lines.weights[0, 0] == 0  # only two lines are read
    np.testing.assert_allclose(lines.weights.sum(), 1, atol=1e-5)
    np.testing.assert_allclose(words.weights[0, -2:].sum(), 1, atol=1e-5)
    assert words.keys[3] == "\n"
    assert dict(answer.alternatives).keys() == set(readers.LABELS) - {answer.text}


def test_every_phrase_of_a_tree_has_labels():
    model = readers.small("tree")
    [given, plain] = model.answer(["(2 (1 not) (3 good))", "not good"])
    assert difference(given, plain, 1e-5) == ""  # two words have only one tree
    look = given.attention["text_nodes"]
    assert (look.queries, look.keys) == (readers.LABELS, ("not good", "not", "good"))
    np.testing.assert_allclose(look.weights.sum(axis=0), 1, atol=1e-5)
    assert readers.LABELS[look.weights[:, 0].argmax()] == given.text
    with pytest.raises(ValueError, match=r"text: expected a tree of \(LABEL WORD\) and \(LABEL TREE TREE\)"):
        model.answer(["(2 (1 not) good)"])


@pytest.mark.parametrize("name", ["tagger", slow("spanning"), "attention"])
def test_half_precision_changes_little(name):
    exact = readers.small(name)
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        half = readers.READERS[name]()
    finally:
        keras.config.set_dtype_policy("float32")
    half.network.set_weights(exact.network.get_weights())
    for one, other in zip(exact.answer(readers.TEXTS), half.answer(readers.TEXTS), strict=True):
        for name in one.attention:
            np.testing.assert_allclose(other.attention[name].weights, one.attention[name].weights, atol=0.15)


@pytest.mark.parametrize("name", readers.READERS)
def test_a_network_comes_back_from_its_config(name):
    network = readers.small(name).network
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(network))
    assert again.get_config() == network.get_config()


def test_parts_that_do_not_fit_together_are_refused():
    tagger, parser, flat = (readers.small(name) for name in ("tagger", "projective", "attention"))
    with pytest.raises(ValueError, match=r"target: expected the network's tags \['B-X', 'I-X', 'O'\]"):
        Tagger(tagger.network, tagger.inputs, ChainTags(("O", "B-X", "I-X")))
    with pytest.raises(
        ValueError, match=r"inputs: expected only 'text', the input of the encoder\. Received: \['words'\]"
    ):
        Tagger(tagger.network, {"words": tagger.inputs["text"]}, tagger.target)
    with pytest.raises(ValueError, match="inputs: expected a vocabulary with an id for unknown words"):
        Tagger(tagger.network, {"text": Text(SymbolRules(("a",), "spaces"))}, tagger.target)
    with pytest.raises(ValueError, match="sample_weight: expected None"):
        tagger.network.compute_loss({}, 0, 0, sample_weight=1)
    with pytest.raises(ValueError, match="alternatives: expected a positive integer"):
        tagger.with_settings(alternatives=-1)
    with pytest.raises(ValueError, match=r"target: expected 3 relations, as in the network\. Received: 1"):
        Parser(parser.network, parser.inputs, Tree(("dep",)))
    with pytest.raises(ValueError, match=r"target: expected size 3, as in the network\. Received: 2"):
        type(flat)(flat.network, flat.inputs, Label(("a", "b")))
    with pytest.raises(ValueError, match="output: expected one of"):
        TaggerNetwork(tagger.network.encoder, readers.TAGS, output="hmm")
    with pytest.raises(ValueError, match="scheme: expected '' for a softmax"):
        TaggerNetwork(tagger.network.encoder, readers.TAGS, output="softmax", scheme="BIO")
    with pytest.raises(ValueError, match="pool: expected 'last' for a network that labels every position"):
        ClassifierNetwork(flat.network.encoder, 3, pool="attention", everywhere=True)


def test_probabilities_of_labels_at_every_node_explain_no_answer():
    assert readers.tree().explanatory_maps == []
    assert readers.tree(everywhere=False).explanatory_maps == [*readers.tree(everywhere=False).attention_maps]


def test_a_word_may_be_a_head_of_any_word_more_often_than_others():
    parser = readers.parser()
    tensors, _ = parser.read({"text": tf.constant(["The dog barks ."])})
    before = parser.network(tensors)["arcs"]
    parser.network.arc_bias.assign(tf.ones_like(parser.network.arc_bias))
    [gained] = (parser.network(tensors)["arcs"] - before).numpy()
    np.testing.assert_allclose(gained, np.tile(gained[:1], [4, 1]), atol=1e-4)
    assert np.ptp(gained[0]) > 1e-3
