"""Synthetic words: new, similar to real ones, and the same for the same seed."""

import dataclasses
import itertools

import pytest

from seqattn_tf.training import recipes, synthetic
from seqattn_tf.training.data import Splits, from_text
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.synthetic import WordMaker, synthesize_words

WORDS = ["walk", "walking", "walked", "talk", "talking", "untalked", "retalk", "o'neil", "Ann Lee", "Zoë", "a", "mary"]


def splits_of(train, dev=("held",), test=("out",)):
    return Splits(*([from_text(word, "X") for word in part] for part in (train, dev, test)), "made up")


def texts(rows):
    assert all(list(row) == ["text"] for row in rows)
    return [row["text"] for row in rows]


@pytest.fixture(scope="module")
def maker():
    return WordMaker(WORDS, seed=3)


def near(words, letters):
    """Return all results of one edit of words: a letter inserted, replaced or deleted, or two neighbors swapped."""
    for word in words:
        for i in range(len(word) + 1):
            yield from (word[:i] + letter + word[i:] for letter in letters)
            yield from (word[:i] + letter + word[i + 1 :] for letter in letters)
            yield word[:i] + word[i + 1 :]
            yield word[:i] + word[i + 1 : i + 2] + word[i : i + 1] + word[i + 2 :]


def test_no_word_of_any_split_is_made_up_in_any_case():
    """The number of words exceeds all possible ones, so held-out words would be among them."""
    train = ["ab", "ba", "abb", "bab"]
    free = texts(synthesize_words(splits_of(train), 10_000, seed=0))
    assert {"aa", "bb"} < set(free)
    held = splits_of(train, dev=["AA", "bba"], test=["Bb", "baa"])
    found = texts(synthesize_words(held, 10_000, seed=0))
    assert set(free) - set(found) == {"aa", "bba", "bb", "baa"}
    assert not {word.casefold() for word in found} & {*train, "held", "out"}


def test_so_many_each_once_and_the_same_for_a_seed():
    splits = splits_of(WORDS)
    found = texts(synthesize_words(splits, 400, seed=5))
    assert len({word.casefold() for word in found}) == len(found) == 400
    assert texts(synthesize_words(splits, 400, seed=5)) == found
    assert texts(synthesize_words(splits, 90, seed=5)) == found[:90]
    assert texts(synthesize_words(splits, 400, seed=6)) != found
    assert synthesize_words(splits, 0, seed=5) == []


def test_crossovers_share_one_two_or_three_letters_and_are_the_most():
    """The words share only `b`: one of four cuts, one of three lengths, and every second continuation differs."""
    found = [WordMaker(["sabcd", "sxbef"], seed).crossover() for seed in range(3000)]
    assert set(found) == {"sabcd", "sxbef", "sxbcd", "sabef"}
    assert sum(word in ("sxbcd", "sabef") for word in found) / 3000 == pytest.approx(1 / 24, abs=0.012)
    assert synthetic.SHARES["crossover"] > 0.5


def test_letters_lengths_and_spaces_are_those_of_real_words():
    found = texts(synthesize_words(splits_of([*WORDS, "x y"]), 2000, seed=1))
    assert {letter for word in found for letter in word} <= set("".join([*WORDS, "x y"]))
    assert {len(word) for word in found} == set(range(2, 9))  # "untalked" is the longest
    assert all(word == " ".join(word.split()) for word in found)
    assert any(" " in word for word in found)


def test_the_longest_words_are_no_measure():
    words = ["".join(letters) for letters in itertools.product("abcd", repeat=5)][::2]
    assert max(map(len, texts(synthesize_words(splits_of([*words, "a" * 40]), 500, seed=1)))) == 5


def test_too_few_words_end_and_none_is_refused():
    found = texts(synthesize_words(splits_of(["aa"], dev=["a"], test=["b"]), 1000, seed=0))
    assert found == []
    assert 0 < len(synthesize_words(splits_of(["ab", "ba"]), 1000, seed=0)) < 10
    with pytest.raises(ValueError, match=r"words: expected words of at least two letters .* Received: none"):
        synthesize_words(splits_of(["a", "b"]), 5, seed=0)


