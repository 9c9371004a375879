import numpy as np
import tensorflow as tf

from seqattn_tf.lite.targets import Heads
from seqattn_tf.outputs import graph_target
from seqattn_tf.outputs.heads import GraphHeads

LOGITS = tf.constant([[[0.0, 1.0, 2.0, 9.0], [3.0, 0.0, 1.0, 9.0], [0.0, 0.0, 0.0, 0.0]]])
MASK = tf.constant([[True, True, False]])


def test_a_word_that_is_not_there_has_no_head_and_is_none():
    graph = graph_target(Heads())
    assert isinstance(graph, GraphHeads)
    found = graph.decode(LOGITS, MASK)
    assert found["heads"].numpy().tolist() == [[[2, 0, -1]]]
    rows = [np.array([0.0, 1.0, 2.0]), np.array([3.0, 0.0, 1.0])]
    expected = sum(row.max() - np.log(np.exp(row).sum()) for row in rows)
    np.testing.assert_allclose(found["scores"], [[expected]], rtol=1e-5)
    assert graph.format(found)["text"].numpy().tolist() == [b"2 0"]


def test_no_words_have_no_answer_and_without_a_mask_all_are_there():
    graph = graph_target(Heads())
    assert graph.decode(LOGITS, tf.zeros([1, 3], tf.bool))["scores"].numpy().tolist() == [[-np.inf]]
    assert graph.decode(LOGITS)["heads"].numpy().tolist() == [[[3, 3, 0]]]
