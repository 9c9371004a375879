"""Mapped files contain all rows in order with their columns, answered as if alone; invalid rows are set aside."""

import base64
import csv
import errno
import gzip
import json
import math
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from mapping_toys import TEXTS
from support import strangers
from support.pictures import FINE

from seqattn_tf import presets
from seqattn_tf.batch import Options, local, map_file, shards
from seqattn_tf.lite.answer import Answer


def write(path, texts):
    """Write a file of numbered texts."""
    rows = [{"n": n, "text": text} for n, text in enumerate(texts)]
    if path.suffix == ".txt":
        path.write_text("".join(f"{text}\n" for text in texts))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=11)
    else:
        with path.open("w", newline="") as file:
            if path.suffix == ".csv":
                writer = csv.DictWriter(file, ["n", "text"])
                writer.writeheader()
                writer.writerows(rows)
            else:
                file.write("n\ttext\n" + "".join(f"{row['n']}\t{row['text']}\n" for row in rows))
    return path


def read(path):
    """Read the rows of an output file."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path).to_pylist()
    with path.open(newline="") as file:
        how = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if path.suffix == ".tsv" else {}
        return list(csv.DictReader(file, **how))


@pytest.mark.parametrize("kind", [".jsonl", ".csv", ".tsv", ".txt", ".parquet"])
def test_every_kind_of_input_is_answered_in_order_as_row_by_row(answers_in_place, toy, said, tmp_path, kind):
    source = write(tmp_path / f"in{kind}", TEXTS)
    report = answers_in_place(toy, source, tmp_path / "out.jsonl", batch_size=3)
    assert report == (50, 0, tmp_path / "out.jsonl", tmp_path / "out.jsonl.rejected.jsonl")
    rows = read(tmp_path / "out.jsonl")
    assert [row["text"] for row in rows] == TEXTS
    assert [row.get("n") for row in rows] == [
        {".jsonl": n, ".parquet": n, ".txt": None}.get(kind, str(n)) for n in range(50)
    ]
    answers = said(TEXTS)
    assert len({answer.text for answer in answers}) > 1
    assert [row["answer"] for row in rows] == [answer.text for answer in answers]
    np.testing.assert_allclose([row["score"] for row in rows], [answer.score for answer in answers], atol=2e-6)
    others = [[(other["answer"], other["score"]) for other in row["alternatives"]] for row in rows]
    for found, answer in zip(others, answers, strict=True):
        assert [text for text, _ in found] == [text for text, _ in answer.alternatives]
        np.testing.assert_allclose([s for _, s in found], [s for _, s in answer.alternatives], atol=2e-6)
    assert "attention" not in rows[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source.name, "out.jsonl", "out.jsonl.map.json"])


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".parquet", ".txt"])
@pytest.mark.parametrize("given", [".jsonl", ".csv"])
def test_every_kind_of_output_holds_the_same(answers_in_place, toy, tmp_path, kind, given):
    source = write(tmp_path / f"in{given}", TEXTS)
    for name in ("out.jsonl", f"out{kind}"):
        answers_in_place(toy, source, tmp_path / name)
    expected = read(tmp_path / "out.jsonl")
    if kind == ".txt":
        assert (tmp_path / "out.txt").read_text() == "".join(row["answer"] + "\n" for row in expected)
        return
    found = read(tmp_path / f"out{kind}")
    if kind == ".parquet":
        assert found == expected
    else:
        names = ["n", "text", "answer", "score"]
        assert [list(row) for row in found] == [names] * 50
        assert [{**row, "score": float(row["score"]), "n": int(row["n"])} for row in found] == [
            {name: int(row[name]) if name == "n" else row[name] for name in names} for row in expected
        ]


def test_a_folder_gets_parts_and_so_do_bad_rows(answers_in_place, toy, tmp_path):
    texts = [*TEXTS[:30], "x " * 13, *TEXTS[30:]]
    source = write(tmp_path / "in.jsonl", texts)
    report = answers_in_place(toy, source, tmp_path / "one.jsonl")
    parts = answers_in_place(toy, source, tmp_path / "parts")
    assert parts == (51, 1, tmp_path / "parts", tmp_path / "parts/rejected")
    names = [f"part-{n:05d}.jsonl" for n in range(8)]
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == ["map.json", *names, "rejected"]
    assert b"".join((tmp_path / "parts" / name).read_bytes() for name in names) == report.output.read_bytes()
    assert [path.name for path in (tmp_path / "parts/rejected").iterdir()] == ["part-00004.jsonl"]
    assert (tmp_path / "parts/rejected/part-00004.jsonl").read_bytes() == report.rejected_output.read_bytes()
    assert answers_in_place(toy, source, tmp_path / "parts") == parts


def test_many_files_are_one_input(answers_in_place, toy, tmp_path):
    (tmp_path / "in").mkdir()
    write(tmp_path / "in/a.csv", TEXTS[:10])
    (tmp_path / "in/b.jsonl").write_text(json.dumps({"text": TEXTS[10], "more": [1]}) + "\n")
    (tmp_path / "in/c.txt.gz").write_bytes(gzip.compress("".join(f"{text}\n" for text in TEXTS[11:]).encode()))
    for number, source in enumerate((tmp_path / "in", f"{tmp_path}/in/*")):
        output = tmp_path / f"out-{number}.csv"
        answers_in_place(toy, source, output)
        rows = read(output)
        assert [row["text"] for row in rows] == TEXTS
        assert [row["more"] for row in rows[9:12]] == ["", "[1]", ""]
        assert list(rows[0]) == ["n", "text", "more", "answer", "score"]


def test_bad_rows_are_set_aside_with_their_reasons(answers_in_place, toy, tmp_path):
    lines = [
        b'{"text": "good dog", "id": 1}',
        b'{"text": ',
        b'{"word": "no text"}',
        b'{"text": null}',
        b'{"text": "' + b"word " * 200_000 + b'", "id": 2}',  # one megabyte
        b'{"text": "\xff"}',
        b'{"text": {"b64": "?"}}',
        b'{"text": {"b64": "Z29vZCBkb2c="}}',
        b'{"text": ["good", "dog"]}',
        b'{"text": [1]}',
        b'{"text": 7}',
        b'{"text": "\\ud800 odd", "other": "\\ud800"}',
        b'{"text": "@nothing.txt"}',
    ]
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(lines))
    report = answers_in_place(toy, tmp_path / "in.jsonl", tmp_path / "out.jsonl", shard_rows=100)
    assert report[:2] == (13, 7)
    rows = read(tmp_path / "out.jsonl")
    assert [row["text"] for row in rows] == [json.loads(lines[n])["text"] for n in (0, 7, 8, 10, 11, 12)]
    assert rows[0]["answer"] == rows[1]["answer"]
    assert rows[4]["other"] == "\ud800"
    rejected = {row["line"]: row for row in read(report.rejected_output)}
    assert {row["file"] for row in rejected.values()} == {"in.jsonl"}
    reasons = {
        2: "expected JSON. Received: Expecting value: line 1 column 10 (char 9)",
        3: "text: expected a value in 'text'. Received: none",
        4: "text: expected a value in 'text'. Received: none",
        5: "text: expected at most 12 symbols. Received: 200000",
        6: "expected UTF-8. Received: invalid start byte",
        7: "text: expected a string, or bytes as {\"b64\": \"...\"}. Received: {'b64': '?'}",
        10: "rows: expected a string, bytes or a list of strings for text. Received: [1]",
    }
    assert {line: row["reason"] for line, row in rejected.items()} == reasons
    assert rejected[2]["row"] == '{"text": '
    assert rejected[5]["row"]["id"] == 2


def test_what_only_the_graph_refuses_costs_no_other_row(answers_in_place, load_once, toy, tmp_path, monkeypatch):
    model = load_once(toy)
    answer = model.answer

    def refuse(rows):
        if any("cat" in row["text"] for row in rows):
            raise ValueError("no cats")
        return answer(rows)

    monkeypatch.setattr(model, "answer", refuse)
    source = write(tmp_path / "in.txt", TEXTS)
    report = answers_in_place(toy, source, tmp_path / "out.jsonl", shard_rows=50)
    cats = [n for n, text in enumerate(TEXTS, 1) if "cat" in text]
    assert [(row["line"], row["reason"]) for row in read(report.rejected_output)] == [(n, "no cats") for n in cats]
    assert [row["text"] for row in read(report.output)] == [text for text in TEXTS if "cat" not in text]


@pytest.mark.parametrize("kind", [".tsv", ".txt"])
def test_only_line_ends_become_spaces(answers_in_place, load_once, toy, tmp_path, monkeypatch, kind):
    """U+2028, U+0085 and others, at which Python splits lines, must not become spaces in TSV and text."""
    model, odd = load_once(toy), "a\u2028b\x85c\x0bd"
    monkeypatch.setattr(model, "answer", lambda rows: [Answer(f"{odd}\r\ne\n", 0.0) for _ in rows])
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "x"}) + "\n")
    report = answers_in_place(toy, tmp_path / "in.jsonl", tmp_path / f"out{kind}")
    assert f"{odd} e" in report.output.read_text(encoding="utf-8")


def test_text_out_keeps_a_blank_line_for_a_bad_row(answers_in_place, toy, said, tmp_path):
    (tmp_path / "in.txt").write_bytes(b"good dog\n\xff\nbad cat\n")
    answers_in_place(toy, tmp_path / "in.txt", tmp_path / "out.txt")
    first, last = said(["good dog", "bad cat"])
    assert (tmp_path / "out.txt").read_text() == f"{first.text}\n\n{last.text}\n"


@pytest.mark.parametrize("kind", [".jsonl", ".parquet"])
def test_attention(answers_in_place, toy, said, tmp_path, kind):
    source = write(tmp_path / "in.txt", TEXTS[:9])
    answers_in_place(toy, source, tmp_path / f"out{kind}", attention=True)
    for row, answer in zip(read(tmp_path / f"out{kind}"), said(TEXTS[:9]), strict=True):
        look = answer.attention["text"]
        found = row["attention"]["text"] if kind == ".jsonl" else {**row["attention"][0], "input": None}
        assert (tuple(found["queries"]), tuple(found["keys"])) == (look.queries, look.keys)
        weights = np.reshape(found["weights"], found.get("shape", look.weights.shape))
        np.testing.assert_allclose(weights, look.weights, atol=6e-5)
        if kind == ".jsonl":
            assert all(len(repr(weight)) <= 6 for weights in found["weights"] for weight in weights)


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.txt"])
def test_tables_and_texts_hold_no_attention(answers_in_place, toy, tmp_path, name):
    with pytest.raises(
        ValueError, match=rf"attention: expected an output ending in .jsonl, .parquet, or a folder. Received: {name}"
    ):
        answers_in_place(toy, write(tmp_path / "in.txt", TEXTS), tmp_path / name, attention=True)


@pytest.mark.parametrize("kind", [".jsonl", ".csv", ".tsv", ".txt", ".parquet"])
@pytest.mark.parametrize("count", [0, 1])
def test_no_rows_and_one(answers_in_place, toy, tmp_path, kind, count):
    source = write(tmp_path / "in.csv", TEXTS[:count])
    report = answers_in_place(toy, source, tmp_path / f"out{kind}")
    assert report[:2] == (count, 0)
    if kind != ".txt":
        assert [row["text"] for row in read(report.output)] == TEXTS[:count]
    again = answers_in_place(toy, source, tmp_path / f"out{kind}")
    assert again == report


def test_parquet_keeps_types_and_what_is_not_there(answers_in_place, toy, tmp_path):
    table = pa.table(
        {
            "text": ["good", None, "bad"],
            "price": [1.5, math.nan, None],
            "data": [b"\xff", b"ok", None],
            "tags": [["a"], [], None],
            "small": pa.array([1, None, 3], pa.int8()),
            "answer": ["yes", "no", None],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
    for name in ("out.parquet", "out.jsonl", "out.csv"):
        assert answers_in_place(toy, tmp_path / "in.parquet", tmp_path / name)[:2] == (3, 1)
    kept = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    names = ["text", "price", "data", "tags", "small", "input_answer", "answer", "score", "alternatives"]
    assert kept.schema.names == names
    assert kept.schema.types[:6] == table.schema.types
    good, bad = read(tmp_path / "out.jsonl")
    assert (good["price"], bad["price"]) == (1.5, None)
    assert (good["data"], bad["data"]) == ({"b64": "/w=="}, None)
    assert (good["tags"], good["small"], good["input_answer"]) == (["a"], 1, "yes")
    first, _ = read(tmp_path / "out.csv")
    assert (first["data"], first["tags"], first["price"]) == ('{"b64": "/w=="}', '["a"]', "1.5")
    [rejected] = read(tmp_path / "out.jsonl.rejected.jsonl")
    assert rejected["reason"] == "text: expected a value in 'text'. Received: none"
    assert (rejected["line"], rejected["row"]["price"]) == (2, None)


def test_numbers_are_read_as_json_writes_them_and_nan_is_nothing(answers_in_place, toy, tmp_path):
    pyarrow.parquet.write_table(pa.table({"text": [1.5, math.nan]}), tmp_path / "in.parquet")
    report = answers_in_place(toy, tmp_path / "in.parquet", tmp_path / "out.jsonl")
    assert report[:2] == (2, 1)
    assert read(report.output)[0]["text"] == 1.5


def test_what_json_has_no_word_for_is_null(answers_in_place, toy, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "good", "x": [NaN, -Infinity, 1]}\n{"text": "", "x": {"y": NaN}}\n')
    report = answers_in_place(toy, tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    assert "NaN" not in report.output.read_text()
    good, empty = read(report.output)
    assert (good["x"], empty["x"]) == ([None, None, 1], {"y": None})
    assert empty["score"] is None or math.isfinite(empty["score"])


def test_values_of_json_get_a_type_that_holds_them_all(answers_in_place, toy, tmp_path):
    rows = [
        {"text": "a", "whole": 1, "mixed": 1, "both": 1, "truth": True, "nested": {"a": 1}, "none": None},
        {"text": "b", "whole": 2**62, "mixed": "x", "both": 2.5, "truth": None, "big": 2**70, "odd": "\ud800"},
        {"whole": "of a bad row"},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:2]) + "broken\n")
    answers_in_place(toy, tmp_path / "in.jsonl", tmp_path / "out.parquet")
    first, second = read(tmp_path / "out.parquet")
    assert (first["whole"], first["mixed"], first["both"], first["truth"], first["nested"]) == (
        1,
        "1",
        1.0,
        True,
        '{"a": 1}',
    )
    assert (second["whole"], second["mixed"], second["both"], second["truth"]) == (2**62, "x", 2.5, None)
    assert (second["big"], second["none"], second["odd"]) == (str(2**70), None, "?")


def test_a_table_in_another_encoding_is_refused_or_read(answers_in_place, toy, tmp_path):
    """`seqattn map` must not reject every row with an umlaut in a Windows-1252 table and exit with 0."""
    (tmp_path / "in.csv").write_bytes(("text\n" + "Müller\nMaier\n" * 20).encode("cp1252"))
    with pytest.raises(ValueError, match=r"in.csv: expected UTF-8. Received: what appears to be cp1252; .*--encoding"):
        answers_in_place(toy, tmp_path / "in.csv", tmp_path / "out.jsonl")
    report = answers_in_place(toy, tmp_path / "in.csv", tmp_path / "out.jsonl", encoding="windows-1252")
    assert report[:2] == (40, 0)
    assert [row["text"] for row in read(report.output)] == ["Müller", "Maier"] * 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out.jsonl", "out.jsonl.map.json"]


def test_columns_of_other_names(answers_in_place, toy, tmp_path):
    (tmp_path / "in.csv").write_text("word,text\ngood,unread\n")
    report = answers_in_place(toy, tmp_path / "in.csv", tmp_path / "out.jsonl", columns={"text": "word"})
    assert [(row["word"], row["text"]) for row in read(report.output)] == [("good", "unread")]
    with pytest.raises(ValueError, match=r"column: expected one of the inputs text. Received: 'word'"):
        answers_in_place(toy, tmp_path / "in.csv", tmp_path / "other.jsonl", columns={"word": "text"})
    with pytest.raises(ValueError, match=r"in.csv: expected columns named \['nothing'\]"):
        answers_in_place(toy, tmp_path / "in.csv", tmp_path / "other.jsonl", columns={"text": "nothing"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out.jsonl", "out.jsonl.map.json"]


def test_several_inputs(answers_in_place, tmp_path):
    train = strangers.match.load(None, None).at_most(0).train
    strangers.match.task.build(strangers.match.settings, train).save(tmp_path / "match")
    (tmp_path / "in.csv").write_text("second,first,when\na,b,2024-02-29\na,b,2024-02-30\na,b,now\n")
    report = answers_in_place(tmp_path / "match", tmp_path / "in.csv", tmp_path / "out.jsonl")
    assert report[:2] == (3, 2)
    assert [row["line"] for row in read(report.rejected_output)] == [3, 4]
    assert read(report.rejected_output)[1]["reason"] == "when: expected YYYY-MM-DD. Received: 'now'"


def test_pictures_are_files_beside_the_table_or_base64(answers_in_place, tmp_path):
    (tmp_path / "in/more").mkdir(parents=True)
    (tmp_path / "in/more/dog.jpg").write_bytes(FINE["jpeg"])
    (tmp_path / "in/broken.jpg").write_bytes(b"no picture")
    values = [
        "@more/dog.jpg",
        "more/dog.jpg",
        {"b64": base64.b64encode(FINE["jpeg"]).decode()},
        "@none.jpg",
        "@broken.jpg",
    ]
    (tmp_path / "in/table.jsonl").write_text("".join(json.dumps({"image": value}) + "\n" for value in values))
    report = answers_in_place("caption_scene", tmp_path / "in/table.jsonl", tmp_path / "out.jsonl")
    assert report[:2] == (5, 2)
    rows = read(report.output)
    assert [row["image"] for row in rows] == values[:3]
    assert rows[0]["answer"] == rows[1]["answer"] == rows[2]["answer"] != ""
    missing, broken = read(report.rejected_output)
    assert missing["reason"] == "image: expected a readable file. Received: 'none.jpg', No such file or directory"
    assert broken["reason"].startswith("image: expected ")


def test_whoever_does_it_the_bytes_are_the_same(answers_in_place, toy, tmp_path):
    source = write(tmp_path / "in.jsonl", TEXTS)
    first = answers_in_place(toy, source, tmp_path / "first.jsonl", attention=True)
    second = answers_in_place(toy, source, tmp_path / "second.jsonl", attention=True)
    assert first.output.read_bytes() == second.output.read_bytes()


# Existing output


def test_another_command_is_refused_and_what_differs_is_named(answers_in_place, toy, tmp_path):
    source = write(tmp_path / "in.jsonl", TEXTS)
    answers_in_place(toy, source, tmp_path / "out.jsonl")
    before = (tmp_path / "out.jsonl").read_bytes()
    for options, different in (
        ({"batch_size": 5}, r"different batch_size \(5, previously 256\)"),
        ({"columns": {"text": "word"}}, "different columns"),
        ({"encoding": "latin-1"}, r"different encoding \(iso8859-1, previously utf-8\)"),
        (
            {"shard_rows": 8, "attention": True},
            r"different attention \(True, previously False\), different shard_rows \(8, previously 7\)",
        ),
    ):
        with pytest.raises(
            ValueError, match=f"the same command that created .*out.jsonl. Received: a command with {different}$"
        ):
            answers_in_place(toy, source, tmp_path / "out.jsonl", **options)
    write(source, TEXTS[1:])
    with pytest.raises(ValueError, match=r"Received: a command with different input$"):
        answers_in_place(toy, source, tmp_path / "out.jsonl")
    differences = r"different input, different model, different engine \(litert, previously keras\)"
    with pytest.raises(ValueError, match=f"Received: a command with {differences}$"):
        answers_in_place("pronounce", source, tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == before
    assert answers_in_place(toy, source, tmp_path / "free.jsonl", threads=2, batch_size=5).rows == 49


def test_another_engine_or_another_litert_file_is_another_command(answers_in_place, tmp_path, monkeypatch):
    """Answers of two engines, or of two versions of a LiteRT file, in one output."""
    preset = tmp_path / "presets" / "pronounce"
    shutil.copytree(presets.FOLDER / "pronounce", preset)
    monkeypatch.setattr(presets, "FOLDER", preset.parent)
    source, output = write(tmp_path / "in.txt", ["hello"]), tmp_path / "out.txt"
    assert answers_in_place("pronounce", source, output).rows == 1
    with pytest.raises(
        ValueError, match=r"a command with different model, different engine \(keras, previously litert\)$"
    ):
        answers_in_place("pronounce", source, output, engine="keras")
    with (preset / "lite" / "target.json").open("a") as file:
        file.write("\n")
    with pytest.raises(ValueError, match=r"Received: a command with different model$"):
        answers_in_place("pronounce", source, output)


def test_a_finished_command_returns_at_once(answers_in_place, toy, tmp_path, monkeypatch):
    source = write(tmp_path / "in.jsonl", [*TEXTS, "x " * 20])
    report = answers_in_place(toy, source, tmp_path / "out.jsonl")
    (tmp_path / "out.jsonl.parts").mkdir()  # left by a process that was killed during cleanup
    with monkeypatch.context() as patch:
        patch.setattr("seqattn_tf.batch.run._work", None)
        assert answers_in_place(toy, source, tmp_path / "out.jsonl") == report == (51, 1, *report[2:])
    assert not (tmp_path / "out.jsonl.parts").exists()
    whole = report.output.read_bytes()
    report.output.unlink()
    assert answers_in_place(toy, source, tmp_path / "out.jsonl") == report
    assert report.output.read_bytes() == whole


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.rejected.jsonl", "folder/file"])
def test_what_somebody_else_wrote_stays(answers_in_place, toy, tmp_path, name):
    source = write(tmp_path / "in.jsonl", TEXTS)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    output = tmp_path / ("folder" if "/" in name else "out.jsonl")
    with pytest.raises(
        ValueError, match=r"output: expected a path that does not exist yet. Received: .*; choose another"
    ):
        answers_in_place(toy, source, output)
    assert (tmp_path / name).read_text() == "mine"
    assert not (tmp_path / "out.jsonl.parts").exists()


BAD_INPUT = "other\nno column of the model\n"


@pytest.mark.parametrize("text", ["in.csv", "in.jsonl"])
@pytest.mark.parametrize("name", ["plan.json", "unpacked-notes.txt", ".lock", f".{'a' * 32}-thesis.txt"])
@pytest.mark.parametrize("output", ["folder", "out.jsonl"])
def test_files_named_like_its_own_are_neither_deleted_nor_overwritten(
    answers_in_place, toy, tmp_path, name, output, text
):
    """A user's `plan.json`, `unpacked-*` or `.lock` in the output folder must not be deleted or overwritten."""
    source = tmp_path / text
    source.write_text(BAD_INPUT) if text == "in.csv" else write(source, TEXTS)
    folder = tmp_path / ("folder" if output == "folder" else "out.jsonl.parts")
    folder.mkdir()
    (folder / name).write_text('{"mine": true}')
    with pytest.raises(
        ValueError, match=r"output: expected a path that does not exist yet. Received: .*; choose another"
    ):
        answers_in_place(toy, source, tmp_path / output)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {name: '{"mine": true}'}


