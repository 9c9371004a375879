"""Ensembles of models that predict labels: their means, for all kinds of inputs and attention."""

from typing import ClassVar

import numpy as np
import pytest
import tensorflow as tf
from support.systems import text_classifier, text_network
from support.varied import LETTERS

from seqattn_tf.encoders import BidirectionalEncoder, FactsEncoder, HeadsEncoder
from seqattn_tf.export.comparison import difference
from seqattn_tf.export.describe import describe
from seqattn_tf.export.forms import Lite
from seqattn_tf.export.package import export_model
from seqattn_tf.lite.fields import Lines, Text
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.lite.targets import Label
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import (
    Classifier,
    ClassifierNetwork,
    Entailment,
    EntailmentNetwork,
    LabelEnsemble,
    MemoryAnswerer,
    MemoryNetwork,
    load,
)

LABELS = ("no", "perhaps", "yes")
TEXTS = ["a", "", "cab", "c?a", "abcabc"]


class Named(Classifier):
    """A classifier with a setting."""

    name_in_registry = "named_classifier"

    def __init__(self, network, inputs, target, *, title="none"):
        self.named = title
        super().__init__(network, inputs, target)

    @property
    def settings(self):
        return {"title": self.named}


def strong(network):
    """Set large weights, so that the labels have different probabilities."""
    network.build()
    rng = np.random.default_rng(len(network.weights))
    for weight in network.trainable_weights:
        weight.assign(1.5 * rng.normal(size=weight.shape))
    return network


def classifier(units=4, pool="attention", labels=LABELS):
    network = strong(ClassifierNetwork(BidirectionalEncoder(LETTERS.size, units=units), len(labels), pool))
    return Classifier(network, {"text": Text(LETTERS, 400)}, Label(labels))


@pytest.fixture(scope="module")
def pair():
    return [classifier(4), classifier(5)]


def shares(model, texts):
    """Return the probability of every label, `[texts, labels]`."""
    logits = model.network(model.read({"text": tf.constant(texts)})[0]).numpy().astype("float64")
    return np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)


def test_one_alone_is_itself(pair):
    ensemble = LabelEnsemble.of(pair[:1])
    for found, expected in zip(ensemble.answer(TEXTS), pair[0].answer(TEXTS), strict=True):
        assert difference(expected, found, 1e-5) == ""
    assert ensemble.explanatory_maps == pair[0].explanatory_maps == ["text"]


def test_probabilities_and_weights_are_means(pair):
    answers, each = LabelEnsemble.of(pair).answer(TEXTS), [model.answer(TEXTS) for model in pair]
    means = np.mean([shares(model, TEXTS) for model in pair], axis=0)
    for row, (answer, mean, one, other) in enumerate(zip(answers, means, *each, strict=True)):
        if not TEXTS[row]:
            assert (answer.text, answer.score, answer.alternatives) == ("", -np.inf, ())
            continue
        found = {answer.text: answer.score, **dict(answer.alternatives)}
        assert list(found) == [LABELS[place] for place in np.argsort(-mean)]
        np.testing.assert_allclose([found[label] for label in LABELS], np.log(mean), atol=1e-5)
        weights = (one.attention["text"].weights + other.attention["text"].weights) / 2
        np.testing.assert_allclose(answer.attention["text"].weights, weights, atol=1e-6)
        assert answer.attention["text"].queries == (answer.text,)
    assert len({answer.text for answer in answers}) > 2
    assert any(one.text != other.text for one, other in zip(*each, strict=True))


class Certain:
    """Predicts the last of three labels with certainty; has no prediction for an empty row."""

    attention_maps: ClassVar = {"text": ("label",)}

    def infer(self, tensors):
        labels = tf.constant([[2, 0, 1], [0, 1, 2]])
        scores = tf.constant([[0.0, -1e30, -2e30], [-np.inf, -np.inf, -np.inf]])
        return {"labels": labels, "scores": scores, "text_attention": tf.ones([2, 1, 1])}


def test_models_that_are_sure_of_one_label_have_read_the_row(pair):
    """The best label determines whether a row was read, because the others may have probability zero."""
    ensemble = LabelEnsemble.of(pair)
    ensemble.models = [Certain(), Certain()]
    found = ensemble.infer({})
    assert found["labels"].numpy()[0, 0] == 2
    np.testing.assert_allclose(found["scores"].numpy()[:, 0], [0.0, -np.inf], atol=1e-6)
    assert found["text_attention"].numpy().ravel().tolist() == [1, 0]


