"""Texts that are tokenized once: the same ids and vocabularies as with repeated tokenization."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from seqattn_tf.lite.fields import Lines, Text
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.text import SymbolRules, Texts, learn, lines, pieces
from seqattn_tf.lite.text.cut import Cut, learn_from
from seqattn_tf.lite.text.rules import TOKENIZERS
from seqattn_tf.training.data import Example, Splits, from_text
from seqattn_tf.training.tasks import LanguageSettings, LanguageTask, NumberSettings, NumberTask, PairSettings, PairTask

TEXTS = [
    "A man, asleep on a bench.",
    "",
    "A woman asleep; the man's bench!",
    "Two MEN and a woman,\n\n sleeping\t(on 2 benches).\n",
    " \n ",
    "Zwei M\u00e4nner schlafen\nauf B\u00e4nken \u2013 tief.",
    "\u7537\u304c\u5bdd\u3066\u3044\u308b\u3002",
    "",
]
OTHERS = ["Z\u00fcrich? A man!", "\u00bf\u00bf", "", "a\nb\n\nc", "asleep " * 30, "x" * 300]  # with unknown symbols


def vocabulary(split):
    return {"vocabulary": 60} if split == "subwords" else {}


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize(("lowercase", "strip_accents"), itertools.product([False, True], repeat=2))
@pytest.mark.parametrize("split", TOKENIZERS)
def test_ids_are_those_of_each_text_by_itself(split, lowercase, strip_accents, unknown):
    learned = learn(TEXTS[:4], split, lowercase, strip_accents, **vocabulary(split))
    rules = SymbolRules(learned.symbols, split, lowercase, strip_accents, unknown)
    found = Texts(TEXTS + OTHERS).cut(split, lowercase, strip_accents).encode(rules)
    expected = [rules.encode(text) for text in TEXTS + OTHERS]
    assert [part.tolist() for part in np.split(found.ids, found.starts[1:-1])] == expected
    assert found.lengths.tolist() == [len(ids) for ids in expected]
    assert found.starts[0] == 0
    assert found.starts[-1] == len(found.ids)
    assert found.ids.dtype == np.int32


@pytest.mark.parametrize("kind", [Text, Lines])
@pytest.mark.parametrize("split", TOKENIZERS)
def test_a_field_encodes_many_texts_as_it_does_one(split, kind):
    field = kind.learn(TEXTS, tokenizer=split, limit=1000, **vocabulary(split))
    found = field.stretches(TEXTS + OTHERS)
    parts = np.split(found.ids, found.starts[1:-1])
    for text, part in zip(TEXTS + OTHERS, parts, strict=True):
        np.testing.assert_array_equal(part, field.arrays(text)["ids"])
    assert (lines.MARK in field.rules.ids) == (kind is Lines or split == "characters")


@pytest.mark.parametrize("split", TOKENIZERS)
def test_a_target_encodes_many_texts_as_it_does_one(split):
    target = Symbols.learn(TEXTS, tokenizer=split, **vocabulary(split))
    found = target.stretches(TEXTS + OTHERS)
    for text, part in zip(TEXTS + OTHERS, np.split(found.ids, found.starts[1:-1]), strict=True):
        np.testing.assert_array_equal(part, target.arrays(text)["tokens"])


def test_nothing_at_all():
    for texts in ([], ["", " "]):
        cut = Cut([[] for _ in texts])
        assert (cut.tokens, cut.counts) == ([], Counter())
        for split in TOKENIZERS:
            found = Texts(texts).cut(split).encode(SymbolRules(("a",), split))
            assert found.ids.tolist() == []
            assert found.starts.tolist() == [0] * (len(texts) + 1)
    assert learn([]).symbols == ()


def test_counts_are_those_of_the_tokens():
    rng = random.Random(0)
    texts = [rng.choices("abcdefg", k=rng.randint(0, 9)) for _ in range(300)]
    cut = Cut(iter(texts))
    assert cut.counts == Counter(token for text in texts for token in text)
    assert [cut.tokens[number] for number in cut.flat] == [token for text in texts for token in text]


@pytest.mark.parametrize("by_lines", [False, True])
@pytest.mark.parametrize("min_count", [1, 2, 3])
@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("split", [split for split in TOKENIZERS if split != "subwords"])
def test_a_vocabulary_is_what_is_counted_by_hand(split, size, min_count, by_lines):
    plain = SymbolRules((), split, "case")
    counts = Counter()
    for text in TEXTS:
        counts.update(lines.tokens(plain, text) if by_lines else plain.tokens(text))
    ranked = sorted((symbol for symbol in counts if counts[symbol] >= min_count), key=lambda s: (-counts[s], s))
    expected = tuple(ranked[:size] if size else ranked)
    if by_lines and lines.MARK not in expected:  # without the mark, there are no lines
        expected += (lines.MARK,)
    rules = learn(TEXTS, split, "case", vocabulary=size, min_count=min_count, by_lines=by_lines)
    assert rules == SymbolRules(expected, split, "case", unknown=len(expected) < len(counts))


@pytest.mark.parametrize("by_lines", [False, True])
def test_pieces_are_learned_from_the_counts_of_words(by_lines):
    plain = SymbolRules((), "words")
    counts = Counter(word for text in TEXTS for line in lines.split_lines(text) for word in plain.tokens(line))
    mark = (lines.MARK,) if by_lines else ()
    assert learn(TEXTS, "subwords", vocabulary=60, by_lines=by_lines).symbols == (*mark, *pieces.learn(counts, 60))


def test_tokens_under_other_names_are_counted_together():
    rng = random.Random(0)
    texts = [rng.choices("aAbBcC", k=rng.randint(0, 9)) for _ in range(100)]
    cut, twin = Cut(texts), Cut([token.lower() for token in text] for text in texts)
    found = cut.renamed(str.lower)
    assert found.counts == twin.counts
    assert sorted(found.tokens) == ["a", "b", "c"]
    assert [found.tokens[number] for number in found.flat] == [token.lower() for text in texts for token in text]
    rules = SymbolRules(("b", "a"), "spaces")
    for one, other in zip(found.encode(rules), twin.encode(rules), strict=True):
        np.testing.assert_array_equal(one, other)
    assert cut.counts == Counter(token for text in texts for token in text)  # the original is unchanged
    assert Cut([]).renamed(str.lower).counts == Counter()
    assert Cut([["a"], ["b"]]).renamed(lambda token: "").counts == Counter({"": 2})


@pytest.mark.parametrize(
    ("counts", "limits", "symbols", "unknown"),
    [
        ({"b": 2, "a": 2, "c": 3}, {}, ("c", "a", "b"), False),
        ({"b": 2, "a": 2, "c": 3}, {"vocabulary": 2}, ("c", "a"), True),
        ({"b": 2, "a": 2, "c": 3}, {"min_count": 3}, ("c",), True),
        ({"": 9, "a": 1}, {}, ("a",), True),
        ({"a": 1, "\n": 1}, {"min_count": 2}, (), True),
        ({"a": 1, "\n": 1}, {"min_count": 2, "by_lines": True}, ("\n",), True),
        ({"a": 1}, {"by_lines": True}, ("a",), False),
        ({}, {}, (), False),
    ],
)
@pytest.mark.parametrize("always", [False, True])
def test_a_vocabulary_comes_from_counts(counts, limits, symbols, unknown, always):
    bare = SymbolRules((), "tokens", True, unknown=always)
    assert learn_from(Counter(counts), bare, **limits) == SymbolRules(
        symbols, "tokens", True, unknown=unknown or always
    )


def test_sentences_are_lines_where_they_are_asked_for():
    texts = Texts(["One here. Two!\nThree", "Four"])
    assert texts.cut("tokens", by_lines=True).counts[lines.MARK] == 1
    assert texts.cut("tokens", by_lines=True, split_sentences=True).counts[lines.MARK] == 2
    assert lines.MARK in learn(["a bc. c"], "tokens", by_lines=True, split_sentences=True).ids
    assert lines.MARK not in learn(["a bc. c"], "tokens", by_lines=True).ids


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"vocabulary": -1}, r"vocabulary: expected at least 0\. Received: -1"),
        ({"min_count": 0}, r"min_count: expected at least 1\. Received: 0"),
        ({"tokenizer": "subwords"}, r"vocabulary: expected a positive size for subwords\. Received: 0"),
        ({"tokenizer": "syllables"}, "tokenizer: expected one of"),
    ],
)
def test_bad_limits_are_refused(limits, message):
    with pytest.raises(ValueError, match=message):
        learn(["a"], **limits)


def test_texts_are_a_list_that_remembers():
    texts = Texts(text for text in ("a b", "c"))
    assert (list(texts), len(texts), texts[1], texts[:1]) == (["a b", "c"], 2, "c", ["a b"])
    assert Texts.of(texts) is texts
    assert texts.cut("spaces") is texts.cut("spaces")
    assert texts.cut("words") is texts.cut("subwords")
    assert texts.cut("spaces") is not texts.cut("spaces", True)
    assert texts.cut("spaces") is not texts.cut("spaces", by_lines=True)


@pytest.fixture
def cuts(monkeypatch):
    """The number of times that each text, or each line of a text, was tokenized."""
    counted, tokens = Counter(), SymbolRules.tokens

    def counting(self, text):
        counted[text] += 1
        return tokens(self, text)

    monkeypatch.setattr(SymbolRules, "tokens", counting)
    return counted


def splits_of(make, parts=(30, 5, 5)):
    """Return splits of examples that are made from their numbers; no text is in two splits."""
    numbers = iter(range(sum(parts)))
    return Splits(*([make(next(numbers)) for _ in range(count)] for count in parts), "made").at_most(0)


TINY = {"units": 4, "embedding": 4, "batch_size": 5, "epochs": 2}


@pytest.mark.parametrize(
    "settings",
    [
        PairSettings(**TINY),
        PairSettings(**TINY, source_tokenizer="words", target_tokenizer="spaces", lowercase=True, strip_accents=True),
        PairSettings(**TINY, source_tokenizer="subwords", target_tokenizer="subwords", vocabulary=40),
        PairSettings(**TINY, source_tokenizer="words", encoder="hierarchical"),
    ],
)
def test_a_training_of_pairs_cuts_every_text_once(settings, cuts):
    """For the vocabulary, the lengths, the batches and the loss together."""
    by_lines = settings.encoder == "hierarchical"
    splits = splits_of(
        lambda i: from_text(f"source {i} of\nsome line {i}" if by_lines else f"source {i}", f"target {i}")
    )
    training = PairTask().open(settings, splits)
    for _ in training.batches(0):
        pass
    training.task.measure(training.model, splits.dev)
    expected = Counter(example.target for example in [*splits.train, *splits.dev])
    for example in [*splits.train, *splits.dev, *splits.test]:
        expected.update(lines.split_lines(example.inputs["text"]) if by_lines else [example.inputs["text"]])
    assert cuts == expected
    assert set(cuts.values()) == {1}


def test_a_training_of_numbers_cuts_every_text_once(cuts):
    splits = splits_of(lambda i: from_text(" ".join(str(i)), "even" if i % 2 == 0 else "odd"))
    training = NumberTask().open(NumberSettings(**TINY), splits)
    for _ in training.batches(0):
        pass
    assert cuts == Counter(example.key for part in (splits.train, splits.dev, splits.test) for example in part)


@pytest.mark.parametrize("split", ["characters", "words"])
@pytest.mark.parametrize("window", [0, 8])
def test_a_training_of_a_language_model_cuts_every_text_once(split, window, cuts):
    splits = splits_of(lambda i: Example("", {}, f"sentence {i} of many"))
    training = LanguageTask(window=window).open(LanguageSettings(**TINY, tokenizer=split, sequence_length=8), splits)
    for _ in training.batches(0):
        pass
    assert cuts == Counter(example.target for example in splits.train)
