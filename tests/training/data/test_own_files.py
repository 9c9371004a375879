"""Single tables: columns by input, and the three ways to hold out rows."""

import json

import pytest

from seqattn_tf.training.data import DataWarning, Example, files

ROWS = [(f"question {i}", f"answer {i}") for i in range(400)]


@pytest.fixture(params=["csv", "tsv", "jsonl"])
def table(request, tmp_path):
    path = tmp_path / f"own.{request.param}"
    if request.param == "jsonl":
        text = "".join(json.dumps({"ask": a, "say": b}) + "\n" for a, b in ROWS)
    else:
        between = {"csv": ",", "tsv": "\t"}[request.param]
        text = "".join(between.join(row) + "\n" for row in [("ask", "say"), *ROWS])
    path.write_text(text, encoding="utf-8")
    return path


def test_a_single_file_is_split_by_a_hash_of_the_input(table):
    splits = files.load(table, {"text": "ask"}, "say")
    parts = [{example.key for example in part} for part in (splits.train, splits.dev, splits.test)]
    assert set.union(*parts) == {text for text, _ in ROWS}
    assert sum(map(len, parts)) == len(ROWS)
    assert len(splits.dev) >= 30
    assert len(splits.test) >= 20
    assert {example.key for example in files.load(table, {"text": "ask"}, "say").test} == parts[2]
    assert splits.summary == (
        f"data: {table.name} (dev and test held out of train by hash of the source); text = ask, target = say; "
        f"{len(splits.train)} training, {len(splits.dev)} development and {len(splits.test)} test examples"
    )
    assert splits.at_most(3).summary.startswith(
        splits.summary.partition(f"{len(splits.train)} training")[0] + "3 training"
    )


def test_several_inputs_are_columns_of_their_own(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("p,h,t\n" + "".join(f"{a},{b},{i}\n" for i, (a, b) in enumerate(ROWS, 1)), encoding="utf-8")
    splits = files.load(path, {"premise": "0", "hypothesis": "1"}, "2")
    found = next(e for part in (splits.train, splits.dev, splits.test) for e in part if e.target == "8")
    assert found == Example("question 7\tanswer 7", {"premise": "question 7", "hypothesis": "answer 7"}, "8")


@pytest.mark.usefixtures("bad_rows_allowed")
def test_a_column_says_where_a_row_belongs(tmp_path):
    path = tmp_path / "t.csv"
    fold = ["train", "Training", "dev", "VAL", "test", "train", "holdout"]
    path.write_text("a,b,fold\n" + "".join(f"q{i},x,{part}\n" for i, part in enumerate(fold)), encoding="utf-8")
    with pytest.warns(DataWarning, match=r"expected train, dev or test in 'fold'\. Skipped: 'holdout' in 1 rows"):
        splits = files.load(path, {"text": "a"}, "b", split_column="fold")
    found = {part: [example.key for example in getattr(splits, part)] for part in ("train", "dev", "test")}
    assert found == {"train": ["q0", "q1", "q5"], "dev": ["q2", "q3"], "test": ["q4"]}
    assert splits.origin == "t.csv, split by fold"


def test_an_input_in_two_parts_is_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,fold\nq,1,train\nr,1,train\nq,2,test\ns,2,test\nt,1,dev\n", encoding="utf-8")
    with pytest.warns(DataWarning, match=r"t\.csv: 1 of the 2 rows of test have inputs that also occur in train"):
        files.load(path, {"text": "a"}, "b", split_column="fold")


def test_what_the_column_leaves_open_is_held_out_by_hash(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "a,b,fold\n" + "".join(f"{a},{b},{'test' if i < 9 else 'train'}\n" for i, (a, b) in enumerate(ROWS)), "utf-8"
    )
    splits = files.load(path, {"text": "a"}, "b", split_column="fold")
    assert len(splits.test) == 9
    assert len(splits.dev) >= 30
    assert splits.origin == "t.csv (dev held out of train by hash of the source), split by fold"


def test_what_is_missing_is_said(table, tmp_path):
    with pytest.raises(
        ValueError, match=r"text: expected a column of own.*ask.*Received: none; use --set text_column=COLUMN"
    ):
        files.load(table, {"text": ""}, "say")
    with pytest.raises(ValueError, match=r"target: expected a column of own.*--set target_column=COLUMN"):
        files.load(table, {"text": "ask"}, "", split_column="ask")
    with pytest.raises(ValueError, match=r"split_column: expected a single file to split\. Received: --data"):
        files.load(tmp_path, {"text": "ask"}, "say", split_column="fold")
    (tmp_path / "notes.docx").write_text("x")
    with pytest.raises(ValueError, match=r"data: expected a folder, or a \.csv, \.tsv, \.jsonl file.*notes\.docx"):
        files.load(tmp_path / "notes.docx", {"text": "ask"}, "say")
    with pytest.raises(
        ValueError, match=r"data: expected a folder with train, dev and test.*nowhere\.csv, a path that does not exist"
    ):
        files.load(tmp_path / "nowhere.csv", {"text": "ask"}, "say")


def test_a_folder_of_csv_files(tmp_path):
    for part, keys in {"train": ["a", "b"], "valid": ["c"], "test": ["d"]}.items():
        (tmp_path / f"{part}.csv").write_text("x,y\n" + "".join(f"{key},{key}\n" for key in keys))
    splits = files.load(tmp_path, {"text": "x"}, "y")
    assert [len(splits.train), len(splits.dev), len(splits.test)] == [2, 1, 1]
    assert splits.origin == "train.csv, valid.csv, test.csv"


@pytest.mark.filterwarnings("ignore::seqattn_tf.training.data.DataWarning")
def test_a_wrong_column_is_told_with_what_was_asked(table):
    with pytest.raises(ValueError, match=r"\(--set text_column=ask --set target_column=answer\)$"):
        files.load(table, {"text": "ask"}, "answer")
