import random

import pytest
import tensorflow as tf

from seqattn_tf.inputs import graph_field
from seqattn_tf.inputs.lines import GraphLines, split_lines
from seqattn_tf.lite.fields import Lines
from seqattn_tf.lite.text import SymbolRules, lines
from seqattn_tf.lite.text.rules import as_texts

STORY = Lines(SymbolRules(("\n", "a", "b"), "spaces"), limit=5)


def test_lines_are_symbols_with_marks_between_them_and_places_of_their_own():
    graph = graph_field(STORY, "story")
    assert isinstance(graph, GraphLines)
    read = graph.read(tf.constant(["a b\n\n  a \r\n", "b", " \n "]))
    assert read.tensors["ids"].numpy().tolist() == [[4, 5, 3, 4], [5, 0, 0, 0], [0, 0, 0, 0]]
    assert read.positions[""].numpy().tolist()[0] == [b"a", b"b", b"\n", b"a"]
    assert read.positions["lines"].numpy().tolist() == [[b"a b", b"a"], [b"b", b""], [b"", b""]]


def test_marks_count_as_symbols_and_more_than_the_limit_are_refused():
    graph = graph_field(STORY, "story")
    assert graph.read(tf.constant(["a\nb\na"])).tensors["ids"].shape == (1, 5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="story: expected at most 5 symbols"):
        graph.read(tf.constant(["b", "a\nb\na b"]))


SENTENCES = {
    "One here. Two there!  Is it?\tYes": ["One here.", "Two there!", "Is it?", "Yes"],
    "One.\n\n Two. \r\nThree": ["One.", "Two.", "Three"],
    'He said "no." She left?) (Yes.) \u201cOh!\u201d So': [
        *('He said "no."', "She left?)", "(Yes.)", "\u201cOh!\u201d", "So"),
    ],
    "\u2018No.\u2019 'Yes.' [Oh.] So": ["\u2018No.\u2019", "'Yes.'", "[Oh.]", "So"],
    "Wait... what?! No\u2026 yes": ["Wait...", "what?!", "No\u2026", "yes"],
    "I saw Mr. Smith. Did you?": ["I saw Mr. Smith.", "Did you?"],
    "Dr. Who vs. J. R. R. A. Tolkien. End.": ["Dr. Who vs. J. R. R. A. Tolkien.", "End."],
    "It costs 3.50 at a.b.com today": ["It costs 3.50 at a.b.com today"],
    "\u7537\u3002\u5973\uff01\u5b50": ["\u7537\u3002", "\u5973\uff01", "\u5b50"],
    "": [],
    " \n\t": [],
    "...": ["..."],
    ". . .": [".", ".", "."],
    "a\0. b": ["a\ufffd.", "b"],
}


def in_graph(texts, sentences):
    return [[line.decode() for line in row if line] for row in split_lines(tf.constant(texts), sentences).to_list()]


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_may_be_a_line(text):
    assert lines.split_lines(text, sentences=True) == SENTENCES[text]
    assert lines.split_lines(text) == [line.strip() for line in text.split("\n") if line.strip()]


@pytest.mark.parametrize("sentences", [False, True])
def test_both_halves_find_the_same_lines(sentences):
    rng = random.Random(0)
    parts = [*"abAJ .!?\n\r\t\v\f\0\"')]", *"\u2019\u2026\u3002\u00a0\x85", ". ", " Mr. ", " J. ", "vs.\n"]
    texts = [*SENTENCES, *("".join(rng.choices(parts, k=rng.randint(0, 20))) for _ in range(2000))]
    broken = [bytes(rng.choices([*b"a. \n\xff\xc3\xa9\xe3\x80\x82\xf0"], k=8)) for _ in range(500)]
    assert in_graph(texts, sentences) == [lines.split_lines(text, sentences) for text in texts]
    assert in_graph(broken, sentences) == [lines.split_lines(text, sentences) for text in as_texts(broken)]


def test_a_field_of_sentences_reads_and_points_at_them():
    field = Lines(SymbolRules(("\n", "a", "bb", "."), "tokens"), limit=8, split_sentences=True)
    text = "a bb. bb.\na"
    read = graph_field(field, "story").read(tf.constant([text]))
    assert read.tensors["ids"].numpy().tolist() == [field.arrays(text)["ids"].tolist()] == [[4, 5, 6, 3, 5, 6, 3, 4]]
    assert read.positions["lines"].numpy().tolist() == [[b"a bb.", b"bb.", b"a"]]
    assert field.positions(text, "lines") == ("a bb.", "bb.", "a")
    again = Lines.from_config(field.get_config())
    assert again.split_sentences
    assert again.positions(text, "lines") == ("a bb.", "bb.", "a")
