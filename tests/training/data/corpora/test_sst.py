"""The sentiment treebank: trees and plain words, five sentiments and two, and lines that are not trees."""

import pytest

from seqattn_tf.training.data import DataWarning, Example
from seqattn_tf.training.data.corpora import sst

GOOD = "(3 (2 The) (4 (3 good) (2 film)))"
FLAT = "(2 (2 a) (2 film))"
BAD = "(1 (2 The) (0 (2 film) (1 (0 bad) (1 film))))"
ONE = "(4 Wow)"


def write(folder, train, dev=(GOOD,), test=(BAD,)):
    for part, lines in (("train", train), ("dev", dev), ("test", test)):
        (folder / f"{part}.txt").write_text("".join(f"{line}\n" for line in lines))
    return folder


def pairs(part):
    return [(example.inputs["text"], example.target) for example in part]


def test_a_text_is_its_tree_and_every_node_is_learned_from(tmp_path):
    splits = sst.load(write(tmp_path, [GOOD, FLAT, BAD, ONE]))
    neutral, positive, negative = "neutral", "positive", "negative"
    assert splits.train == [
        Example("The good film", {"text": GOOD}, (positive, neutral, "very positive", positive, neutral)),
        Example("a film", {"text": FLAT}, (neutral, neutral, neutral)),
        Example(
            "The film bad film",
            {"text": BAD},
            (negative, neutral, "very negative", neutral, negative, "very negative", negative),
        ),
        Example("Wow", {"text": ONE}, ("very positive",)),
    ]
    assert pairs(splits.dev) == [(GOOD, "positive")]
    assert pairs(splits.test) == [(BAD, "negative")]
    assert splits.origin == "SST, five sentiments, all phrases"
    assert splits.labels == ("very negative", negative, neutral, positive, "very positive")


def test_sentences_alone_have_one_sentiment(tmp_path):
    splits = sst.load(write(tmp_path, [GOOD, FLAT]), phrases=False)
    assert pairs(splits.train) == [(GOOD, "positive"), (FLAT, "neutral")]
    assert splits.origin == "SST, five sentiments"


def test_of_two_sentiments_neutral_sentences_are_left_out_and_neutral_nodes_have_none(tmp_path):
    splits = sst.load(write(tmp_path, [GOOD, FLAT, BAD], [FLAT, GOOD], [ONE, FLAT]), binary=True)
    assert pairs(splits.train) == [
        (GOOD, ("positive", "", "positive", "positive", "")),
        (BAD, ("negative", "", "negative", "", "negative", "negative", "negative")),
    ]
    assert (pairs(splits.dev), pairs(splits.test)) == ([(GOOD, "positive")], [(ONE, "positive")])
    assert splits.origin == "SST, two sentiments, all phrases"
    assert splits.labels == ("negative", "positive")
    with pytest.raises(ValueError, match=r"dev\.txt: expected at least one tree\. Received: no malformed ones"):
        sst.load(write(tmp_path, [GOOD], [FLAT]), binary=True)


def test_phrases_of_plain_words_are_examples_of_their_own_in_train_alone(tmp_path):
    splits = sst.load(write(tmp_path, [GOOD], [GOOD], [FLAT]), trees=False)
    assert splits.train == [
        Example(text, {"text": text}, label)
        for text, label in [
            ("The good film", "positive"),
            ("The", "neutral"),
            ("good film", "very positive"),
            ("good", "positive"),
            ("film", "neutral"),
        ]
    ]
    assert pairs(splits.dev) == [("The good film", "positive")]
    assert pairs(splits.test) == [("a film", "neutral")]
    alone = sst.load(write(tmp_path, [GOOD, BAD]), trees=False, phrases=False)
    assert pairs(alone.train) == [("The good film", "positive"), ("The film bad film", "negative")]


