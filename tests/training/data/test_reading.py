"""Tables: quoting, byte order marks, line ends, and invalid lines with their numbers."""

import csv
import gzip

import pytest

from seqattn_tf.core.encodings import guess
from seqattn_tf.training.data import DataWarning, reading
from seqattn_tf.training.data.reading import iter_rows, read_rows, read_text, reading_with


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.usefixtures("bad_rows_allowed")
def test_quotes_hold_commas_quotes_and_line_breaks(tmp_path):
    rows = [("a, b", 'say "hi"'), ("two\nlines", " blanks "), ("plain", "é"), ("", "x")]
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("in", "out"), *rows])
    with pytest.warns(DataWarning, match=r"t\.csv, line 6: expected nonempty text in 'in'\. Received: ''"):
        found = read_rows(tmp_path / "t.csv", ["in", "out"])
    assert found == [("a, b", 'say "hi"'), ("two\nlines", "blanks"), ("plain", "é")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_marks_ends_and_separators_of_other_systems(tmp_path, end, bom, delimiter):
    lines = ["in,out", "a,b", '"c;d,e",f', ""]
    text = bom + end.join(line if '"' in line else line.replace(",", delimiter) for line in lines)
    if delimiter == ";":
        text = text.replace('",f', '";f')
    assert read_rows(write(tmp_path / "t.csv", text), ["out", "in"]) == [("b", "a"), ("f", "c;d,e")]


def test_columns_by_number(tmp_path):
    assert read_rows(write(tmp_path / "t.csv", "a,b,c\nd,e,f\n"), ["2", "0"]) == [
        ("f", "d")
    ]  # the first line contains names
    assert read_rows(write(tmp_path / "t.tsv", "a\tb\tc\nd\te\tf\n"), ["2", "0"]) == [("c", "a"), ("f", "d")]
    # A name takes precedence over a number.
    assert read_rows(write(tmp_path / "t.csv", "7,0\nd,e\n"), ["0", "7"]) == [("e", "d")]


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match=r"t\.csv: expected a single column named 'in'\. Received: \['in', 'in', 'out'\]"
    ):
        read_rows(write(tmp_path / "t.csv", "in,in,out\na,b,c\n"), ["in", "out"])


def test_separators_inside_quotes_are_not_counted(tmp_path):
    path = write(tmp_path / "t.csv", '"a; b; c",out\nd,e\n')
    assert read_rows(path, ["a; b; c", "out"]) == [("d", "e")]


def test_another_encoding_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"t\.csv: expected UTF-8\. Received: UTF-16; save it as UTF-8"):
        read_rows(write(tmp_path / "t.csv", "in,out\na,b\n", "utf-16"), ["in", "out"])


def test_names_without_rows_are_no_malformed_ones(tmp_path):
    with pytest.raises(ValueError, match=r"expected at least one valid row\. Received: no malformed ones"):
        read_rows(write(tmp_path / "t.csv", "in,out\n"), ["in", "out"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("jump,JUMP,JUMP", r"line 3: expected 2 columns, as in the first line\. Received: 'jump,JUMP,JUMP'"),
        ("jump", r"line 3: expected at least 2 columns\. Received: 'jump'"),
        ('"jump" twice,JUMP', r"line 3: expected balanced quotes\. Received: '.jump. twice,JUMP'"),
    ],
)
@pytest.mark.usefixtures("bad_rows_allowed")
def test_a_bad_line_is_named_by_its_number_and_the_rest_is_read(tmp_path, line, message):
    path = write(tmp_path / "t.csv", f"in,out\na,b\n{line}\nc,d\n")
    with pytest.warns(DataWarning, match=message):
        assert read_rows(path, ["in", "out"]) == [("a", "b"), ("c", "d")]


@pytest.mark.usefixtures("bad_rows_allowed")
def test_a_quote_that_never_closes_is_named_by_the_line_it_opens_in(tmp_path):
    path = write(tmp_path / "t.csv", 'in,out\na,b\n"c,d\ne,f\n')
    with pytest.warns(DataWarning, match=r"t\.csv, line 3: expected balanced quotes"):
        assert read_rows(path, ["in", "out"]) == [("a", "b"), ("e", "f")]  # no other line is lost


@pytest.mark.usefixtures("bad_rows_allowed")
def test_a_line_after_one_of_several_lines_keeps_its_number(tmp_path):
    path = write(tmp_path / "t.csv", 'in,out\n"a\nb\nc",d\nonly\ne,f\n')
    with pytest.warns(DataWarning, match=r"t\.csv, line 5: expected at least 2 columns"):
        assert read_rows(path, ["in", "out"]) == [("a\nb\nc", "d"), ("e", "f")]


@pytest.mark.usefixtures("bad_rows_allowed")
def test_a_bad_row_of_several_lines_is_named_by_its_first(tmp_path):
    path = write(tmp_path / "t.csv", 'in,out\na,b\n"c\nd\ne",\nf,g\n')
    with pytest.warns(DataWarning, match=r"t\.csv, line 3: expected nonempty text in 'out'"):
        assert read_rows(path, ["in", "out"]) == [("a", "b"), ("f", "g")]