def test_what_a_user_adds_to_a_finished_folder_stays(answers_in_place, toy, tmp_path):
    """Repeating a finished command must not delete a `plan.json` that was added to its output in the meantime."""
    source = write(tmp_path / "in.jsonl", TEXTS)
    report = answers_in_place(toy, source, tmp_path / "parts")
    for name in ("plan.json", "unpacked-notes.txt", ".lock"):
        (tmp_path / "parts" / name).write_text("mine")
    assert answers_in_place(toy, source, tmp_path / "parts") == report
    assert [(tmp_path / "parts" / name).read_text() for name in ("plan.json", "unpacked-notes.txt", ".lock")] == (
        ["mine"] * 3
    )


def test_an_empty_folder_of_the_user_outlives_a_refused_input(answers_in_place, toy, tmp_path):
    (tmp_path / "in.csv").write_text(BAD_INPUT)
    (tmp_path / "mine").mkdir()
    for output in ("mine", "new"):
        with pytest.raises(ValueError, match="expected columns named"):
            answers_in_place(toy, tmp_path / "in.csv", tmp_path / output)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["in.csv", "mine"]


def test_a_plan_of_somebody_else_is_refused_when_a_command_resumes(answers_in_place, toy, tmp_path, monkeypatch):
    source = write(tmp_path / "in.jsonl", TEXTS)
    with monkeypatch.context() as patch:
        patch.setattr("seqattn_tf.batch.run._work", interrupt)
        with pytest.raises(KeyboardInterrupt):
            answers_in_place(toy, source, tmp_path / "parts")
    (tmp_path / "parts/plan.json").write_text('{"mine": true}')
    with pytest.raises(ValueError, match=r"plan.json: expected a plan written by seqattn map"):
        answers_in_place(toy, source, tmp_path / "parts")
    assert (tmp_path / "parts/plan.json").read_text() == '{"mine": true}'


