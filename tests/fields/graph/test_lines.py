import pytest
import tensorflow as tf

from seqattn_tf.fields import Lines
from seqattn_tf.fields.graph.lines import GraphLines
from seqattn_tf.text import SymbolRules

STORY = Lines(SymbolRules(("\n", "a", "b"), "spaces"), limit=5)


def test_lines_are_symbols_with_marks_between_them_and_places_of_their_own():
    graph = STORY.in_graph("story")
    assert isinstance(graph, GraphLines)
    read = graph.read(tf.constant(["a b\n\n  a \r\n", "b", " \n "]))
    assert read.tensors["ids"].numpy().tolist() == [[4, 5, 3, 4], [5, 0, 0, 0], [0, 0, 0, 0]]
    assert read.places[""].numpy().tolist()[0] == [b"a", b"b", b"\n", b"a"]
    assert read.places["lines"].numpy().tolist() == [[b"a b", b"a"], [b"b", b""], [b"", b""]]


def test_marks_count_as_symbols_and_more_than_the_limit_are_refused():
    graph = STORY.in_graph("story")
    assert graph.read(tf.constant(["a\nb\na"])).tensors["ids"].shape == (1, 5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="story: expected at most 5 symbols"):
        graph.read(tf.constant(["b", "a\nb\na b"]))