@pytest.mark.usefixtures("bad_rows_allowed")
def test_bytes_that_are_no_text_spoil_one_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"in,out\na,b\n\xff,x\nc,d\n")
    with pytest.warns(DataWarning, match=r"t\.csv, line 3: expected UTF-8"):
        assert read_rows(path, ["in", "out"]) == [("a", "b"), ("c", "d")]


def test_a_long_cell_is_read_and_the_limit_of_others_left_as_it_was(tmp_path):
    limit = csv.field_size_limit()
    assert limit < 200_000
    long = "x" * 200_000
    assert read_rows(write(tmp_path / "t.csv", f"in,out\n{long},b\n"), ["in", "out"]) == [(long, "b")]
    assert csv.field_size_limit() == limit


@pytest.mark.usefixtures("bad_rows_allowed")
def test_numbers_and_truth_values_of_json_are_texts(tmp_path):
    path = write(tmp_path / "t.jsonl", '{"a": 1, "b": true}\n{"a": 0.5, "b": "x"}\n{"a": null, "b": "y"}\n')
    with pytest.warns(DataWarning, match=r"t\.jsonl, line 3: expected text in 'a'\. Received: 'None'"):
        assert read_rows(path, ["a", "b"]) == [("1", "true"), ("0.5", "x")]


def test_a_quote_of_a_tsv_is_a_quote(tmp_path):
    with gzip.open(tmp_path / "t.tsv.gz", "wt", encoding="utf-8") as file:
        file.write('in\tout\n"a\tb"\n')
    assert read_rows(tmp_path / "t.tsv.gz", ["in", "out"]) == [('"a', 'b"')]


def test_a_column_that_is_not_there_is_named_with_those_that_are(tmp_path):
    path = write(tmp_path / "t.csv", "review,label\na,b\n")
    with pytest.raises(ValueError, match=r"expected columns named \['text'\].*Received: \['review', 'label'\]"):
        read_rows(path, ["text", "label"])


@pytest.mark.usefixtures("bad_rows_allowed")
def test_lines_after_a_quote_that_never_closes_keep_their_order(tmp_path):
    text = "in,out\n" + 'a,"b\n' + "".join(f"{n},{n}\n" for n in range(6))
    with pytest.warns(DataWarning, match=r"t\.csv, line 2: expected balanced quotes"):
        found = read_rows(write(tmp_path / "t.csv", text), ["in", "out"])
    assert found == [(str(n), str(n)) for n in range(6)]


UMLAUTS = "Straße,Ort\n" + "".join(f"{'Müller' if n % 3 == 0 else 'Maier'} {n},Köln\n" for n in range(600))
PLAIN_NAMES = "in,out\n" + "".join(f"{'Müller' if n % 3 == 0 else 'Maier'} {n},Bonn\n" for n in range(600))


