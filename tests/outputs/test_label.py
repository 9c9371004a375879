import numpy as np
import tensorflow as tf

from seqattn_tf.lite.targets import Label
from seqattn_tf.outputs import graph_target
from seqattn_tf.outputs.label import GraphLabel


def test_labels_are_said_best_first_with_their_log_probabilities():
    graph = graph_target(Label(("no", "maybe", "yes")))
    assert isinstance(graph, GraphLabel)
    found = graph.decode(tf.math.log([[1.0, 3.0, 6.0]]))
    assert found["labels"].numpy().tolist() == [[2, 1, 0]]
    np.testing.assert_allclose(np.exp(found["scores"]), [[0.6, 0.3, 0.1]], rtol=1e-5)
    said = graph.format(found)
    assert said["text"].numpy().tolist() == [b"yes"]
    assert said["tokens"].numpy().tolist() == [[b"yes"]]
    assert said["alternatives"].numpy().tolist() == [[b"maybe", b"no"]]
