import numpy as np
import pytest

from seqattn_tf.lite.answer import Answer, AttentionMap, to_outputs


def outputs(**more):
    """Return the outputs of one row, padded as in a batch with a longer one."""
    return {
        "text": np.array([b"caf\xc3\xa9"], object),
        "score": np.array([-0.5]),
        "alternatives": np.array([[b"b", b""]], object),
        "alternative_scores": np.array([[-2.0, -np.inf]]),
        "tokens": np.array([[b"c", b"", b"e", b"", b""]], object),
        **more,
    }


def test_padding_is_cut_off_and_gaps_are_kept():
    answer = Answer.from_outputs(outputs(), 0)
    assert (answer.text, answer.score) == ("café", -0.5)
    assert answer.tokens == ("c", "", "e")
    assert answer.alternatives == (("b", -2.0),)
    assert (answer.attention, answer.extra) == ({}, {})


def test_a_look_is_as_large_as_its_rows_and_places():
    weights = np.arange(20.0).reshape(1, 4, 5)
    places = np.array([["x", "", "z", "", ""]])
    look = {"in_attention": weights, "in_queries": np.array([["r", "s", "", ""]]), "in_keys": places}
    [(name, found)] = Answer.from_outputs(outputs(**look), 0).attention.items()
    assert (name, found.queries, found.keys) == ("in", ("r", "s"), ("x", "", "z"))
    np.testing.assert_array_equal(found.weights, weights[0, :2, :3])


def test_a_look_over_a_grid_has_no_places():
    look = {"in_attention": np.zeros([1, 4, 2, 3]), "in_queries": np.array([["r", "", "", ""]])}
    found = Answer.from_outputs(outputs(**look), 0).attention["in"]
    assert (found.weights.shape, found.keys) == ((1, 2, 3), ())


def test_parts_are_cut_to_their_shapes_and_others_are_whole():
    arcs = np.arange(12).reshape(1, 3, 4)
    more = {"arcs": arcs, "arcs_shape": np.array([[2, 3]]), "whole": arcs, "lone_attention": arcs}
    parts = Answer.from_outputs(outputs(**more), 0).extra
    assert sorted(parts) == ["arcs", "lone_attention", "whole"]
    np.testing.assert_array_equal(parts["arcs"], arcs[0, :2, :3])
    np.testing.assert_array_equal(parts["whole"], arcs[0])


def test_outputs_of_another_model_are_refused():
    less = {name: value for name, value in outputs().items() if name != "tokens"}
    with pytest.raises(ValueError, match=r"outputs: expected text, score.* Received: no tokens"):
        Answer.from_outputs(less, 0)


def test_outputs_of_answers_are_read_back_as_the_same_answers():
    """Catches padding of one row that becomes part of another, a part cut off, and an empty answer that fails."""
    look = AttentionMap(np.float32([[0.5, 0.5, 0.0]]), ("r",), ("x", "", "z"))
    grid = AttentionMap(np.ones([2, 3, 4], np.float32), ("r", "s"))
    answers = [
        Answer("café", -0.5, (("b", -2.0),), ("c", "", "é"), {"in": look, "at": grid}, {"arcs": np.ones([2, 3])}),
        Answer(
            *("", -np.inf, (), ()),
            {"in": AttentionMap(np.zeros([0, 0]), (), ()), "at": AttentionMap(np.zeros([0, 3, 4]), ())},
            {"arcs": np.zeros([0, 1])},
        ),
    ]
    outputs = to_outputs(answers)
    assert outputs["tokens"].tolist() == [[b"c", b"", "é".encode()], [b"", b"", b""]]
    for row, answer in enumerate(answers):
        found = Answer.from_outputs(outputs, row)
        assert (found.text, found.score, found.alternatives) == (answer.text, answer.score, answer.alternatives)
        assert found.tokens == answer.tokens
        np.testing.assert_array_equal(found.extra["arcs"], answer.extra["arcs"])
        for name, expected in answer.attention.items():
            assert (found.attention[name].queries, found.attention[name].keys) == (expected.queries, expected.keys)
            np.testing.assert_array_equal(found.attention[name].weights, expected.weights)
    assert to_outputs([])["alternatives"].shape == (0, 0)
