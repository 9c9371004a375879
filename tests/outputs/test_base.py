import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.lite.targets import Tags
from seqattn_tf.outputs import GraphTarget, graph_target


class Spoken(GraphTarget):
    """Returns the predicted numbers as words."""

    def texts(self, found):
        return tf.strings.as_string(found["numbers"])

    def tokens(self, found):
        return self.texts(found)[:, :1]


def test_what_is_impossible_is_not_said():
    found = {
        "numbers": tf.constant([[7, 8, 9], [1, 2, 3]]),
        "scores": tf.constant([[-1.0, -2.0, -np.inf], [-np.inf] * 3]),
    }
    said = Spoken(None).format(found)
    assert said["text"].numpy().tolist() == [b"7", b""]
    assert said["alternatives"].numpy().tolist() == [[b"8", b""], [b"", b""]]
    assert said["tokens"].numpy().tolist() == [[b"7"], [b""]]
    assert said["score"].numpy().tolist() == [-1.0, -np.inf]
    assert said["alternative_scores"].numpy().tolist() == [[-2.0, -np.inf], [-np.inf, -np.inf]]


def test_right_answers_of_several_numbers_are_padded_with_what_stands_for_nothing():
    column = graph_target(Tags(("D", "N"))).column(["D N N", "N"])
    assert column.rows(tf.constant([1, 0]))["tags"].numpy().tolist() == [[2, 0, 0], [1, 2, 2]]
    assert column.lengths.tolist() == [3, 1]


def test_a_target_shows_nothing_and_decides_nothing_unless_it_says_how():
    graph = GraphTarget(Tags(("D",)))
    assert graph.teacher_inputs({}) == {}
    with pytest.raises(
        NotImplementedError, match="Tags: answers are found by a search, so they cannot be decoded from the outputs"
    ):
        graph.decode(tf.zeros([1, 1]))


def test_the_loss_leaves_out_what_stands_for_nothing():
    graph = graph_target(Tags(("D", "N")))
    loss = graph.loss(0.1)
    assert (loss.label_smoothing, loss.first, loss.padding) == (0.1, 1, 0)