def test_the_output_is_not_among_the_input(answers_in_place, toy, tmp_path):
    source = write(tmp_path / "in.jsonl", TEXTS)
    for given, output in (
        (source, source),
        (tmp_path, tmp_path / "out.jsonl"),
        (f"{tmp_path}/*.jsonl", tmp_path / "out"),
    ):
        with pytest.raises(ValueError, match="output: expected a path that is not part of the input"):
            answers_in_place(toy, given, output)
    assert answers_in_place(toy, source, tmp_path / "out.jsonl").rows == 50


def test_only_one_at_a_time(answers_in_place, toy, tmp_path):
    source = write(tmp_path / "in.jsonl", TEXTS)
    with (
        shards.Store(tmp_path / "out.jsonl").locked(),
        pytest.raises(ValueError, match=r"expected no other process to write to .*out.jsonl"),
    ):
        answers_in_place(toy, source, tmp_path / "out.jsonl")
    assert answers_in_place(toy, source, tmp_path / "out.jsonl").rows == 50


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 0},
        {"shard_rows": 0},
        {"threads": 0},
        {"processes": -1},
        {"engine": "x"},
        {"scheduler": "x"},
        {"encoding": "klingon"},
    ],
)
def test_options_that_are_none(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))}: expected "):
        Options(**options)


