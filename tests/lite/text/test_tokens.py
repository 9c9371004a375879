"""Words and punctuation as in English treebanks: token boundaries, equal in the graph and in Python."""

import itertools

import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.lite.text.rules import SPACES, as_texts
from seqattn_tf.text import SymbolTokenizer
from seqattn_tf.training.data.column_files import read_sentences
from seqattn_tf.training.data.reading import Faults

RULES = SymbolRules((), "tokens")
CUT = {
    "": [],
    " \t\r\n\v\f ": [],
    "word": ["word"],
    "a  b\tc\r\nd": ["a", "b", "c", "d"],
    "He said: no, never; yes!": ["He", "said", ":", "no", ",", "never", ";", "yes", "!"],
    "What?! No...": ["What", "?!", "No", "..."],
    "a--b \u2014 c\u2013d": ["a", "--", "b", "\u2014", "c", "\u2013", "d"],
    '"I can\'t," said Mr. Smith.': ['"', "I", "ca", "n't", ",", '"', "said", "Mr.", "Smith", "."],
    "\u201cDon\u2019t\u201d": ["\u201c", "Do", "n\u2019t", "\u201d"],
    "John's dogs' I'm we'll x'yz": ["John", "'s", "dogs", "'", "I", "'m", "we", "'ll", "x'yz"],
    "THEY'RE I'D DON'T": ["THEY", "'RE", "I", "'D", "DO", "N'T"],
    "Cannot I cannot, cannots": ["Can", "not", "I", "can", "not", ",", "cannots"],
    "$1,000.50 at 10:30 is 5%": ["$", "1,000.50", "at", "10:30", "is", "5", "%"],
    "see http://a.b/c": ["see", "http://a.b/c"],
    "the U.S. and e.g. J. R. Smith": ["the", "U.S.", "and", "e.g.", "J.", "R.", "Smith"],
    "Plan B.": ["Plan", "B", "."],
    "Apple Inc. vs. Co. etc. here.": ["Apple", "Inc.", "vs.", "Co.", "etc.", "here", "."],
    "Apple Inc . and co.": ["Apple", "Inc", ".", "and", "co", "."],
    "(a [b] {c})": ["(", "a", "[", "b", "]", "{", "c", "}", ")"],
    "well-known snake_case a/b": ["well-known", "snake_case", "a/b"],
    "\u7537\u304c\u3001\u5bdd\u308b\u3002\u300c\u306f\u3044\u300d\uff01": [
        *("\u7537\u304c", "\u3001", "\u5bdd\u308b", "\u3002", "\u300c", "\u306f\u3044", "\u300d", "\uff01")
    ],
    "a\u00a0b \U0001f600!": ["a\u00a0b", "\U0001f600", "!"],
    "a\0b.": ["a\ufffdb", "."],
    "\0": ["\ufffd"],
}
BYTES = [b"\xff", b"a\xff. b", b"don\xe2\x80\x99t \xe2\x80", b"\xc3(", b"\xed\xa0\x80!", b"\xf0\x9f\x98,\xc3\xa9"]


def graph_tokens(texts, lowercase=False, strip_accents=False):
    return [
        [token.decode() for token in row]
        for row in SymbolTokenizer(SymbolRules(("a",), "tokens", lowercase, strip_accents))
        .cut(tf.constant(texts, tf.string))
        .to_list()
    ]


@pytest.mark.parametrize("text", CUT)
def test_what_is_cut_where(text):
    assert RULES.tokens(text) == CUT[text]


@pytest.mark.parametrize(("lowercase", "strip_accents"), itertools.product([False, True], repeat=2))
def test_the_graph_and_plain_python_agree(lowercase, strip_accents):
    texts = [*CUT, *(text.upper() for text in CUT), *BYTES]
    rules = SymbolRules((), "tokens", lowercase, strip_accents)
    assert graph_tokens(texts, lowercase, strip_accents) == [rules.tokens(text) for text in as_texts(texts)]
    assert graph_tokens([], lowercase, strip_accents) == []


