"""The file source: its formats, and all kinds of invalid folders and lines."""

import gzip
import json
import lzma
import warnings

import pytest

from seqattn_tf.training.data import files, from_text
from seqattn_tf.training.data.reading import SPELLED_OUT, read_rows, read_text

OPENERS = {"": open, ".gz": gzip.open, ".xz": lzma.open}
WORDS = {
    "train": ["ein Hund", "zwei\u2028Hunde", "drei\x85Hunde"],
    "val": ["eine Katze"],
    "test_2016": ["kein Tier"],
}


def load(data, source, target, **how):
    return files.load(data, {"text": source}, target, **how)


def examples_of(part):
    return [from_text(text, text.upper()) for text in WORDS[part]]


def write(path, data, packing="", end="\n"):
    with OPENERS[packing](path.with_name(path.name + packing), "wb") as out:
        out.write(data if isinstance(data, bytes) else "".join(line + end for line in data).encode())


def parallel(folder, packing="", end="\n", bom=""):
    for part in WORDS:
        write(folder / f"{part}.de", [bom + WORDS[part][0], *WORDS[part][1:]], packing, end)
        write(folder / f"{part}.en", [example.target for example in examples_of(part)], packing, end)
    return "de", "en"


def tsv(folder, packing="", end="\n", bom=""):
    for part in WORDS:
        rows = [f"{i}\t{example.target}\t{example.key}" for i, example in enumerate(examples_of(part))]
        write(folder / f"{part}.tsv", [bom + rows[0], *rows[1:]], packing, end)
    return "2", "1"


def tsv_with_names(folder, packing="", end="\n", bom=""):
    for part in WORDS:
        rows = [f"{example.target}\t{example.key}" for example in examples_of(part)]
        write(folder / f"{part}18k.tsv", [bom + "english\tgerman", *rows], packing, end)
    return "german", "english"


def jsonl(folder, packing="", end="\n", bom=""):
    for part in WORDS:
        rows = [{"a": example.key, "b": example.target, "c": 1} for example in examples_of(part)]
        rows = [json.dumps(row, ensure_ascii=False) for row in rows]
        write(folder / f"my-{part}.jsonl", [bom + rows[0], *rows[1:]], packing, end)
    return "a", "b"


@pytest.mark.parametrize("packing", OPENERS)
@pytest.mark.parametrize("form", [parallel, tsv, tsv_with_names, jsonl])
def test_forms_and_packings(tmp_path, form, packing):
    splits = load(tmp_path, *form(tmp_path, packing), test="test_2016")
    assert splits.train == examples_of("train")
    assert splits.dev == examples_of("val")
    assert splits.test == examples_of("test_2016")
    assert all(part in splits.origin for part in WORDS)
    assert "held out" not in splits.origin
    assert str(tmp_path) not in splits.origin


@pytest.mark.parametrize("form", [parallel, tsv, tsv_with_names, jsonl])
def test_carriage_returns_and_a_byte_order_mark_are_no_text(tmp_path, form):
    splits = load(tmp_path, *form(tmp_path, end="\r\n", bom="\ufeff"), test="test_2016")
    assert splits.train == examples_of("train")


@pytest.mark.parametrize("name", ["dev", "val", "valid", "validation", "Dev", "newscrawl.dev-2"])
def test_names_of_the_development_part(tmp_path, name):
    for part in ("train", name, "test"):
        write(tmp_path / f"{part}.tsv", [f"{part}\tx"])
    assert load(tmp_path, "0", "1").dev == [from_text(name, "x")]


def test_one_test_set_of_several(tmp_path):
    de_en = parallel(tmp_path)
    for language in de_en:
        write(tmp_path / f"test_2017.{language}", ["zwei"])
    with pytest.raises(ValueError, match=r"expected one test set; select one.*test_2016.de \+ test_2016.en.*2017"):
        load(tmp_path, *de_en)
    assert load(tmp_path, *de_en, test="test_2017").test == [from_text("zwei", "zwei")]
    with pytest.raises(ValueError, match=r"test: expected a part of the name of a test file.*Received: 'test_2018'"):
        load(tmp_path, *de_en, test="test_2018")
    with pytest.raises(ValueError, match="test: expected a part of the name"):
        load(tmp_path, *de_en, test="")
    for language in de_en:
        write(tmp_path / f"test.{language}", ["nur test"])
    assert load(tmp_path, *de_en).test == [from_text("nur test", "nur test")]  # nothing is added to its name