def test_missing_files_and_models(toy, tmp_path):
    with pytest.raises(ValueError, match=r"input: expected files .* Received: .*nothing.txt"):
        map_file(toy, tmp_path / "nothing.txt", tmp_path / "out.jsonl")
    with pytest.raises(ValueError, match=r"model: expected one of the presets .* Received: 'nobody'"):
        map_file("nobody", write(tmp_path / "in.txt", TEXTS), tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


# Interruptions


@pytest.mark.parametrize("output", ["out.csv", "out.parquet", "parts"])
@pytest.mark.parametrize("given", ["in.csv", "in.jsonl"])
def test_it_goes_on_wherever_it_ended(answers_in_place, toy, tmp_path, monkeypatch, output, given):
    """Whichever write or rename is the last, the next command completes the output to the same bytes."""
    source = write(tmp_path / given, [*TEXTS[:20], "x " * 20, *TEXTS[20:25]])
    report = answers_in_place(toy, source, tmp_path / f"whole-{output}")
    replace, count = shards.os.replace, 0

    def stop(*paths):
        nonlocal count
        if count == 0:
            raise KeyboardInterrupt
        count -= 1
        replace(*paths)

    monkeypatch.setattr("os.replace", stop)
    for steps in range(100):
        count = steps
        try:
            again = answers_in_place(toy, source, tmp_path / output)
            break
        except KeyboardInterrupt:
            continue
    assert steps > 3
    assert again[:2] == report[:2] == (26, 1)
    assert content(again.output) == content(report.output)
    assert content(again.rejected_output) == content(report.rejected_output)


def content(path):
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    names = [file.relative_to(path) for file in files]
    return [
        (n, file.read_bytes()) for n, file in zip(names, files, strict=True) if file.is_file() and n.name != "map.json"
    ]


def test_a_full_disk_leaves_no_half_of_a_part(answers_in_place, toy, tmp_path, monkeypatch):
    source = write(tmp_path / "in.jsonl", TEXTS)
    write_part, left = shards._write, 3

    def full(path, data):
        nonlocal left
        left -= 1
        if left:
            return write_part(path, data)
        with shards.write_atomically(path) as aside:
            aside.write_bytes(data[:10])
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shards, "_write", full)
        with pytest.raises(
            OSError, match="No space left on device; run the same command again to resume after 14 of 50 rows"
        ):
            answers_in_place(toy, source, tmp_path / "out.jsonl")
    parts = tmp_path / "out.jsonl.parts"
    assert sorted(path.name for path in parts.iterdir()) == [
        ".lock",
        "part-00000.jsonl",
        "part-00001.jsonl",
        "plan.json",
    ]
    assert not (tmp_path / "out.jsonl").exists()
    asked = []
    monkeypatch.setattr(shards, "_write", lambda path, data: (asked.append(path.name), write_part(path, data)))
    assert answers_in_place(toy, source, tmp_path / "out.jsonl").rows == 50
    assert asked == [f"part-{n:05d}.jsonl" for n in range(2, 8)]
    assert [row["text"] for row in read(tmp_path / "out.jsonl")] == TEXTS


