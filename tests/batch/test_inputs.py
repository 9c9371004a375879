"""Rows of files: each can be read again from its start, and invalid ones have a reason."""

import csv
import gzip
import lzma
import sys

import pyarrow as pa
import pyarrow.parquet
import pytest

from seqattn_tf.batch.inputs import find_files, open_reader, unpack
from seqattn_tf.batch.plan import Job, make
from seqattn_tf.batch.readers import Source

FILES = {
    "a.txt": b"\xef\xbb\xbfone\n\ntwo words\r\nthree",
    "a.jsonl": b'{"text": "one", "n": 1}\n\n{"text": "two\\nlines"}\r\n  \n{"text": "\xc3\xa9"}',
    "a.tsv": b'\xef\xbb\xbfn\ttext\n1\t"one\n\n2\ttwo "quoted"\r\n3\t\n',
    "a.csv": b'\n"n",text\n1,one\n\n2,"two, with ""quotes""\nand a line"\r\n3,""\n',
}
ROWS = {
    "a.txt": [(1, {"text": "one"}), (2, {"text": ""}), (3, {"text": "two words"}), (4, {"text": "three"})],
    "a.jsonl": [(1, {"text": "one", "n": 1}), (3, {"text": "two\nlines"}), (5, {"text": "é"})],
    "a.tsv": [(2, {"n": "1", "text": '"one'}), (4, {"n": "2", "text": 'two "quoted"'}), (5, {"n": "3", "text": ""})],
    "a.csv": [
        (3, {"n": "1", "text": "one"}),
        (5, {"n": "2", "text": 'two, with "quotes"\nand a line'}),
        (7, {"n": "3", "text": ""}),
    ],
    "a.parquet": [(1, {"n": 1, "text": "one"}), (2, {"n": 2, "text": None}), (3, {"n": 3, "text": "three"})],
}


def opened(path, *columns):
    return open_reader(Source(path, path), columns or ["text"])


