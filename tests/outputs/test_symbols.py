import tensorflow as tf

from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.outputs import graph_target


def test_the_tokens_of_a_batch_are_as_many_as_the_longest_of_the_best_answers_has():
    graph = graph_target(Symbols(SymbolRules(("a", "b"))))
    found = {"tokens": tf.constant([[[3, 4, 0, 0], [3, 3, 3, 3]], [[4, 0, 0, 0], [0, 0, 0, 0]]])}
    assert graph.tokens(found).numpy().tolist() == [[b"a", b"b"], [b"b", b""]]
    assert graph.texts(found).numpy().tolist() == [[b"ab", b"aaaa"], [b"b", b""]]
    nothing = {"tokens": tf.zeros([2, 1, 4], tf.int32)}
    assert graph.tokens(nothing).shape == (2, 0)
