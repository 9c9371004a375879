import numpy as np
import tensorflow as tf

from seqattn_tf.lite.targets import Number
from seqattn_tf.outputs import graph_target
from seqattn_tf.outputs.number import GraphNumber


def test_outputs_are_the_numbers_and_are_said_in_digits():
    graph = graph_target(Number())
    assert isinstance(graph, GraphNumber)
    found = graph.decode(tf.constant([[2.6], [-0.4], [np.nan], [1e30]]))
    assert found["scores"].numpy().tolist() == [[0.0]] * 4
    said = graph.format(found)
    assert said["text"].numpy().tolist()[:3] == [b"3", b"0", b"0"]
    assert len(said["text"].numpy()[3]) == 9
    assert said["tokens"].shape == (4, 1)
    assert said["alternatives"].shape == (4, 0)


def test_right_numbers_have_the_shape_of_outputs():
    graph = graph_target(Number())
    rows = graph.column(["3", "-4.5"]).rows(tf.constant([1, 0]))
    right = graph.y_true(rows)
    assert right.numpy().tolist() == [[-4.5], [3.0]]
    assert float(graph.loss()(right, tf.zeros([2, 1]))) == (4.5**2 + 3**2) / 2