@pytest.mark.parametrize("shared", [1, 2, 3])
def test_a_crossover_is_a_beginning_and_an_end_that_meet_at_one_place_after_the_same_letters(shared, monkeypatch):
    monkeypatch.setattr(synthetic, "SHARED", (shared,))
    maker = WordMaker(WORDS, seed=3)
    cuts = [(word[:i], word[i:]) for word in maker.words for i in range(1, len(word))]
    alike = [(one, other, end) for one, _ in cuts for other, end in cuts if len(one) == len(other)]
    allowed = {one + end for one, other, end in alike if one[-shared:] == other[-shared:]}
    found = {maker.crossover() for _ in range(20_000)}
    assert found <= allowed
    assert len(found) > 0.9 * len(allowed)


def test_an_edit_changes_one_or_two_letters():
    words = ["walk", "o'neil"]
    maker, letters = WordMaker(words, seed=3), {*"".join(words)}
    once = set(near(words, letters))
    twice = set(near(once, letters))
    found = [maker.edited() for _ in range(2000)]
    assert set(found) <= {*words, *once, *twice}
    assert 0.3 < sum(made not in once for made in found) / len(found) < 0.5
    assert {len(made) for made in found} == {2, 3, 4, 5, 6, 7, 8}


def test_each_edit_and_letters_replaced_by_their_kind():
    found = {WordMaker(["bade", "x"], seed)._edit("bade") for seed in range(2000)}
    replaced = {word for word in found if len(word) == 4 and sum(map(str.__ne__, word, "bade")) == 1}
    assert replaced == {"dade", "bede", "babe", "bada"}
    assert {word for word in found if len(word) == 3} == {"ade", "bde", "bae", "bad"}
    assert {"abde", "bdae", "baed"} <= found
    assert {word for word in found if len(word) == 5} >= {"abade", "badbe", "baade"}


def test_kinds_of_letters():
    kinds = {letter: synthetic._kind(letter) for letter in "aÉyébñд-' ア"}
    assert {letter for letter, kind in kinds.items() if kind == "vowel"} == set("aÉyé")
    assert {letter for letter, kind in kinds.items() if kind == "mark"} == set("-' ")


def test_affixes_are_what_stands_at_other_words():
    maker = WordMaker(["walk", "walks", "walking", "talk", "talking", "untalk", "retalk", "unwalk"], seed=0)
    assert maker.suffixes == ["ing", "s"]
    assert maker.prefixes == ["un", "re"]
    maker.short = ["walk", "talk"]
    found = {maker.joined() for _ in range(2000)}
    behind = {affix + word for affix in maker.prefixes for word in maker.words}
    before = {word + affix for affix in maker.suffixes for word in maker.words}
    both = {"walkwalk", "walktalk", "talkwalk", "talktalk"}
    assert found == behind | before | both


def test_compounds_are_of_short_words():
    maker = WordMaker(["ab", "cd", "efghi", "jklmno"], seed=0)
    assert {maker.joined() for _ in range(500)} == {"abab", "abcd", "cdab", "cdcd"}
    alone = WordMaker(["efghi"], seed=0)
    assert {alone.joined() for _ in range(50)} == {"efghi"}


def test_kinds_come_in_their_shares(maker, monkeypatch):
    for name in synthetic.SHARES:
        monkeypatch.setattr(maker, name, lambda name=name: name)
    made = [maker.make() for _ in range(5000)]
    assert sum(synthetic.SHARES.values()) == pytest.approx(1)
    for name, share in synthetic.SHARES.items():
        assert made.count(name) / len(made) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("name", ["pronounce", "transliterate"])
def test_recipes_of_words_can_make_them_up(name):
    assert recipes.get(name).synthesize is synthesize_words
    assert recipes.get("translate").synthesize is None


def test_a_recipe_remembers_who_makes_up_its_inputs(monkeypatch):
    monkeypatch.setattr(Recipe, "made", dict(Recipe.made))
    recipe = dataclasses.replace(recipes.get("transliterate"), name="mine", synthesize=splits_of)
    assert __name__ in recipe.plugins
    assert __name__ not in recipes.get("transliterate").plugins
