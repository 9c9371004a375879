"""Data in many files: shards in a folder, and patterns."""

import gzip

import pytest

from seqattn_tf.training.data import DataWarning, files, finding, sources, windows
from seqattn_tf.training.data.corpus import Corpus


@pytest.fixture(autouse=True)
def _cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def rows(first, last):
    return [(f"word {n}", f"wort {n}") for n in range(first, last)]


def write(path, pairs):
    text = "".join(f"{a}\t{b}\n" for a, b in pairs).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def pairs_of(examples):
    return [(example.inputs["text"], example.target) for example in examples]


def load(data, **how):
    return files.load(data, {"text": "0"}, "1", **how)


def everything(splits):
    return sorted(pairs_of([*splits.train, *splits.dev, *splits.test]))


@pytest.mark.parametrize("stream", ["never", "always"])
@pytest.mark.parametrize("ending", [".tsv", ".tsv.gz"])
def test_shards_are_one_set(tmp_path, stream, ending):
    for number in (1, 0, 2):
        write(tmp_path / f"train-{number:05d}-of-00003{ending}", rows(100 * number, 100 * number + 100))
    write(tmp_path / "dev.tsv", rows(1000, 1010))
    write(tmp_path / "test.tsv", rows(2000, 2010))
    found = load(tmp_path, stream=stream)
    assert sorted(pairs_of(found.train)) == sorted(rows(0, 300))
    assert pairs_of(found.dev) == rows(1000, 1010)
    assert isinstance(found.train, Corpus) == (stream == "always")
    assert found.origin == f"train-00000-of-00003{ending} and 2 more, dev.tsv, test.tsv"
    if stream == "never":
        assert pairs_of(found.train) == rows(0, 300)


def test_shards_come_in_the_order_of_their_numbers(tmp_path):
    for number in range(11):
        write(tmp_path / f"train-{number}-of-11.tsv", rows(10 * number, 10 * number + 10))
    for part in ("dev", "test"):
        write(tmp_path / f"{part}.tsv", rows(1000, 1010))
    assert pairs_of(load(tmp_path).train) == rows(0, 110)


def test_shards_of_parallel_text(tmp_path):
    for number in range(2):
        for language, side in (("en", 0), ("de", 1)):
            lines = [pair[side] for pair in rows(200 * number, 200 * number + 200)]
            (tmp_path / f"train-0000{number}-of-00002.{language}").write_text("\n".join(lines) + "\n")
    found = files.load(tmp_path, {"text": "en"}, "de")
    assert everything(found) == sorted(rows(0, 400))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["train-0-of-3.tsv", "train-2-of-3.tsv"], r"expected all of 3 train shards\. Received: 2, \['train-0-of-3"),
        (["train-0-of-2.tsv", "train-1-of-3.tsv"], "expected all of 3 train shards"),
        (["train-0-of-2.tsv", "train-1-of-2.tsv", "train.tsv"], None),
        (["train-0-of-2.tsv", "train-1-of-2.jsonl"], "expected one train set"),
        (["train_a-0-of-2.tsv", "train_b-1-of-2.tsv"], "expected one train set"),
    ],
)
def test_shards_that_are_no_set_are_refused(tmp_path, names, message):
    for name in names:
        write(tmp_path / name, rows(0, 100))
    if message is None:  # a plain name refers to itself
        assert load(tmp_path).origin.startswith("train.tsv (")
    else:
        with pytest.raises(ValueError, match=message):
            load(tmp_path)


@pytest.mark.parametrize("stream", ["never", "always"])
def test_a_pattern_is_all_its_files(tmp_path, stream):
    (tmp_path / "deep").mkdir()
    write(tmp_path / "b.tsv", rows(0, 200))
    write(tmp_path / "a.tsv.gz", rows(200, 400))
    write(tmp_path / "deep" / "c.tsv", rows(400, 600))
    assert everything(load(f"{tmp_path}/*.tsv*", stream=stream)) == sorted(rows(0, 400))
    found = load(f"{tmp_path}/**/[bc].tsv", stream=stream)
    assert everything(found) == sorted(rows(0, 200) + rows(400, 600))
    assert found.origin.startswith(f"{tmp_path}/**/[bc].tsv (2 files) (dev and test held out")
    assert finding.is_there(f"{tmp_path}/*.tsv")
    assert not finding.is_there(f"{tmp_path}/*.csv")
    with pytest.raises(ValueError, match=r"data: expected files that match the pattern\. Received: none for"):
        load(f"{tmp_path}/*.csv")


def test_a_name_with_brackets_is_a_name(tmp_path):
    write(tmp_path / "words[1].tsv", rows(0, 300))
    assert everything(load(tmp_path / "words[1].tsv")) == sorted(rows(0, 300))
    (tmp_path / "set [1]").mkdir()
    for part in ("train", "dev", "test"):
        write(tmp_path / "set [1]" / f"{part}.tsv", rows(0, 30))
    assert pairs_of(load(tmp_path / "set [1]").train) == rows(0, 30)


def test_files_that_are_no_tables_and_columns_that_are_not_there_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("x\n")
    with pytest.raises(ValueError, match=r"expected a folder, or a \.csv, \.tsv, \.jsonl file"):
        load(f"{tmp_path}/*.txt")
    write(tmp_path / "a.tsv", rows(0, 3))
    with (
        pytest.warns(DataWarning),
        pytest.raises(ValueError, match=r"at least one valid row.*--set text_column=0 --set target_column=7"),
    ):
        files.load(f"{tmp_path}/*.tsv", {"text": "0"}, "7", stream="always")
    assert list((tmp_path / "cache" / "seqattn_tf" / "corpora").iterdir()) == []
    (tmp_path / "b.csv").write_text("a,b,part\n1,2,train\n")
    with pytest.raises(ValueError, match="stream: expected auto or never with split_column"):
        files.load(tmp_path / "b.csv", {"text": "a"}, "b", split_column="part", stream="always")


def test_changed_files_and_other_columns_are_read_anew(tmp_path):
    path = tmp_path / "a.tsv"
    write(path, rows(0, 300))
    first = load(path, stream="always")
    assert load(path, stream="always").train.folder == first.train.folder
    turned = files.load(path, {"text": "1"}, "0", stream="always")
    assert everything(turned) == sorted((b, a) for a, b in rows(0, 300))
    write(path, rows(0, 301))
    assert everything(load(path, stream="always")) == sorted(rows(0, 301))


def test_packed_files_are_taken_for_larger(tmp_path, monkeypatch):
    write(tmp_path / "a.tsv.gz", rows(0, 500))
    packed = (tmp_path / "a.tsv.gz").stat().st_size
    monkeypatch.setattr(sources, "IN_MEMORY", packed * 3)
    assert isinstance(load(tmp_path / "a.tsv.gz", stream="auto").train, Corpus)
    monkeypatch.setattr(sources, "IN_MEMORY", packed * 5)
    assert not isinstance(load(tmp_path / "a.tsv.gz", stream="auto").train, Corpus)


def test_a_break_half_way_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(windows, "WINDOW", 500)
    data = gzip.compress("".join(f"{a}\t{b}\n" for a, b in rows(0, 3000)).encode())
    (tmp_path / "a.tsv.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=r"a\.tsv\.gz: expected a complete \.gz file"):
        load(tmp_path / "a.tsv.gz", stream="always")
    assert list((tmp_path / "cache" / "seqattn_tf" / "corpora").iterdir()) == []