def test_the_network_gives_what_answers_come_from(pair):
    ensemble = LabelEnsemble.of(pair)
    means = np.mean([shares(model, ["cab"]) for model in pair], axis=0)
    np.testing.assert_allclose(shares(ensemble, ["cab"]), means, atol=1e-6)


def test_plug_ins_are_those_of_all_models(pair):
    named = Named(pair[1].network, pair[1].inputs, pair[1].target)
    assert LabelEnsemble.of(pair).plugins == {}
    assert LabelEnsemble.of([pair[0], named]).plugins == named.plugins != {}


@pytest.fixture(scope="module")
def mixed():
    """Models of two kinds."""
    network = strong(text_network(LETTERS.size, 3, units=4))
    last = Named(network, {"text": Text(LETTERS, 400)}, Label(LABELS), title="last")
    return LabelEnsemble.of([classifier(pool="last"), last])


def test_models_of_two_kinds_are_saved_and_say_the_same_on_the_edge(mixed, tmp_path):
    assert mixed.systems == [
        {"system": "classifier", "settings": {}},
        {"system": "named_classifier", "settings": {"title": "last"}},
    ]
    expected = mixed.answer(TEXTS)
    for compact in (False, True):
        mixed.save(tmp_path / f"run{compact}", compact=compact)
        again = load(tmp_path / f"run{compact}")
        assert isinstance(again, LabelEnsemble)
        for found, other in zip(again.answer(TEXTS), expected, strict=True):
            assert difference(other, found, 0.05 if compact else 1e-6) == ""
    Lite().write(mixed, tmp_path, describe(mixed, {}))
    for found, other in zip(LiteModel(tmp_path).answer(TEXTS), expected, strict=True):
        assert difference(other, found, 1e-4) == ""


def test_what_each_is_comes_back(pair, tmp_path):
    named = Named(pair[0].network, pair[0].inputs, pair[0].target, title="first")
    LabelEnsemble.of([named, pair[1]]).save(tmp_path)
    first, second = load(tmp_path).models
    assert (first.named, type(second)) == ("first", Classifier)


@pytest.mark.slow
@pytest.mark.traced
def test_every_form_says_the_same(pair, mixed, tmp_path):
    for place, model in enumerate([LabelEnsemble.of(pair), mixed]):
        done = export_model(model, tmp_path / f"models/{place}", {"examples": [{"text": text} for text in TEXTS]})
        assert set(done.agreeing.values()) == {done.rows}


def test_what_cannot_be_one_is_refused(pair):
    rules = SymbolRules(("\n", "a", "b"), "spaces", unknown=True)
    facts = FactsEncoder(rules.size, mark=rules.ids["\n"], embedding=4)
    asks = MemoryAnswerer(
        MemoryNetwork(facts, outputs=2, hops=2), {"story": Lines(rules), "question": Text(rules)}, Label(("a", "b"))
    )
    heads = EntailmentNetwork(HeadsEncoder(rules.size, "projective", units=4, embedding=4), outputs=2, units=4)
    words = {name: Text(rules) for name in ("premise", "hypothesis")}
    number = text_classifier(text_network(LETTERS.size, outputs=1, units=4), LETTERS)
    for models, said in (
        ([], "models: expected at least one"),
        ([pair[0], classifier(labels=("no", "yes"))], r"the same labels of the target in all.*models\[1\]"),
        ([pair[0], number], "the same kind of target in all|labels of the target in all"),
        ([number], r"expected models that predict labels\. Received: number"),
        (
            [pair[0], classifier(pool="last")],
            r"the same attention maps in all models\. Received: different ones in models\[1\]",
        ),
        ([asks], r"models without extra outputs\. Received: \['facts'\] of models\[0\]"),
        ([Entailment(heads, words, Label(("a", "b")))], "without extra outputs"),
    ):
        with pytest.raises(ValueError, match=said):
            LabelEnsemble.of(models)
    with pytest.raises(ValueError, match=r"settings: expected none .*Received: \['beam_width'\]"):
        LabelEnsemble.of(pair, beam_width=4)