def test_an_output_that_lacks_a_part_is_never_done(answers_in_place, toy, tmp_path, monkeypatch):
    source, answered = write(tmp_path / "in.jsonl", TEXTS), local.answered
    for output in ("out.jsonl", "parts"):
        with monkeypatch.context() as patch:
            patch.setattr(
                local, "answered", lambda job, shards, n: (a for a in answered(job, shards, n) if a.number != 3)
            )
            with pytest.raises(FileNotFoundError, match=r"expected 8 parts. Received: part-00003.jsonl is missing"):
                answers_in_place(toy, source, tmp_path / output)
        assert answers_in_place(toy, source, tmp_path / output).rows == 50


def test_a_command_that_answered_nothing_gives_way_to_another(answers_in_place, toy, tmp_path, monkeypatch):
    source = write(tmp_path / "in.jsonl", TEXTS)
    for output in ("out.jsonl", "parts"):
        with monkeypatch.context() as patch:
            patch.setattr("seqattn_tf.batch.run._work", interrupt)
            with pytest.raises(KeyboardInterrupt):
                answers_in_place(toy, source, tmp_path / output, shard_rows=9)
        report = answers_in_place(toy, source, tmp_path / output)
        assert report.rows == 50
        assert answers_in_place(toy, source, tmp_path / output) == report
    assert len(list((tmp_path / "parts").glob("part-*"))) == 8


def test_an_interrupt_says_that_the_same_command_goes_on(answers_in_place, toy, tmp_path, monkeypatch):
    source, write_part = write(tmp_path / "in.jsonl", TEXTS), shards._write
    with monkeypatch.context() as patch:
        patch.setattr(
            shards, "_write", lambda path, data: interrupt() if "-00003" in path.name else write_part(path, data)
        )
        with pytest.raises(KeyboardInterrupt, match="run the same command again to resume after 21 of 50 rows"):
            answers_in_place(toy, source, tmp_path / "out.jsonl")
    assert answers_in_place(toy, source, tmp_path / "out.jsonl").rows == 50


def interrupt(*_):
    raise KeyboardInterrupt
