"""Caption metrics compared with pycocoevalcap 1.2, the reference implementation, and with exact values."""

import pytest

from seqattn_tf.training.metrics import captions, cider
from seqattn_tf.training.metrics.captions import plain_words

RIGHT = {
    "a": ["a black dog runs in the grass", "a dog is running", "the dog runs fast"],
    "b": ["two men sit on a bench", "two people on a bench near water", "men sitting"],
    "c": ["a red ball", "a ball on a table", "the ball is red and small"],
}
SAID = {"a": "a dog runs in the water", "b": "two men men men on a bench", "c": "a red dog on a table"}
# The metrics of these captions in pycocoevalcap 1.2, in points.
COUNTED = {"bleu1": 74.89969578, "bleu2": 66.64249274, "bleu3": 50.61203897, "bleu4": 33.30243384, "cider": 198.6038255}


def test_as_the_field_counts():
    found = captions(SAID, RIGHT)
    assert found.keys() == COUNTED.keys()
    for name, value in COUNTED.items():
        assert found[name] == pytest.approx(value, abs=1e-4), name


def test_case_punctuation_and_spaces_do_not_count():
    loud = {key: f"  {text.upper()} . " for key, text in SAID.items()}
    dotted = {key: [f"{text.capitalize()} !" for text in texts] for key, texts in RIGHT.items()}
    assert captions(loud, dotted) == pytest.approx(captions(SAID, RIGHT))
    assert plain_words('Don\'t stop, mid-air -- "yes"') == ["don't", "stop", "mid-air", "yes"]


def test_the_number_of_right_captions_may_differ():
    fewer = {**RIGHT, "b": RIGHT["b"][-1:]}
    assert 0 < captions(SAID, fewer)["bleu1"] < captions(SAID, RIGHT)["bleu1"]


def test_rare_words_count_more_and_those_of_every_picture_not_at_all():
    common = [["a", "dog"], ["a", "cat"], ["a", "bird"]]
    pairs = [(["a"], [words]) for words in common]
    assert cider(pairs) == 0
    # No common n-grams of three or four words.
    assert cider([(words, [words]) for words in common]) == pytest.approx(500)


def test_saying_a_word_again_and_again_gains_nothing():
    right = [["red", "ball"], ["two", "dogs"]]
    once, often = ([(said, [right[0]]), (right[1], [right[1]])] for said in (["red", "ball"], ["red"] * 8))
    assert cider(often) < cider(once) / 1.5


def test_nothing_said_and_too_little_are_zero_and_no_fault():
    assert captions({"a": "", "b": "two men"}, {"a": ["a dog"], "b": ["two men"]})["bleu4"] == 0
    assert captions({"a": ""}, {"a": ["a dog"]})["cider"] == 0
    with pytest.raises(ValueError, match="expected at least one"):
        captions({}, {})
