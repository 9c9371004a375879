"""The readers of single corpora, on files made here and on the real ones."""

import json

import pytest

from seqattn_tf.training.data import Example, brown, flickr8k, from_text, shakespeare, snli


@pytest.mark.parametrize(
    ("load", "wanted"),
    [
        (shakespeare.characters, "tiny Shakespeare"),
        (shakespeare.dialog, "tiny_shakespeare"),
        (brown.load, "Brown corpus"),
        (flickr8k.load, r"Flickr8k\.token\.txt"),
        (snli.load, "SNLI"),
    ],
)
def test_says_what_to_bring(load, wanted, tmp_path):
    with pytest.raises(ValueError, match=f"data: expected a folder with .*{wanted}.*Received: none"):
        load(None)
    with pytest.raises(ValueError, match=r"expected .*Received: "):
        load(tmp_path)


def test_characters_are_split_by_position(tmp_path):
    text = "abcdefghij" * 3
    (tmp_path / "plays.txt").write_text(text)
    splits = shakespeare.characters(tmp_path)
    parts = [splits.dev, splits.train, splits.test]
    assert parts == [[Example("", {}, part)] for part in (text[:1], text[1:27], text[27:])]
    (tmp_path / "plays.txt").write_text("short")
    with pytest.raises(ValueError, match=r"characters of plays\.txt: expected at least 20\. Received: 5"):
        shakespeare.characters(tmp_path)
    (tmp_path / "more.txt").write_text("x")
    with pytest.raises(ValueError, match=r"expected one \.txt file.*more\.txt"):
        shakespeare.characters(tmp_path)


def test_speeches_answer_the_ones_before_within_their_split(tmp_path):
    blocks = [f"SPEAKER {i}:\nspeech {i}\nwith three  more words" for i in range(30)]
    (tmp_path / "plays.txt").write_text("\n\n".join(["ACT I", *blocks, "NOBODY:"]) + "\n")
    splits = shakespeare.dialog(tmp_path, turns=2, words=3)
    assert splits.train[0] == from_text("speech 0 with", "speech 1 with")
    assert splits.train[4] == from_text("speech 3 with\nspeech 4 with", "speech 5 with")
    assert splits.dev[0] == from_text("speech 24 with", "speech 25 with")
    assert splits.test[-1] == from_text("speech 27 with\nspeech 28 with", "speech 29 with")
    with pytest.raises(ValueError, match="turns, words: expected at least 1"):
        shakespeare.dialog(tmp_path, turns=0)


def test_shakespeare_whole(shared_data):
    folder = shared_data / "shakespeare"
    splits = shakespeare.characters(folder)
    assert [len(part[0].target) for part in (splits.train, splits.dev, splits.test)] == [948_085, 55_769, 111_540]
    splits = shakespeare.dialog(folder)
    assert splits.train[0].key == "Before we proceed any further, hear me speak."
    assert splits.train[3].inputs["text"].count("\n") == 2
    assert max(len(example.target.split()) for example in splits.train) == 30


def test_brown_loses_its_tags_and_reports_words_without(tmp_path):
    lines = ["### ca01 news", "The/at jury/nn", "no tags", "one/cd half/nn 1/2/cd", *["a/at b/nn"] * 8]
    (tmp_path / "brown.txt").write_text("\n".join(lines))
    with pytest.warns(UserWarning, match=r"brown\.txt, line 3: expected word/tag\. Received: 'no tags'"):
        splits = brown.load(tmp_path)
    assert [example.target for example in splits.train[:2]] == ["The jury", "one half 1/2"]
    assert len(splits.train) + len(splits.dev) + len(splits.test) == 10


def test_brown_whole(shared_data):
    splits = brown.load(shared_data / "brown")
    assert len(splits.train) + len(splits.dev) + len(splits.test) == 57_340
    words = [sum(len(example.target.split()) for example in part) for part in (splits.train, splits.dev, splits.test)]
    assert sum(words) == 1_161_192
    assert words[0] / sum(words) == pytest.approx(800 / 1181, abs=1e-4)


@pytest.mark.parametrize("lists", [True, False])
def test_captions_from_the_others(tmp_path, lists):
    names = {"train": ["a.jpg", "odd.jpg"], "dev": ["b.jpg"], "test": ["c.jpg"]}
    rows = [f"{name}#{i}\t{name[0]} {i}" for part in names.values() for name in part for i in range(5)]
    (tmp_path / "Flickr8k.token.txt").write_text("\n".join(row for row in rows if row != "odd.jpg#4\to 4"))
    if lists:
        for part, listed in names.items():
            (tmp_path / f"Flickr_8k.{part}Images.txt").write_text("\n".join(listed) + "\n")
    else:
        table = [f"{name}\t{part}" for part, listed in names.items() for name in listed]
        (tmp_path / "names_split.tsv").write_text("\n".join([*table, "d.jpg\tnone"]))
    with pytest.warns(UserWarning, match=r"odd\.jpg: expected 5 captions\. Received: 4"):
        splits = flickr8k.load(tmp_path)
    assert len(splits.train) == 5
    assert splits.train[1] == from_text("\n".join(["a 0", "a 2", "a 3", "a 4"]), "a 1")
    assert splits.dev == [from_text("\n".join(["b 0", "b 1", "b 2", "b 3"]), "b 4")]
    assert splits.test == [from_text("\n".join(["c 0", "c 1", "c 2", "c 3"]), "c 4")]


def test_captions_whole(shared_data):
    splits = flickr8k.load(shared_data / "flickr8k")
    assert (len(splits.train), len(splits.dev), len(splits.test)) == (30_000, 1_000, 1_000)


@pytest.mark.parametrize("form", ["tsv", "jsonl"])
def test_hypotheses_of_one_label(tmp_path, form):
    for part in ("train", "dev", "test"):
        rows = [(label, f"{part} premise", f"{label} hypothesis") for label in (*snli.LABELS, "-")]
        keys = ("gold_label", "sentence1", "sentence2")
        lines = ["\t".join(row) if form == "tsv" else json.dumps(dict(zip(keys, row, strict=True))) for row in rows]
        (tmp_path / f"snli_1.0_{part}.{form}").write_text("\n".join(lines) + "\n")
    for label in snli.LABELS:
        splits = snli.load(tmp_path, label)
        assert splits.test == [from_text("test premise", f"{label} hypothesis")]
        assert splits.origin.endswith(label)
    with pytest.raises(ValueError, match=r"label: expected one of .*Received: 'maybe'"):
        snli.load(tmp_path, "maybe")


def test_snli_whole(shared_data):
    splits = snli.load(shared_data / "snli")
    assert (len(splits.train), len(splits.dev), len(splits.test)) == (6_015, 3_329, 3_368)