PARTS = [
    *"abIJ019 .,:;!?-'\"()[]{}$%/\t\n\v\f\r\0_",
    *("n't ", "'s ", "'LL ", "cannot ", " Mr.", " etc. ", "Inc. ", "...", "--", "\u2019", "\u201d", "\u2026"),
    *("\u00a0", "\u2003", "\x85", "\x1c", "\u200b", "\u2028", "\u2581", "\u0130", "e\u0301", "\U0001f600"),
    *("\u3002", "\ufb01", "\ufffd", "\ud800"),
]
ASSIGNED = st.characters(exclude_categories=["Cn"])  # folding in the graph drops some unassigned characters
TEXTS = st.one_of(
    st.lists(st.sampled_from(PARTS), max_size=20).map("".join), st.text(ASSIGNED, max_size=20), st.binary(max_size=16)
)


@settings(max_examples=12, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(st.lists(TEXTS, min_size=80, max_size=80))
def test_the_graph_and_plain_python_agree_on_whatever_is_written(texts):
    """Many texts per call, because starting a graph is slow."""
    plain = as_texts(texts)
    raw = [text.encode() for text in plain]
    for ways in itertools.product([False, True], repeat=2):
        rules = SymbolRules((), "tokens", *ways)
        assert graph_tokens(raw, *ways) == [rules.tokens(text) for text in plain]
    broken = [text for text in texts if isinstance(text, bytes)]
    assert graph_tokens(broken) == [RULES.tokens(text) for text in as_texts(broken)]
    for text in plain:  # only spaces are added
        assert "".join(RULES.tokens(text)) == RULES.normalise(text).translate(dict.fromkeys(map(ord, SPACES)))


APART = [
    *("The", "dog", "ca", "n't", "'s", "'ll", "n\u2019t", "Mr.", "Inc.", "vs.", "etc.", "U.S.", "a.m.", "J.", "I"),
    *(",", ".", ";", ":", "?", "!", "?!", "...", "--", "'", '"', "(", ")", "[", "]", "$", "%", "\u201c", "\u2014"),
    *("1,000.50", "10:30", "http://a.b/c", "well-known", "can", "not", "Inc", "Mr", "\u3002", "\u00e9t\u00e9"),
]


@settings(max_examples=300, derandomize=True, deadline=None, database=None)
@given(st.lists(st.sampled_from(APART), max_size=12), st.sampled_from([" ", "  ", "\n", " \t"]))
def test_words_that_stand_apart_stay_as_they_are(words, between):
    words = [*words, "."]  # an initial at the end of a text would lose its period
    assert RULES.tokens(between.join(words)) == words
    assert RULES.tokens(between.join(["", *words, ""])) == words


def test_ids_and_texts_come_and_go():
    rules = SymbolRules(("do", "n't", "."), "tokens", True, unknown=True)
    tokenizer = SymbolTokenizer(rules)
    ids = tokenizer.encode(tf.constant(["Don't.", "", "Go."]))
    assert ids.numpy().tolist() == [[4, 5, 6], [0, 0, 0], [3, 6, 0]]
    assert [rules.encode(text) for text in ("Don't.", "", "Go.")] == [[4, 5, 6], [], [3, 6]]
    assert tokenizer.decode(ids).numpy().tolist() == [b"do n't .", b"", b"."]
    assert [rules.decode(row) for row in ids.numpy().tolist()] == ["do n't .", "", "."]


def test_most_sentences_of_a_treebank_stay_as_they_are(shared_data):
    path = shared_data / "ud_ewt" / "test.tsv.xz"
    words = [[word for (word,) in rows] for _, rows in read_sentences(path, ["form"], Faults(path.name))]
    assert sum(RULES.tokens(" ".join(row)) == row for row in words) / len(words) > 0.95