def test_parts_that_are_not_there_are_held_out_by_source(tmp_path):
    write(tmp_path / "train.tsv", [f"source {i % 500}\ttarget {i}" for i in range(1000)])
    splits = load(tmp_path, "0", "1")
    assert splits.origin == "train.tsv (dev and test held out of train by hash of the source)"
    sources = [{example.key for example in part} for part in (splits.train, splits.dev, splits.test)]
    assert len(set.union(*sources)) == sum(map(len, sources)) == 500
    assert 30 <= len(splits.dev) <= 80
    assert 60 <= len(splits.test) <= 140
    write(tmp_path / "dev.tsv", ["a\tb"])
    other = load(tmp_path, "0", "1")
    assert other.origin == "train.tsv, dev.tsv (test held out of train by hash of the source)"
    assert (other.dev, other.test) == ([from_text("a", "b")], splits.test)
    write(tmp_path / "train.tsv", ["a\tb"])
    with pytest.raises(
        ValueError, match=r"expected pairs for each split\. Received: 1 training, 1 development and 0 test"
    ):
        load(tmp_path, "0", "1")


def reported(read, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return read(*arguments), [str(warning.message) for warning in caught]


@pytest.mark.usefixtures("bad_rows_allowed")
def test_malformed_lines_of_tsv(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_bytes(b"a\tA\nonly one\nb\t \n\xff\tX\n\n c \tC\td\n")
    rows, said = reported(read_rows, path, ["0", "1"])
    assert rows == [("a", "A"), ("c", "C")]
    assert sorted(said) == [
        "train.tsv, line 2: expected at least 2 columns. Received: 'only one'",
        "train.tsv, line 3: expected nonempty text in '1'. Received: ' '",
        "train.tsv, line 4: expected UTF-8. Received: 'invalid start byte'",
    ]


@pytest.mark.usefixtures("bad_rows_allowed")
def test_malformed_lines_of_jsonl(tmp_path):
    path = tmp_path / "train.jsonl"
    lines = ['{"s": "a", "t": "A"}', "{oops", "[1]", '{"s": "b"}', '{"s": "c", "t": [3]}', '{"s": "", "t": "D"}']
    write(path, [*lines, '{"s": "\\ud800", "t": "E"}', "[" * 100_000, '{"s": "f\\ng", "t": "F"}'])
    rows, said = reported(read_rows, path, ["s", "t"])
    assert rows == [("a", "A"), ("f\ng", "F")]
    assert [line.partition(". Received")[0] for line in said] == [
        "train.jsonl, line 2: expected JSON",
        "train.jsonl, line 3: expected a JSON object",
        "train.jsonl, line 4: expected a JSON object with the keys ['s', 't']",
        "train.jsonl, line 5: expected text in 't'",
        "train.jsonl, line 6: expected nonempty text in 's'",
        "train.jsonl, line 7: expected complete characters in 's'",
        "train.jsonl, line 8: expected JSON",
    ]


@pytest.mark.usefixtures("bad_rows_allowed")
def test_malformed_lines_of_parallel_text_drop_their_partner(tmp_path):
    for part in ("dev", "test"):
        for language in ("de", "en"):
            write(tmp_path / f"{part}.{language}", ["x"])
    (tmp_path / "train.de").write_bytes("eins\nzwei\n\xff\nvier\n".encode("latin-1"))
    write(tmp_path / "train.en", ["one", "  ", "three", "four"])
    splits, said = reported(load, tmp_path, "de", "en")
    assert splits.train == [from_text("eins", "one"), from_text("vier", "four")]
    assert sorted(said) == [
        "train.de, line 3: expected UTF-8. Received: 'invalid start byte'",
        "train.en, line 2: expected nonempty text. Received: '  '",
    ]


@pytest.mark.usefixtures("bad_rows_allowed")
def test_many_malformed_lines_are_counted(tmp_path):
    write(tmp_path / "train.tsv", ["good\tline", *["bad"] * 100])
    _, said = reported(read_rows, tmp_path / "train.tsv", ["0", "1"])
    assert len(said) == SPELLED_OUT + 1
    assert said[-1] == "train.tsv: 80 more malformed lines skipped"


@pytest.mark.parametrize("packing", OPENERS)
@pytest.mark.parametrize("form", [parallel, tsv, jsonl])
def test_empty_files_are_refused(tmp_path, form, packing):
    names = form(tmp_path, packing)
    for path in tmp_path.glob("*train*"):
        write(path.with_name(path.name.removesuffix(packing)), b"", packing)
    with pytest.raises(ValueError, match=f"train.*{packing}: expected at least one line. Received: an empty file"):
        load(tmp_path, *names, test="test_2016")


@pytest.mark.parametrize("packing", [".gz", ".xz"])
def test_files_that_break_off_are_refused(tmp_path, packing):
    names = parallel(tmp_path, packing)
    path = tmp_path / f"train.en{packing}"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=rf"train\.en\{packing}: expected a complete \{packing} file"):
        load(tmp_path, *names, test="test_2016")
    path.write_bytes(b"not packed at all")
    with pytest.raises(ValueError, match=rf"train\.en\{packing}: expected a complete"):
        load(tmp_path, *names, test="test_2016")


def test_wrong_folders_and_languages_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"data: expected a folder with train, dev and test files.*Received: none"):
        load(None, "de", "en")
    with pytest.raises(ValueError, match=r"data: expected a folder.*nowhere"):
        load(tmp_path / "nowhere", "de", "en")
    with pytest.raises(ValueError, match=r"expected train\.TEXT with train\.TARGET.*Received: no files"):
        load(tmp_path, "de", "en")
    write(tmp_path / "restrain.de", ["x"])  # "train" is only part of this word
    with pytest.raises(ValueError, match=r"expected train\.TEXT.*Received: \['restrain\.de'\]"):
        load(tmp_path, "de", "en")
    parallel(tmp_path)
    with pytest.raises(ValueError, match=r"text: expected a language of the train files.*\['de', 'en'\].*'fr'"):
        load(tmp_path, "fr", "en")
    with pytest.raises(ValueError, match=r"target: expected a language.*Received: 'fr'"):
        load(tmp_path, "de", "fr")
    (tmp_path / "val.en").unlink()
    with pytest.raises(ValueError, match=r"target: expected a language of the dev files, one of \['de'\].*'en'"):
        load(tmp_path, "de", "en")