@pytest.mark.parametrize("text", [UMLAUTS, PLAIN_NAMES], ids=["names with umlauts", "plain names"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
@pytest.mark.parametrize(
    ("encoding", "named"), [("cp1252", "what appears to be cp1252"), ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16-LE")]
)
def test_a_file_in_another_encoding_is_refused_or_read_as_what_it_is(tmp_path, text, name, encoding, named):
    """The rows with umlauts in a Windows-1252 file must not be lost, nor its second line be taken for the header."""
    columns = text.partition("\n")[0].split(",")
    data = text.replace(",", "\t" if ".tsv" in name else ",").encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(ValueError, match=rf"expected UTF-8. Received: {named}; .*--set encoding={encoding}"):
        read_rows(tmp_path / name, columns)
    with reading_with(encoding=encoding):
        assert read_rows(tmp_path / name, columns) == [tuple(line.split(",")) for line in text.split("\n")[1:-1]]


def test_names_in_another_encoding_are_never_skipped(tmp_path):
    """The next line must not be taken for the names of the columns."""
    (tmp_path / "t.csv").write_bytes("Straße,out\na,b\nin,out\n".encode("cp1252"))
    received = r"t.csv, line 1: expected UTF-8. Received: what appears to be cp1252"
    with pytest.warns(DataWarning, match="line 1"), pytest.raises(ValueError, match=received):
        read_rows(tmp_path / "t.csv", ["in", "out"])


def test_a_text_in_another_encoding_is_refused_or_read_as_what_it_is(tmp_path):
    (tmp_path / "t.txt").write_bytes("eins\nzwölf\nfünf\n".encode("cp1252"))
    with pytest.raises(ValueError, match=r"t.txt, line 2: expected UTF-8. Received: what appears to be cp1252"):
        read_text(tmp_path / "t.txt")
    with reading_with(encoding="cp1252"):
        assert read_text(tmp_path / "t.txt") == "eins\nzwölf\nfünf\n"
    (tmp_path / "t.txt").write_bytes("\ufefffünf".encode())
    with reading_with(encoding="cp1252"), pytest.raises(ValueError, match="Received: the byte order mark of utf-8"):
        read_text(tmp_path / "t.txt")


def test_names_with_an_open_quote_are_refused(tmp_path):
    """The next line must not be taken for the names of the columns."""
    path = write(tmp_path / "t.csv", '"in,out\na,b\n')
    with pytest.warns(DataWarning), pytest.raises(ValueError, match=r"t.csv, line 1: expected balanced quotes"):
        read_rows(path, ["in", "out"])


def test_line_ends_within_a_cell_are_line_feeds(tmp_path):
    assert read_rows(write(tmp_path / "t.csv", 'in,out\r\n"a\r\nb",c\r\n'), ["in", "out"]) == [("a\nb", "c")]


@pytest.mark.usefixtures("bad_rows_allowed")
def test_another_encoding_that_shows_late_is_refused(tmp_path, monkeypatch):
    """The beginning of the file, by which an encoding is guessed, is ASCII."""
    monkeypatch.setattr(reading, "SAMPLE", 10)
    (tmp_path / "t.csv").write_bytes("in,out\na,b\nfünf,c\nzwölf,d\n".encode("cp1252"))
    with pytest.warns(DataWarning), pytest.raises(ValueError, match=r"t.csv: expected UTF-8. Received: another enc"):
        read_rows(tmp_path / "t.csv", ["in", "out"])


@pytest.mark.parametrize("character", ["\u00e9", "\u20ac", "\U0001f600"])
def test_a_sample_that_ends_within_a_character_is_utf_8(character):
    for cut in range(1, len(character.encode())):
        assert guess("d\u00e9j\u00e0 ".encode() + character.encode()[:cut]) == "utf-8"


def test_an_unknown_encoding_is_refused():
    for name in ("klingon", "rot13", ""):
        with pytest.raises(ValueError, match=rf"encoding: expected an encoding .* Received: '{name}'"):
            reading_with(encoding=name).__enter__()


LOST = (
    r"t.csv: expected at most 1 % malformed rows. Received: 2 of 150 \(line 3: .*; line 10: .*\). .*max_bad_rows=0.02$"
)


def test_a_file_that_loses_more_than_one_row_in_a_hundred_is_refused(tmp_path):
    """A large number of malformed rows must not be skipped with only a warning."""
    lines = ["in,out", *["a,b"] * 150]
    lines[2], lines[9] = "only one", "one,too,many"
    path = write(tmp_path / "t.csv", "\n".join(lines) + "\n")
    with pytest.warns(DataWarning, match="line 3"), pytest.raises(ValueError, match=LOST):
        read_rows(path, ["in", "out"])
    with pytest.warns(DataWarning), reading_with(max_bad_rows=0.02):
        assert len(read_rows(path, ["in", "out"])) == 148
    path = write(tmp_path / "t.csv", "\n".join([*lines, *["a,b"] * 50]) + "\n")
    with pytest.warns(DataWarning):
        assert len(read_rows(path, ["in", "out"])) == 198  # 2 of 200 are allowed


@pytest.mark.parametrize(("name", "text"), [("t.jsonl", '{"a": "b"}'), ("t.csv", "a\nb"), ("t.tsv", "a\nb")])
@pytest.mark.filterwarnings("error::seqattn_tf.training.data.DataWarning")
def test_blank_lines_are_no_rows(tmp_path, name, text):
    assert read_rows(write(tmp_path / name, f"\n{text}\n\n"), ["a"]) == [("b",)]


@pytest.mark.usefixtures("bad_rows_allowed")
def test_empty_cells_are_a_row(tmp_path):
    with pytest.warns(DataWarning, match="line 2: expected nonempty text in '0'"):
        assert read_rows(write(tmp_path / "t.tsv", "a\tb\n\t\nc\td\n"), ["0", "1"]) == [("a", "b"), ("c", "d")]


@pytest.mark.usefixtures("bad_rows_allowed")
def test_a_row_with_a_broken_line_is_lost_whole(tmp_path):
    """A row of several lines must not lose one of them and be read as if it were complete."""
    path = tmp_path / "t.csv"
    path.write_bytes(b'in,out\n"a\n\xff\nb",c\nd,e\n')
    with pytest.warns(DataWarning, match=r"t\.csv, line 2: expected UTF-8\. Received: 'invalid start byte'"):
        assert read_rows(path, ["in", "out"]) == [("d", "e")]


def test_a_reader_that_is_left_alone_changes_no_limit_of_others(tmp_path):
    """A suspended or abandoned generator must not change `csv.field_size_limit` for the whole process."""
    limit, path = csv.field_size_limit(), write(tmp_path / "t.csv", "in,out\na,b\nc,d\n")
    rows = iter_rows(path, ["in", "out"])
    assert next(rows) == ("a", "b")
    assert csv.field_size_limit() == limit
    csv.field_size_limit(limit + 1)
    try:
        rows.close()
        assert csv.field_size_limit() == limit + 1
    finally:
        csv.field_size_limit(limit)