@pytest.fixture
def folder(tmp_path):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    table = pa.table({"n": [1, 2, 3], "text": ["one", None, "three"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    return tmp_path


@pytest.mark.parametrize("name", ROWS)
def test_every_row_is_read_from_its_mark(folder, name):
    reader = opened(folder / name)
    marks = list(reader.marks())
    assert [mark.line for mark in marks] == [line for line, _ in ROWS[name]]
    for first in range(len(marks)):
        for count in (1, 2, 10):
            rows = list(reader.rows(marks[first], count))
            assert [(row.line, row.values) for row in rows] == ROWS[name][first : first + count]
            assert not any(row.fault for row in rows)


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_packed_files_are_unpacked_once_and_keep_their_names(folder, ending, pack):
    path = folder / f"a.tsv{ending}"
    path.write_bytes(pack(FILES["a.tsv"]))
    source = unpack(path, folder / "room", 3)
    assert source.path == path
    assert source.read.read_bytes() == FILES["a.tsv"]
    assert open_reader(source, ["text"]).name == path.name
    path.unlink()
    assert unpack(path, folder / "room", 3) == source
    path.write_bytes(pack(FILES["a.tsv"] * 100)[:-20])
    with pytest.raises(ValueError, match=rf"a.tsv{ending}: expected a complete {ending} file"):
        unpack(path, folder / "other")
    assert not list((folder / "other").iterdir())


FAULTS = {
    "bad.txt": (b"fine\n\xff\xfe\nfine", {2: "expected UTF-8. Received: invalid start byte"}),
    "bad.jsonl": (
        b'{"text": "a"}\n{"text": \n[1]\n"b"\n{"text": "\xff"}\n' + b"[" * 100_000 + b'\n{"text": "c"}',
        {
            2: "expected JSON. Rec",
            3: "expected a JSON object. Received: [1]",
            4: "a JSON object",
            5: "UTF-8",
            6: "expected JSON",
        },
    ),
    "bad.tsv": (
        b"n\ttext\n1\n1\ta\tb\n1\t\xff\n1\ta\n",
        {2: "2 columns, as in the first line. Received: 1", 3: "3", 4: "UTF-8"},
    ),
    "bad.csv": (
        b'n,text\n1,"open\n2,fine\n3,"a"b\n4,a,b\n5,\xff\n6,"two\nlines"\n7,"to the end\n8,fine\n',
        {
            2: "balanced quotes",
            4: "balanced quotes",
            5: "expected 2 columns, as in the first line. Received: 3",
            6: "UTF-8",
            9: "balanced",
        },
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_no_row_says_why_and_costs_no_other(tmp_path, name):
    data, faults = FAULTS[name]
    (tmp_path / name).write_bytes(data)
    reader = opened(tmp_path / name)
    marks = list(reader.marks())
    rows = list(reader.rows(marks[0], 100))
    assert {row.line for row in rows if row.fault} == set(faults)
    for row in rows:
        assert faults.get(row.line, "") in row.fault
        assert list(reader.rows(marks[rows.index(row)], 1)) == [row]
    assert (
        len([row for row in rows if not row.fault]) == {"bad.txt": 2, "bad.jsonl": 2, "bad.tsv": 1, "bad.csv": 3}[name]
    )


def test_what_was_found_in_place_of_a_row_is_kept(tmp_path):
    (tmp_path / "bad.csv").write_bytes(b'n,text\n1,"open\n2,b\xff\n3,a,b\n')
    reader = opened(tmp_path / "bad.csv")
    found = [row.values for row in reader.rows(next(reader.marks()), 3)]
    assert found == ['1,"open', ["2", "b\\xff"], ["3", "a", "b"]]


def test_semicolons_and_long_cells(tmp_path):
    long = "x, " * 100_000
    (tmp_path / "a.csv").write_text(f'n;text\n1;{long}\n2;"a;b"\n')
    reader = opened(tmp_path / "a.csv")
    assert [row.values["text"] for row in reader.rows(next(reader.marks()), 9)] == [long, "a;b"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "a.csv",
            b"word,n\n",
            r"a.csv: expected columns named \['text'\]\. Received: \['word', 'n'\]; if a column has another name, use",
        ),
        ("a.tsv", b"text\ttext\n", "a.tsv: expected unique column names. Received: 'text' twice"),
        ("a.csv", b'"text\n', "a.csv, line 1: expected balanced quotes"),
        ("a.tsv", b"\xff\n", "a.tsv, line 1: expected UTF-8"),
        ("a.parquet", b"PAR1", "a.parquet: expected a Parquet file. Received: "),
        (
            "a.doc",
            b"",
            r"input: expected a name ending in .jsonl, .csv, .tsv, .txt, .parquet, optionally followed by .gz or .xz",
        ),
    ],
)
def test_files_that_cannot_be_read_at_all(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=message):
        opened(tmp_path / name)


def test_other_encodings_and_texts_for_several_inputs_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("a", encoding="utf-16")
    with pytest.raises(ValueError, match=r"a.txt: expected UTF-8. Received: UTF-16; save it as UTF-8"):
        list(opened(tmp_path / "a.txt").marks())
    with pytest.raises(
        ValueError,
        match=r"input: expected a table with the columns story, question. Received: a.txt, a plain text file",
    ):
        opened(tmp_path / "a.txt", "story", "question")


@pytest.mark.parametrize("name", ["e.txt", "e.jsonl", "e.tsv", "e.csv"])
def test_empty_files_have_no_rows(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    assert list(opened(tmp_path / name).marks()) == []


@pytest.mark.parametrize("name", ["e.tsv", "e.csv"])
def test_names_alone_are_no_rows(tmp_path, name):
    (tmp_path / name).write_bytes(b"text")
    assert list(opened(tmp_path / name).marks()) == []


def test_files_folders_and_patterns(folder):
    (folder / "notes.md").touch()
    (folder / ".hidden.txt").touch()
    names = ["a.csv", "a.jsonl", "a.parquet", "a.tsv", "a.txt"]
    assert [path.name for path in find_files(str(folder))] == names
    assert [path.name for path in find_files(str(folder / "*.[ct]s*"))] == ["a.csv", "a.tsv"]
    assert find_files(str(folder / "a.csv")) == [folder / "a.csv"]
    for wrong in (folder / "none.csv", folder / "*.gz"):
        with pytest.raises(
            ValueError, match=r"input: expected files \(.jsonl, .*\), a folder or a pattern. Received: "
        ):
            find_files(str(wrong))


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "a.parquet").touch()
    with pytest.raises(ValueError, match=r"pip install 'seqattn-tf\[parquet\]'"):
        opened(tmp_path / "a.parquet")


UMLAUTS = "n,text\n" + "".join(f"{n},{'Müller' if n % 3 == 0 else 'Maier'} geht\n" for n in range(60))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.jsonl"])
@pytest.mark.parametrize(
    ("encoding", "named"), [("cp1252", "what appears to be cp1252"), ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16-LE")]
)
def test_a_file_in_another_encoding_is_refused_and_its_encoding_named(tmp_path, name, encoding, named):
    """Rows with umlauts in a Windows-1252 file must not be rejected one by one with exit status 0."""
    (tmp_path / name).write_bytes(UMLAUTS.replace(",", "\t" if name == "a.tsv" else ",").encode(encoding))
    with pytest.raises(ValueError, match=rf"{name}.*: expected UTF-8. Received: {named}; .*--encoding {encoding}"):
        make(Job(tmp_path, (Source(tmp_path / name, tmp_path / name),), {"text": "text"}), 10)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_another_encoding_may_be_set(tmp_path, encoding, pack):
    path = tmp_path / ("a.csv" if pack is bytes else "a.csv.gz")
    path.write_bytes(pack(UMLAUTS.replace("\n", "\r\n").encode(encoding)))
    reader = open_reader(unpack(path, tmp_path / "room", 0, encoding), ["text"])
    rows = list(reader.rows(next(reader.marks()), 100))
    assert [row.values["text"] for row in rows[:2]] == ["Müller geht", "Maier geht"]
    assert (len(rows), [row.line for row in rows[:2]]) == (60, [2, 3])


def test_bytes_that_are_not_in_the_encoding_that_was_set_are_refused(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"fine\nbad \x81\n")
    with pytest.raises(ValueError, match=r"a.txt, line 2: expected cp1252. Received: character maps to"):
        unpack(tmp_path / "a.txt", tmp_path / "room", 0, "cp1252")
    (tmp_path / "a.txt").write_bytes("ü".encode("utf-8-sig"))
    with pytest.raises(ValueError, match=r"a.txt: expected cp1252. Received: the byte order mark of utf-8"):
        unpack(tmp_path / "a.txt", tmp_path / "room", 0, "cp1252")


def test_a_reader_that_is_left_alone_changes_no_limit_of_others(folder):
    """A suspended or abandoned generator must not change `csv.field_size_limit` for the whole process."""
    limit = csv.field_size_limit()
    marks = opened(folder / "a.csv").marks()
    next(marks)
    assert csv.field_size_limit() == limit