def test_mismatched_files_are_refused(tmp_path):
    parallel(tmp_path)
    write(tmp_path / "train.en", ["one", "two"])
    with pytest.raises(ValueError, match=r"equal numbers of lines\. Received: train\.de with 3 and train\.en with 2"):
        load(tmp_path, "de", "en", test="test_2016")
    (tmp_path / "train.en").rename(tmp_path / "train2.en")
    with pytest.raises(ValueError, match="expected train files of the same name in both languages"):
        load(tmp_path, "de", "en", test="test_2016")
    write(tmp_path / "train.en", ["one"])
    write(tmp_path / "train.en", ["one"], ".gz")
    with pytest.raises(ValueError, match=r"expected either train\.en or train\.en\.gz\. Received: both"):
        load(tmp_path, "de", "en", test="test_2016")


def test_all_lines_of_the_longer_file_are_counted(tmp_path):
    """The count must not stop at the end of the shorter file."""
    parallel(tmp_path)
    write(tmp_path / "train.de", ["x"] * 9)
    with pytest.raises(ValueError, match=r"Received: train\.de with 9 and train\.en with 3"):
        load(tmp_path, "de", "en", test="test_2016")


def test_columns_that_are_not_there_are_refused(tmp_path):
    tsv_with_names(tmp_path)
    with pytest.raises(ValueError, match=r"columns named \['french'\] in its first line. Received: \['english', 'ger"):
        load(tmp_path, "french", "english", test="test_2016")
    with (
        pytest.warns(UserWarning, match="expected at least 8 columns"),
        pytest.raises(ValueError, match=r"expected at least one valid row\. Received: 4 malformed"),
    ):
        load(tmp_path, "0", "7", test="test_2016")


def test_read_text(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeffone\r\ntwo\u2028three\n".encode())
    assert read_text(tmp_path / "a.txt") == "one\ntwo\u2028three\n"
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\xff\n")
    with pytest.raises(ValueError, match=r"a\.txt, line 2: expected UTF-8"):
        read_text(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("folder", "names", "counts"),
    [
        ("enja", ("ja", "en"), (50_000, 500, 500)),
        ("multi30k", ("de", "en"), (29_000, 1_014, 1_000)),
        ("katakana", ("0", "1"), (63_246, 15_811, 19_763)),
    ],
)
def test_real_corpora_whole(shared_data, folder, names, counts):
    splits = load(shared_data / folder, *names, test="test_2016" if folder == "multi30k" else "test")
    assert (len(splits.train), len(splits.dev), len(splits.test)) == counts
