"""The readers of single corpora, with small generated files and with the real ones."""

import io
import json
import tarfile

import pytest

from seqattn_tf.training.data import DataWarning, Example, from_text
from seqattn_tf.training.data.corpora import babi, brown, expressions, flickr8k, shakespeare, sick, snli


@pytest.mark.parametrize(
    ("load", "wanted"),
    [
        (shakespeare.characters, "tiny Shakespeare"),
        (shakespeare.dialog, "tiny_shakespeare"),
        (brown.load, "Brown corpus"),
        (flickr8k.load, r"Flickr8k\.token\.txt"),
        (snli.load, "SNLI"),
        (snli.load_labelled, "SNLI"),
        (sick.load, "SICK"),
        (lambda data: babi.load(data, 1), "bAbI"),
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


@pytest.mark.usefixtures("bad_rows_allowed")
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
@pytest.mark.usefixtures("bad_rows_allowed")
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


def test_pairs_with_labels_leave_out_what_was_not_agreed_on(tmp_path):
    for part in ("train", "dev", "test"):
        rows = [f"entailment\tA {part}.\tB.", f"-\tC {part}.\tD.", f"neutral\tE {part}.\tF."]
        (tmp_path / f"{part}.tsv").write_text("\n".join(rows) + "\n")
    splits = snli.load_labelled(tmp_path)
    assert splits.train == [
        Example("A train.\tB.", {"premise": "A train.", "hypothesis": "B."}, "entailment"),
        Example("E train.\tF.", {"premise": "E train.", "hypothesis": "F."}, "neutral"),
    ]
    assert [example.target for example in splits.test] == ["entailment", "neutral"]
    assert snli.is_snli(tmp_path)
    assert snli.is_snli("tfds:snli")
    assert not snli.is_snli("tfds:other")
    assert not snli.is_snli(tmp_path / "train.tsv")
    (tmp_path / "dev.tsv").write_text("neutral\tE\tF\nunrelated\tA\tB\n")
    with pytest.raises(ValueError, match=r"expected entailment, neutral, contradiction, or -\. Received: 'unrelated'"):
        snli.load_labelled(tmp_path)
    (tmp_path / "train.tsv").write_text("premise\thypothesis\tlabel\nA\tB\tyes\n")
    assert not snli.is_snli(tmp_path)


SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n1\tA dog\tNo dog\t3.5\t{}\n"


def test_sick_is_read_by_its_own_split(tmp_path):
    for name in sick.FILES.values():
        (tmp_path / name).write_text(SICK.format("CONTRADICTION"))
    assert sick.is_sick(tmp_path)
    splits = sick.load(tmp_path)
    expected = [Example("A dog\tNo dog", {"premise": "A dog", "hypothesis": "No dog"}, "contradiction")]
    assert splits.train == splits.dev == splits.test == expected
    (tmp_path / sick.FILES["train"]).write_text(SICK.format("MAYBE"))
    with pytest.raises(ValueError, match=r"expected entailment, neutral, contradiction\. Received: 'maybe'"):
        sick.load(tmp_path)
    (tmp_path / sick.FILES["dev"]).unlink()
    with pytest.raises(ValueError, match=r"Received: no SICK_trial\.txt"):
        sick.load(tmp_path)
    assert not sick.is_sick(tmp_path / "elsewhere")


def test_sick_and_snli_whole(shared_data):
    splits = sick.load(shared_data / "sick")
    assert [len(part) for part in (splits.train, splits.dev, splits.test)] == [4500, 500, 4927]
    splits = snli.load_labelled(shared_data / "snli")
    assert [len(part) for part in (splits.train, splits.dev, splits.test)] == [18_000, 9842, 9824]


STORY = """1 Mary moved to the bathroom.
2 John went out.
3 Where is Mary? \tbathroom\t1
4 Mary went home.
5 Where is Mary? \thome\t4
1 Zoe slept.
2 What did Zoe do? \tslept\t1
"""


def test_a_story_is_what_was_told_until_the_question(tmp_path):
    folder = tmp_path / "en"
    folder.mkdir()
    for part in ("train", "test"):
        (folder / f"qa7_counting_{part}.txt").write_text(STORY)
    assert babi.is_babi(tmp_path)
    splits = babi.load(tmp_path, 7)
    first, second, third = splits.test
    assert first.inputs == {
        "story": "Mary moved to the bathroom.\nJohn went out.",
        "question": "Where is Mary?",
    }
    assert second.inputs["story"] == "Mary moved to the bathroom.\nJohn went out.\nMary went home."
    assert (first.target, second.target, third.target) == ("bathroom", "home", "slept")
    assert third.inputs["story"] == "Zoe slept."
    assert [splits.notes[example.key] for example in splits.test] == ["1", "3", "1"]  # only facts count, not questions
    with pytest.raises(ValueError, match="Received: no train file of task 8"):
        babi.load(tmp_path, 8)


@pytest.mark.parametrize("line", ["Mary left.", "2 Where is she?\thome", "2 Where is she?\thome\t9", "x y"])
@pytest.mark.usefixtures("bad_rows_allowed")
def test_a_malformed_line_of_a_story_is_told_and_passed_over(tmp_path, line):
    for part in ("train", "test"):
        (tmp_path / f"qa1_x_{part}.txt").write_text(f"1 Zoe slept.\n{line}\n2 Who slept?\tZoe\t1\n" * 20)
    with pytest.warns(DataWarning, match="line 2: expected"):
        splits = babi.load(tmp_path, 1)
    assert {example.target for example in splits.test} == {"Zoe"}


@pytest.mark.usefixtures("bad_rows_allowed")
def test_a_story_begins_anew_though_its_first_line_is_malformed(tmp_path):
    for part in ("train", "test"):
        (tmp_path / f"qa1_x_{part}.txt").write_text("1 Zoe slept.\n1 Bob\tran\n2 Ann sat.\n3 Who sat?\tAnn\t2\n" * 20)
    with pytest.warns(DataWarning, match="line 2: expected"):
        splits = babi.load(tmp_path, 1)
    assert {example.inputs["story"] for example in splits.test} == {"Ann sat."}


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "not UTF-8"])
def test_a_broken_archive_of_stories_is_refused(tmp_path, damage):
    data = STORY.encode() * 400 if damage != "not UTF-8" else b"1 \xff\xfe\n"
    path = tmp_path / "tasks_1-20_v1-2.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for part in ("train", "test"):
            member = tarfile.TarInfo(f"tasks_1-20_v1-2/en/qa1_x_{part}.txt")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[: len(whole) // 2], "empty": b"", "text": b"hello"}.get(damage, whole))
    with pytest.raises(ValueError, match=r"expected complete files: bAbI.*\. Received: \w+Error"):
        babi.load(tmp_path, 1)


def test_a_line_separator_inside_a_fact_ends_no_line():
    """A U+2028 or U+0085 in a fact is not a line end, so the story must not be lost."""
    lines = "1 Mary\u2028left\x85.\n2 Where is she?\thome\t1\n"
    texts = list(babi._questions(lines, "task 1", {}))
    assert [example.inputs["story"] for example in texts] == ["Mary\u2028left\x85."]


def test_babi_whole(shared_data):
    splits = babi.load(shared_data / "babi", 3)
    assert len(splits.train) + len(splits.dev) == len(splits.test) == 1000
    assert all(len(splits.notes[example.key].split()) == 3 for example in splits.test)
    assert max(example.inputs["story"].count("\n") + 1 for example in splits.train) > 200


def between(tokens):
    """Convert an expression from prefix to infix notation by an independent rule."""
    token = tokens.pop(0)
    if token != "(":
        return token
    operator, below = tokens.pop(0), []
    while tokens[0] != ")":
        below.append(between(tokens))
    tokens.pop(0)
    return f"( {f' {operator} '.join(below)} )"


def deep(text):
    level = most = 0
    for token in text.split():
        level += (token == "(") - (token == ")")
        most = max(most, level)
    return most


def test_expressions_are_right_of_every_depth_and_parted_by_hash():
    splits = expressions.load(4, train=300, held=60)
    parts = [{example.key for example in part} for part in (splits.train, splits.dev, splits.test)]
    assert not parts[0] & parts[1]
    assert not parts[0] & parts[2]
    for example in [*splits.train, *splits.dev, *splits.test]:
        assert between(example.key.split()) == example.target
        assert str(deep(example.key)) == splits.notes[example.key]
    assert {splits.notes[example.key] for example in splits.train} == {"2", "3", "4"}
    assert expressions.load(4, train=300, held=60).train == splits.train
    assert expressions.load(4, train=300, held=60, seed=1).train != splits.train
    with pytest.raises(ValueError, match="max_depth: expected a number from 2 to 12"):
        expressions.load(1)
    with pytest.raises(ValueError, match="max_depth: expected a number from 2 to 12"):
        expressions.load(13)  # nearly all are too long: it would not end
    assert len(expressions.load(12, train=30, held=11).train) == 30
