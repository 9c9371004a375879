"""Words and subwords: the graph and Python tokenize alike, and tokens can be joined again."""

import itertools
import random
from collections import Counter

import pytest
import tensorflow as tf

from seqattn_tf.lite.text import SymbolRules, learn, pieces
from seqattn_tf.text import SymbolTokenizer

TEXTS = [
    "A man, asleep on a bench.",
    "A woman asleep; the man's bench!",
    "Two men and a woman, sleeping (on 2 benches).",
    "Zwei Männer schlafen auf Bänken \u2013 tief.",
    "男が寝ている。",
]
ODD = [
    "",
    " ",
    "\u2581a \u2581 b",
    "a\u00a0b  c\td",
    "x" * 200,
    "don't\u2014stop",
    "a_b-c 3.14 \u00bd \u00b2",
    "e\u0301a",
    "?",
]


@pytest.fixture(scope="module", params=["letters", "words", "subwords"])
def rules(request):
    return learn(TEXTS, tokenizer=request.param, vocabulary=60 if request.param == "subwords" else 0)


def test_the_graph_and_plain_python_agree(rules):
    tokenizer = SymbolTokenizer(rules)
    texts = TEXTS + ODD
    ids = tokenizer.encode(tf.constant(texts)).numpy()
    for row, text in zip(ids, texts, strict=True):
        expected = rules.encode(text)
        assert row.tolist() == expected + [0] * (len(row) - len(expected)), text
    assert [text.decode() for text in tokenizer.decode(ids).numpy()] == [rules.decode(rules.encode(t)) for t in texts]


def test_what_was_cut_is_joined_again(rules):
    for text in TEXTS:
        expected = "".join(text.split()) if rules.tokenizer == "letters" else text
        assert rules.decode(rules.encode(text)) == expected


def test_the_longest_match_is_taken_and_an_unknown_word_stays_whole():
    rules = SymbolRules(("\u2581as", "\u2581a", "##leep", "##le", "."), tokenizer="subwords", unknown=True)
    assert rules.tokens("asleep. xyz") == ["\u2581as", "##leep", ".", "\u2581xyz"]
    assert rules.encode("asleep. xyz") == [4, 6, 8, 3]
    tokenizer = SymbolTokenizer(rules)
    assert tokenizer.encode(tf.constant(["asleep. xyz"])).numpy().tolist() == [[4, 6, 8, 3]]
    assert tokenizer.tokens(tf.constant(["xyz"])).numpy().tolist() == [["\u2581xyz".encode()]]


def test_pieces_are_what_stands_together_most_often():
    """Compared with a slow implementation that recounts everything after every merge."""
    counts = Counter(word for text in TEXTS for word in pieces.words(text, " "))
    size = 75

    def slow():
        cuts = {word: [c if i == 0 else "##" + c for i, c in enumerate(word)] for word in counts}
        seen = Counter()
        for word, parts in cuts.items():
            for part in parts:
                seen[part] += counts[word]
        found = sorted(seen, key=lambda piece: (-seen[piece], piece))[:size]
        while len(found) < size:
            pairs = Counter()
            for word, parts in cuts.items():
                for pair in itertools.pairwise(parts):
                    pairs[pair] += counts[word]
            best = min(pairs, key=lambda pair: (-pairs[pair], pair))
            merged = best[0] + best[1].removeprefix("##")
            found.append(merged)
            for word, parts in cuts.items():
                joined, i = [], 0
                while i < len(parts):
                    two = tuple(parts[i : i + 2]) == best
                    joined.append(merged if two else parts[i])
                    i += 2 if two else 1
                cuts[word] = joined
        return found

    assert pieces.learn(counts, size) == slow()


def test_rare_symbols_are_unknown_and_unknown_ones_are_never_said():
    rules = learn(["a b", "a c"], tokenizer="spaces", min_count=2)
    assert rules.symbols == ("a",)
    assert rules.unknown
    assert rules.encode("a c") == [4, 3]
    assert rules.unsayable == (0, 1, 3)
    assert learn(["a b", "a c"], tokenizer="spaces", vocabulary=2).symbols == ("a", "b")
    assert not learn(["a b"], tokenizer="spaces").unknown


def test_subwords_need_a_size():
    with pytest.raises(ValueError, match="vocabulary: expected a positive size for subwords"):
        learn(["a"], tokenizer="subwords")


def test_a_lone_space_at_the_end_of_an_answer_is_not_said():
    rules = SymbolRules(("\u2581a", "\u2581", "##b"), tokenizer="subwords", unknown=True)
    assert rules.decode([4, 5]) == "a"
    assert SymbolTokenizer(rules).decode(tf.constant([[4, 5]])).numpy().tolist() == [b"a"]


def test_a_word_of_more_than_a_hundred_bytes_stays_whole():
    """The limit is in bytes rather than characters, as in TF Text, and 100 bytes are still allowed."""
    known = {"a", "##a", "\u00e9", "##\u00e9"}
    assert len(pieces.cut("a" * 100, known)) == 100
    assert pieces.cut("a" * 101, known) == ["a" * 101]
    assert len(pieces.cut("\u00e9" * 50, known)) == 50
    assert pieces.cut("\u00e9" * 51, known) == ["\u00e9" * 51]


def test_a_pair_that_has_become_rarer_waits_for_its_turn():
    """It must be put back into the queue with its new count, otherwise other pieces would be found."""
    generator = random.Random(3)
    for _ in range(20):
        counts = {
            "".join(generator.choices("abc", k=generator.randint(2, 6))): generator.randint(1, 9) for _ in range(9)
        }
        assert pieces.learn(counts, 25) == by_counting_again(counts, 25)


def by_counting_again(counts, size):
    """Find the pieces by recounting all pairs before every merge."""
    cuts = {word: [word[0], *("##" + letter for letter in word[1:])] for word in counts}
    seen = Counter()
    for word, parts in cuts.items():
        for piece in parts:
            seen[piece] += counts[word]
    found = sorted(seen, key=lambda piece: (-seen[piece], piece))[:size]
    while len(found) < size:
        pairs = Counter()
        for word, parts in cuts.items():
            for pair in itertools.pairwise(parts):
                pairs[pair] += counts[word]
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merged = best[0] + best[1].removeprefix("##")
        if merged not in found:
            found.append(merged)
        for word, parts in cuts.items():
            kept = []
            while parts:
                two = tuple(parts[:2]) == best
                kept.append(merged if two else parts[0])
                parts = parts[2 if two else 1 :]
            cuts[word] = kept
    return found
