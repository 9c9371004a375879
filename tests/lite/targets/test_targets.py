"""Every target: its answers with and without the graph, its training data, and its restoration from JSON."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.targets import ChainTags, Heads, Label, Number, Symbols, Tags, Target, Tree
from seqattn_tf.lite.targets.base import load_target, save_target
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.outputs import MaskedCrossEntropy, graph_target

INF = np.inf
PIECES = SymbolRules(("\u2581a", "##b", "\u2581"), "subwords", unknown=True)
FOUND = {
    "letters": (
        Symbols(SymbolRules(("a", "b"))),
        {"tokens": [[[3, 4, 0], [4, 0, 0]], [[0, 0, 0], [0, 0, 0]]], "scores": [[-1, -2], [-INF, -INF]]},
        ["ab", ""],
    ),
    "words": (
        Symbols(SymbolRules(("AH", "B"), "spaces")),
        {"tokens": [[[4, 3, 4]], [[3, 0, 0]]], "scores": [[-1], [-0.5]]},
        ["B AH B", "AH"],
    ),
    "pieces": (Symbols(PIECES), {"tokens": [[[4, 5, 4], [4, 0, 0]]], "scores": [[-1, -INF]]}, ["ab a"]),
    "label": (
        Label(("no", "yes", "very well")),
        {"labels": [[2, 0, 1], [0, 1, 2]], "scores": [[-1, -2, -3], [-INF, -INF, -INF]]},
        ["very well", ""],
    ),
    "number": (
        Number(),
        {"numbers": [[2.5], [-3.5], [np.nan], [1e30], [0], [-INF], [0.4]], "scores": [[0]] * 4 + [[-INF]] + [[0]] * 2},
        ["2", "-4", "0", "999999936", "", "-999999936", "0"],
    ),
    "tags": (
        Tags(("D", "N")),
        {
            "tags": [[[1, 2, 2], [2, 2, 2]], [[2, 0, 0], [1, 0, 0]], [[0, 0, 0]] * 2],
            "scores": [[-1, -2]] * 2 + [[-INF] * 2],
        },
        ["D N N", "N", ""],
    ),
    "heads": (
        Heads(),
        {"heads": [[[2, 0, 2]], [[0, -1, -1]], [[-1, -1, -1]]], "scores": [[-1], [-2], [-INF]]},
        ["2 0 2", "0", ""],
    ),
    "chain": (ChainTags(("D", "N")), {"tags": [[[1, 2]], [[2, 0]]], "scores": [[-1], [-2]]}, ["D N", "N"]),
    "tree": (
        Tree(("det", "nmod:poss")),
        {
            "heads": [[[2, 0, 2]], [[0, -1, -1]], [[-1, -1, -1]]],
            "relations": [[[1, 0, 0]], [[1, 0, 0]], [[0, 0, 0]]],
            "scores": [[-1], [-2], [-INF]],
        },
        ["2:nmod:poss 0:det 2:det", "0:nmod:poss", ""],
    ),
    "tags with gaps": (Tags(("D", "N")), {"tags": [[[1, 0, 2, 0]]], "scores": [[-1]]}, ["D _ N"]),
    "heads with gaps": (Heads(), {"heads": [[[-1, 0, -1, 2]]], "scores": [[-1]]}, ["_ 0 _ 2"]),
}
INTS = {"tokens", "labels", "tags", "heads", "relations"}


@pytest.fixture(params=FOUND)
def case(request):
    target, found, texts = FOUND[request.param]
    return target, {name: np.array(v, np.int32 if name in INTS else np.float32) for name, v in found.items()}, texts


def test_both_halves_say_the_same(case):
    target, found, texts = case
    say = tf.function(graph_target(target).format)
    said = {name: value.numpy() for name, value in say({k: tf.constant(v) for k, v in found.items()}).items()}
    for row, text in enumerate(texts):
        answer = Answer.from_outputs(said, row)
        plain = target.format_row({name: values[row] for name, values in found.items()})
        assert plain == {name: getattr(answer, name) for name in ("text", "score", "alternatives", "tokens")}
        assert plain["text"] == text
        assert (plain["tokens"] == ()) == (text == "")


def test_nothing_and_no_rows_can_be_said(case):
    target, found, _ = case
    said = graph_target(target).format({name: tf.constant(values[:0]) for name, values in found.items()})
    assert all(value.shape[0] == 0 for value in said.values())


def test_it_comes_back_from_json(case):
    target, _, _ = case
    again = load_target(json.loads(json.dumps(save_target(target))))
    assert type(again) is type(target)
    assert again.get_config() == target.get_config()
    with pytest.raises(ValueError, match="target: expected one of"):
        load_target({"target": "smell", "config": {}})


RIGHT = {
    "letters": (["ab", "b"], [[3, 4, 2], [4, 2, 0]]),
    "label": (["yes", "no"], [1, 0]),
    "number": (["3", "-4.5"], [[3.0], [-4.5]]),
    "tags": (["D N", ["N"]], [[1, 2], [2, 0]]),
    "heads": (["2 0", [0]], [[2, 0], [0, -1]]),
    "chain": (["D N", ["N"]], [[1, 2], [2, 0]]),
    "tree": (["2:det 0:nmod:poss", ["0:det"]], [[[2, 0], [0, 1]], [[0, 0], [-1, -1]]]),
}


@pytest.mark.parametrize("kind", RIGHT)
def test_right_answers_become_numbers_in_batches(kind):
    target, (values, expected) = FOUND[kind][0], RIGHT[kind]
    graph = graph_target(target)
    rows = graph.column(values).rows(tf.constant([0, 1]))
    assert graph.y_true(rows).numpy().tolist() == expected
    assert graph.column([values[0]] * 3).lengths.shape == (3,)
    taught = graph.teacher_inputs(rows)
    assert {name: tensor.numpy().tolist() for name, tensor in taught.items()} == (
        {"shifted": [[1, 3, 4], [1, 4, 2]]} if kind == "letters" else {}
    )


@pytest.mark.parametrize(
    ("target", "values", "words"),
    [
        (Label(("a", "b")), ["a", "c"], r"target: expected a label among \['a', 'b'\]\. Received: 'c'"),
        (Label(("a", "b")), ["a", ""], r"target: expected a label among \['a', 'b'\]\. Received: ''"),
        (Label(("a", "b")), [["a", "c"]], "Received: 'c'"),
        (Label(("a", "b")), [[]], r"Received: \[\]"),
        (Number(), ["1", "many"], "target: expected a finite number"),
        (Number(), ["1", "nan"], "target: expected a finite number"),
        (Tags(("D",)), ["D", "D X"], "target: expected tags among .*Received: 'X'"),
        (Heads(), ["0", "3 0"], "target: expected heads from 0 to 2, the number of words"),
        (Heads(), ["0", "x"], "target: expected integers"),
        (Tree(("det",)), ["0:det", "0:obj"], r"target: expected relations among \['det'\]\. Received: 'obj'"),
        (Tree(("det",)), ["0:det 3:det"], "target: expected heads from 0 to 2, the number of words"),
        (Tree(("det",)), ["2:det 1:det"], r"target: expected a tree with one root\. Received: heads \[2, 1\]"),
        (Tree(("det",)), ["0:det 0:det"], "target: expected a tree with one root"),
    ],
)
def test_what_cannot_be_said_is_refused(target, values, words):
    with pytest.raises(ValueError, match=words):
        graph_target(target).column(values)


@pytest.mark.parametrize(
    ("target", "value", "text"),
    [
        (Symbols(PIECES), "a b", "a b"),
        (Label(("a", "b")), "a", "a"),
        (Number(), 5, "5"),
        (Number(), "5.0", "5"),
        (Number(), 2.5, "2.5"),
        (Tags(("D", "N")), ["D", "N"], "D N"),
        (Tags(("D", "N")), "D  N", "D N"),
        (Heads(), [2, 0], "2 0"),
    ],
)
def test_right_answers_are_said_as_answers_are(target, value, text):
    assert target.normalize(value) == text


def test_bad_names_are_refused():
    for names in ((), ("a", "a"), ("", "a")):
        with pytest.raises(ValueError, match="expected unique names"):
            Label(names)
    with pytest.raises(ValueError, match="expected names without spaces"):
        Tags(("a b",))
    assert Label.learn(["b", "a", "b"]).labels == ("a", "b")
    assert Label.learn([("b", "", "c"), "a"], ("z", "c")).labels == ("z", "c", "a", "b")
    assert Tags.learn(["N D", ["V"]]).tags == ("D", "N", "V")
    assert {"symbols", "label", "number", "tags", "heads"} <= Target.registry.keys()


# Decisions


def test_labels_are_ranked_by_their_probability():
    logits = np.float32([[0, 2, 1], [5, 4, 3]])
    found = graph_target(Label(("a", "b", "c"))).decode(tf.constant(logits))
    assert found["labels"].numpy().tolist() == [[1, 2, 0], [0, 1, 2]]
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(found["scores"]), -np.sort(-chances, axis=1), rtol=1e-5)


@pytest.mark.parametrize(("target", "classes"), [(Tags(("D", "N", "V")), 3), (Heads(), 4)])
def test_places_are_decided_for_themselves_and_padding_never(target, classes):
    """Compared with a loop over every sequence: the best one, and its probability."""
    logits = np.random.default_rng(0).normal(size=(3, 3, classes)).astype("float32")
    mask = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 0]], bool)
    graph = graph_target(target)
    found = graph.decode(tf.constant(logits), tf.constant(mask))
    [name] = target.names
    for row, kept in enumerate(mask.sum(axis=1)):
        best, total = [], 0.0
        for place in range(kept):
            open_to = logits[row, place] if name == "tags" else logits[row, place, : kept + 1]
            chances = np.exp(open_to) / np.exp(open_to).sum()
            best.append(int(chances.argmax()) + graph.first)
            total += np.log(chances.max())
        expected = best + [graph.padding] * (3 - kept)
        assert found[name].numpy()[row, 0].tolist() == expected
        assert found["scores"].numpy()[row, 0] == pytest.approx(total if kept else -INF, abs=1e-5)


def test_symbols_are_not_found_in_outputs_alone():
    with pytest.raises(NotImplementedError, match="Symbols: answers are found by a search"):
        graph_target(Symbols(PIECES)).decode(tf.zeros([1, 2]))


# Losses


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize(
    ("target", "right", "classes"),
    [
        (Symbols(SymbolRules(("a", "b"))), [[3, 4, 2], [4, 2, 0]], 5),
        (Label(("a", "b", "c")), [2, 0], 3),
        (Tags(("D", "N")), [[1, 2], [2, 0]], 2),
        (Heads(), [[2, 0], [0, -1]], 3),
    ],
)
def test_losses_are_a_plain_loop_without_padding(target, right, classes, smoothing):
    graph, right = graph_target(target), np.array(right)
    logits = np.random.default_rng(1).normal(size=(*right.shape, classes)).astype("float32")
    total, count = 0.0, 0
    for place in np.ndindex(right.shape):
        if right[place] != graph.padding:
            logs = logits[place] - np.log(np.exp(logits[place]).sum())
            total -= (1 - smoothing) * logs[right[place] - graph.first] + smoothing * logs.mean()
            count += 1
    loss = graph.loss(smoothing)
    assert float(loss(tf.constant(right), tf.constant(logits))) == pytest.approx(total / count, rel=1e-5)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
    assert again.get_config() == loss.get_config()
    nothing = tf.fill(right.shape, graph.padding)
    assert float(loss(nothing, tf.constant(logits))) == 0


def test_the_loss_of_numbers_is_their_squared_error():
    loss = graph_target(Number()).loss()
    assert float(loss(tf.constant([[3.0], [-1.0]]), tf.constant([[1.0], [-1.0]]))) == pytest.approx(2)
    assert isinstance(graph_target(Label(("a", "b"))).loss(), MaskedCrossEntropy)


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "1e39", "seven", None, float("inf"), 10**400])
def test_a_number_that_is_not_finite_is_refused_by_name(value):
    """The error must not be an OverflowError of `int`, and 1e39 must not become infinity with a warning."""
    for use in (Number().normalize, Number().arrays):
        with pytest.raises(ValueError, match=r"expected a finite number\. Received: "):
            use(value)
