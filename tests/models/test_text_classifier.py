import keras
import numpy as np
import pytest
import tensorflow as tf
from support.edge import assert_same_on_the_edge
from support.systems import text_classifier, text_network

from seqattn_tf.export.comparison import difference
from seqattn_tf.export.package import export_model
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models.base import load

DIGITS = SymbolRules(tuple("0123456789"), tokenizer="spaces")
LABELS = ("first", "same", "second")


def adder():
    """Return a network that adds exactly: the embedding of a digit is the digit."""
    network = text_network(DIGITS.size, units=1, embedding=1, cell="rnn", activation="linear")
    network.build()
    table = [[0.0]] * 3 + [[float(digit)] for digit in range(10)]
    cell = network.encoder.network.cell
    network.encoder.embedding.embeddings.assign(table)
    for weight in (cell.kernel, cell.recurrent_kernel, network.kernel):
        weight.assign([[1.0]])
    return network


@pytest.fixture(scope="module")
def sums():
    return text_classifier(adder(), DIGITS, max_source_length=50)


@pytest.fixture(scope="module")
def labeller():
    keras.utils.set_random_seed(3)
    network = text_network(DIGITS.size, outputs=3, units=8, embedding=4, depth=2, dropout=0.2)
    return text_classifier(network, DIGITS, LABELS, max_source_length=20)


def test_numbers_are_said_and_nothing_is_not(sums):
    texts = ["3 1 4", "0", "9 " * 50, "", "x", "3 x 4"]
    answers = sums.answer(texts)
    assert [answer.text for answer in answers] == ["8", "0", "450", "", "", "7"]
    assert answers[2].tokens == ("450",)
    assert answers[4].tokens == ()
    assert [answer.score for answer in answers] == [0, 0, 0, -np.inf, -np.inf, 0]
    assert not any(answer.attention for answer in answers)


def test_any_number_can_be_said(sums):
    numbers = {-12.4: "-12", 0.4: "0", -0.4: "0", 99.6: "100", 1e30: "999999936", np.nan: "0", -7e6: "-7000000"}
    said = sums.graph_target.format(sums.graph_target.decode(tf.constant(list(numbers))[:, None]))
    assert [text.decode() for text in said["text"].numpy()] == list(numbers.values())


def test_labels_have_probabilities_and_alternatives(labeller):
    [answer] = labeller.answer(["1 2 3"])
    ids = tf.constant([DIGITS.encode("1 2 3")])
    chances = tf.nn.softmax(labeller.network({"text_ids": ids}))[0].numpy()
    expected = {label: float(np.log(chance)) for label, chance in zip(LABELS, chances, strict=True)}
    found = dict([(answer.text, answer.score), *answer.alternatives])
    assert found == pytest.approx(expected, abs=1e-5)
    assert answer.score == max(found.values())
    assert answer.tokens == (answer.text,)


def test_likelihood(sums, labeller):
    answers = [*LABELS, "third", ""]
    found = labeller.log_likelihood(tf.constant(answers), text=tf.constant(["1 2 3"] * 4 + [""])).numpy()
    assert np.exp(found[:3]).sum() == pytest.approx(1, abs=1e-5)
    assert found[3:].tolist() == [-np.inf, -np.inf]
    found = sums.log_likelihood(tf.constant(["7", "8", ""]), text=tf.constant(["3 4", "3 4", ""])).numpy()
    assert found.tolist() == [0, -np.inf, -np.inf]
    with pytest.raises(tf.errors.InvalidArgumentError, match="answer: expected one for each row"):
        sums.log_likelihood(tf.constant(["1"]), text=tf.constant(["1", "2"]))


def test_padding_and_its_neighbours_change_nothing(labeller):
    texts = ["1", "9 8 7 6 5", "4 4"]
    for together, text in zip(labeller.answer(texts), texts, strict=True):
        [alone] = labeller.answer([text])
        assert together.text == alone.text
        assert together.score == pytest.approx(alone.score, abs=1e-5)
    ids = tf.constant([[3, 0, 4, 0], [3, 4, 0, 0]])
    one, other = labeller.network({"text_ids": ids})
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_too_long_and_wrong_types_are_refused(labeller):
    with pytest.raises(ValueError, match=r"text: expected at most 20 symbols\. Received: 50000"):
        labeller.answer(["1 " * 50_000])
    with pytest.raises(ValueError, match="expected a list of rows"):
        labeller.answer("1")
    with pytest.raises(ValueError, match=r"target: expected size 3, as in the network\. Received: 2"):
        text_classifier(labeller.network, DIGITS, LABELS[:2])
    with pytest.raises(ValueError, match="outputs: expected a positive integer"):
        text_network(5, outputs=-1)
    with pytest.raises(ValueError, match="limit: expected a positive integer"):
        text_classifier(labeller.network, DIGITS, LABELS, max_source_length=0)


def test_every_argument_is_saved(labeller, sums, tmp_path):
    given = {"vocabulary": 13, "units": 5, "embedding": 3, "cell": "lstm", "depth": 2, "activation": "relu"}
    network = text_network(outputs=2, dropout=0.1, **given)
    assert given.items() <= network.encoder.get_config().items()
    for number, model in enumerate((labeller, sums, text_classifier(network, DIGITS, ("a b", "c")))):
        model.save(tmp_path / str(number))
        again = load(tmp_path / str(number))
        assert again.target.get_config() == model.target.get_config()
        assert again.inputs["text"].get_config() == model.inputs["text"].get_config()
        assert again.network.get_config() == model.network.get_config()
        ids = tf.constant([[3, 4, 5], [12, 0, 0]])
        inputs = {"text_ids": ids}
        np.testing.assert_allclose(again.network(inputs), model.network(inputs), atol=1e-6)
    assert again.answer(["1 2"])[0].text == model.answer(["1 2"])[0].text


@pytest.mark.traced
def test_a_number_is_the_same_on_the_edge(sums, tmp_path):
    assert_same_on_the_edge(sums, tmp_path, ["1 9 9", "", "x"])


@pytest.mark.slow
@pytest.mark.traced
@pytest.mark.parametrize("kind", ["sums", "labeller"])
def test_all_forms_say_the_same(kind, request, tmp_path):
    model = request.getfixturevalue(kind)
    exported = export_model(model, tmp_path / "models/m", {})
    assert exported.agreeing == {"SavedModel": 105, "LiteRT": 105}
    for edge, here in zip(
        LiteModel(exported.lite).answer(["1 9 9", "", "x"]), model.answer(["1 9 9", "", "x"]), strict=True
    ):
        assert difference(here, edge, 1e-4) == ""


def test_explain_draws_what_would_have_been_said(sums, labeller, tmp_path):
    figure = sums.explain("3 1 4")
    [line] = figure.axes[0].lines
    np.testing.assert_allclose(line.get_ydata(), [3, 4, 8], atol=1e-5)
    figure = labeller.explain("3 1")
    labels = {text.get_text() for axes in figure.axes for text in [*axes.get_xticklabels(), *axes.get_yticklabels()]}
    assert {"3", "1", *LABELS} <= labels
    for model in (sums, labeller):
        model.explain("").savefig(tmp_path / "a.png")


def test_mixed_precision():
    network = text_network(DIGITS.size, outputs=3, units=8, embedding=4, dtype="mixed_float16")
    assert network({"text_ids": tf.constant([[3, 4, 0], [0, 0, 0]])}).dtype == tf.float16
    assert len(text_classifier(network, DIGITS, LABELS).answer(["1 2"])) == 1
