import json
import os
import subprocess
import sys
import unicodedata

import pytest
import tensorflow as tf

from seqattn_tf.lite.text import SymbolRules, learn
from seqattn_tf.lite.text.rules import as_texts
from seqattn_tf.text import SymbolTokenizer

RULES = SymbolRules(tuple("abcdefghijklmnopqrstuvwxyz'"), lowercase=True, strip_accents=True)
WORDS = SymbolRules(("AH", "B", "K"), tokenizer="spaces")
TEXTS = [
    "hello",
    "",
    " Hello\t\n",
    "CAFÉ",
    "nai\u0308ve",
    "d\u2019accord",
    "123",
    "日本語",
    "Привет",
    "ﬁne",
    "İstanbul",
    "ΣΑΣ",
    "a b",
    "😀a",
    "\u0301",
    "ca\0t",
    "x\u00ady",
]


@pytest.fixture(scope="module")
def tokenizer():
    return SymbolTokenizer(RULES)


def test_graph_and_plain_python_agree(tokenizer):
    ids, tokens = tokenizer.encode(tf.constant(TEXTS)), tokenizer.tokens(tf.constant(TEXTS))
    for row, text in enumerate(TEXTS):
        expected = RULES.tokens(text)
        assert [t.decode() for t in tokens.numpy()[row] if t] == expected
        assert ids.numpy()[row, : len(expected)].tolist() == RULES.encode(text)
        assert not ids.numpy()[row, len(expected) :].any()


def many_alike(character):
    """Return whether a character is an ideograph, a syllable or for private use, without a decomposition (240 000)."""
    plain = unicodedata.category(character) in ("Lo", "Co") and not unicodedata.decomposition(character)
    return plain and ord(character) >= 0x3400


def test_graph_and_plain_python_read_the_same_letters_from_every_character(tokenizer):
    """Of the large uniform ranges, only every 16th character is tested."""
    known = (chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cs", "Cn"))
    characters = [character for character in known if ord(character) % 16 == 0 or not many_alike(character)]
    ids = tokenizer.encode(tf.constant([f"a{character}b" for character in characters])).numpy()
    for character, row in zip(characters, ids, strict=True):
        expected = RULES.encode(f"a{character}b")
        assert row[: len(expected)].tolist() == expected, hex(ord(character))
        assert not row[len(expected) :].any(), hex(ord(character))


def test_words_are_split_at_the_same_spaces():
    texts = ["AH  B\tK", "AH\u00a0B", "AH\x1cB", "AH\vB\fK ", "\u2003AH"]
    ids = SymbolTokenizer(WORDS).encode(tf.constant(texts)).numpy()
    for text, row in zip(texts, ids, strict=True):
        assert row[: len(WORDS.tokens(text))].tolist() == WORDS.encode(text)


def test_folding_asks_for_nothing_that_depends_on_the_locale(tokenizer):
    """Lower case depends on it; the next test sets a locale."""
    concrete = tf.function(tokenizer.encode).get_concrete_function(tf.TensorSpec([None], tf.string))
    graph = concrete.graph.as_graph_def()
    used = {node.op for part in (graph.node, *(one.node_def for one in graph.library.function)) for node in part}
    assert "CaseFoldUTF8" in used
    assert not used & {"StringLower", "StringUpper"}


@pytest.mark.slow
def test_folding_does_not_depend_on_the_locale():
    code = """
import tensorflow as tf
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.text import SymbolTokenizer
rules = SymbolRules(("h", "i"), lowercase=True)
print(SymbolTokenizer(rules).encode(tf.constant(["HI"])).numpy().tolist())
"""
    environment = {**os.environ, "LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[[3, 4]]"


def test_folding_reads_what_it_can_and_skips_what_it_cannot(tokenizer):
    assert RULES.decode(RULES.encode("Café")) == "cafe"
    assert RULES.encode("日本") == [0, 0]
    assert tokenizer.encode(tf.constant(["a1b"])).numpy().tolist() == [[3, 0, 4]]


def test_invalid_utf8_becomes_the_replacement_character(tokenizer):
    tokens = tokenizer.tokens(tf.constant([b"a\xff\xfeb", b"\xc3"]))
    assert tokens.numpy()[0, 0] == b"a"
    assert "\ufffd".encode() in tokens.numpy()[0].tolist()
    assert tokenizer.encode(tf.constant([b"\xff"])).numpy().tolist() == [[0]]


def test_decode_leaves_special_ids_out():
    tokenizer = SymbolTokenizer(WORDS)
    assert tokenizer.decode(tf.constant([[1, 3, 4, 2, 0], [0, 0, 0, 0, 0]])).numpy().tolist() == [b"AH B", b""]
    assert WORDS.decode([1, 3, 4, 2, 0]) == "AH B"


def test_no_texts_at_all(tokenizer):
    assert tokenizer.encode(tf.constant([], tf.string)).shape == (0, 0)


def test_learned_vocabulary_is_by_frequency_and_survives_saving():
    rules = learn(["Banana", "nab"], lowercase=True, strip_accents=True)
    assert rules.symbols == ("a", "n", "b")
    assert SymbolRules.from_config(json.loads(json.dumps(rules.get_config()))) == rules


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"symbols": ("a",), "tokenizer": "syllables"}, "tokenizer: expected one of"),
        ({"symbols": ("a", "a")}, "unique symbols"),
        ({"symbols": ("",)}, "non-empty strings"),
    ],
)
def test_bad_rules_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SymbolRules(**arguments)


def test_texts_of_any_kind_become_strings_that_encode():
    assert as_texts(["a\ud800", b"b\xc3", "é"]) == ["a?", "b\ufffd", "é"]
    assert as_texts(text for text in ("a", "b")) == ["a", "b"]
    for wrong in ([None], None, "text", 3):
        with pytest.raises(ValueError, match="expected a list of strings"):
            as_texts(wrong)


def test_case_alone_is_folded_as_python_does():
    rules = SymbolRules(("a",), lowercase=True)
    texts = [
        "\u00c9COLE",
        "e\u0301",
        "Stra\u00dfe",
        "\ufb01n",
        "\u0130I",
        "\u2019",
        "a\u200db\ufe0f",
        "\u30ab\u3099",
        "\u03a3\u03c2",
    ]
    found = SymbolTokenizer(rules).tokens(tf.constant(texts)).numpy()
    for row, text in zip(found, texts, strict=True):
        assert [token.decode() for token in row if token] == rules.tokens(text), text
    assert rules.tokens("\u00c9Cole\u2019") == list("\u00e9cole\u2019")