def test_of_two_sentiments_neutral_phrases_of_plain_words_are_left_out(tmp_path):
    folder = write(tmp_path, [GOOD, FLAT], [GOOD, FLAT])
    splits = sst.load(folder, binary=True, trees=False)
    assert pairs(splits.train) == [("The good film", "positive"), ("good film", "positive"), ("good", "positive")]
    assert pairs(splits.dev) == [("The good film", "positive")]
    assert pairs(sst.load(folder, binary=True, trees=False, phrases=False).train) == [("The good film", "positive")]


@pytest.mark.parametrize("trees", [True, False])
@pytest.mark.parametrize(
    "line",
    ["(3 (2 The) (2 film)", "(3 (2 The) (2 film)))", "(5 film)", "(x film)", "(3)", "film", "(3 (2 a) (2 b) (2 c))"],
)
@pytest.mark.usefixtures("bad_rows_allowed")
def test_what_is_no_tree_of_sentiments_is_passed_over(tmp_path, line, trees):
    folder = write(tmp_path, ["", GOOD, line, "  ", ONE, ""])
    with pytest.warns(DataWarning) as caught:
        splits = sst.load(folder, trees=trees, phrases=False)
    expected = f"train.txt, line 3: expected a tree with sentiments from 0 to 4. Received: {line!r}"
    assert [str(warning.message) for warning in caught] == [expected]
    assert [example.target for example in splits.train] == ["positive", "very positive"]


@pytest.mark.usefixtures("bad_rows_allowed")
def test_what_is_no_utf8_is_passed_over(tmp_path):
    write(tmp_path, [])
    (tmp_path / "train.txt").write_bytes(b"(2 \xff)\n" + GOOD.encode())
    with pytest.warns(DataWarning) as caught:
        splits = sst.load(tmp_path)
    [said] = [str(warning.message) for warning in caught]
    assert said == "train.txt, line 1: expected UTF-8. Received: 'invalid start byte'"
    assert pairs(splits.train)[0][0] == GOOD


def test_no_tree_at_all_is_refused(tmp_path):
    with (
        pytest.warns(DataWarning, match=r"train\.txt, line [12]: expected a tree"),
        pytest.raises(ValueError, match=r"train\.txt: expected at least one tree\. Received: 2 malformed ones"),
    ):
        sst.load(write(tmp_path, ["film", "(film"]))
    with pytest.raises(ValueError, match=r"train\.txt: expected at least one tree\. Received: no malformed ones"):
        sst.load(write(tmp_path, ["", ""]))


def test_a_missing_part_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"data: expected a folder with the Stanford Sentiment Treebank.*none"):
        sst.load(None)
    write(tmp_path, [GOOD])
    (tmp_path / "dev.txt").unlink()
    with pytest.raises(ValueError, match=r"expected the Stanford Sentiment Treebank.*Received: no dev file"):
        sst.load(tmp_path)


def test_a_treebank_is_known_by_its_first_bracket(tmp_path):
    assert not sst.is_treebank(None)
    assert not sst.is_treebank(tmp_path)
    assert not sst.is_treebank(tmp_path / "nowhere")
    assert sst.is_treebank(write(tmp_path, [GOOD]))
    assert not sst.is_treebank(tmp_path / "train.txt")
    assert not sst.is_treebank(write(tmp_path, ["a text", GOOD]))
    (tmp_path / "train.txt").rename(tmp_path / "train.csv")
    assert not sst.is_treebank(tmp_path)


def test_sentiments_whole(shared_data):
    assert sst.is_treebank(shared_data / "sst")
    splits = sst.load(shared_data / "sst", phrases=False)
    assert [len(part) for part in (splits.train, splits.dev, splits.test)] == [8_544, 1_101, 2_210]
    neutral = [sum(example.target == "neutral" for example in part) for part in (splits.train, splits.dev, splits.test)]
    assert [8_544 - neutral[0], 1_101 - neutral[1], 2_210 - neutral[2]] == [6_920, 872, 1_821]
