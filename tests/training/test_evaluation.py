"""Evaluation on data of a run and on other data: figures, intervals, overlap, comparisons, and invalid files."""

import csv
import gzip
import io
import json
import random

import pytest
from support.step_by_step import answering_eagerly, untraced

from seqattn_tf import cli
from seqattn_tf.models import load
from seqattn_tf.training.data import DataWarning
from seqattn_tf.training.evaluation import evaluate, read_test

SETTINGS = {
    "text_column": "said",
    "target_column": "label",
    "encoder": "forward",
    "tokenizer": "spaces",
    "units": 6,
    "embedding": 5,
    "epochs": 1,
    "batch_size": 16,
    "max_source_length": 9,
    "min_count": 1,
}


def rows(count, seed):
    draw = random.Random(seed)
    texts = (" ".join(draw.choices("abcdefg", k=draw.randint(1, 7))) for _ in range(count))
    return [(text, "yes" if "a" in text else "no") for text in dict.fromkeys(texts)]


def write(path, rows, columns=("said", "label")):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """Two runs of the same data that differ in their seed, and a test file that shares three rows with these."""
    folder = tmp_path_factory.mktemp("evaluation")
    own = rows(120, 0)
    write(folder / "own.csv", own)
    chosen = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    with answering_eagerly(), untraced():
        for seed in (0, 1):
            run = ["--data", str(folder / "own.csv"), "--run", str(folder / f"run{seed}"), "--set", f"seed={seed}"]
            assert cli.main(["train", "classify", *run, *chosen]) == 0
    known = evaluate(folder / "run0", split="train")
    other = [row for row in rows(60, 1) if row not in own]
    train = [row for row in own if row[0] in trained_on(folder / "run0")]
    write(folder / "test.csv", [*other, *train[:3]])
    assert not known.seen
    return folder


def trained_on(folder):
    from seqattn_tf.training.evaluation import open_run

    return {example.key for example in open_run(folder)[2].train}


def test_other_data_are_measured_and_what_was_seen_in_training_is_counted(here):
    found = evaluate(here / "run0", test=here / "test.csv")
    texts, labels = zip(*list(csv.reader((here / "test.csv").open()))[1:], strict=True)
    right = [answer.text == label for answer, label in zip(load(here / "run0").answer(texts), labels, strict=True)]
    assert found.keys == len(texts)
    assert found.metrics["accuracy"] == pytest.approx(sum(right) / len(right))
    assert list(found.seen) == [False] * (len(texts) - 3) + [True] * 3
    assert found.unseen["accuracy"] == pytest.approx(sum(right[:-3]) / len(right[:-3]))
    low, high = found.intervals["accuracy"]
    assert low < found.metrics["accuracy"] < high


@pytest.mark.parametrize("form", ["tsv.gz", "jsonl"])
def test_a_test_file_has_any_form_and_other_columns_by_set(here, tmp_path, form):
    held = list(csv.reader((here / "test.csv").open()))[1:]
    if form == "jsonl":
        path = tmp_path / "test.jsonl"
        path.write_text("\n".join(json.dumps({"said": text, "is": label}) for text, label in held))
    else:
        path = tmp_path / "test.tsv.gz"
        path.write_bytes(gzip.compress("\n".join(["said\tis", *map("\t".join, held)]).encode()))
    found = evaluate(here / "run0", test=path, assignments=["target_column=is"])
    assert found.metrics == evaluate(here / "run0", test=here / "test.csv").metrics


def test_one_row_is_a_test_set_too_and_unknown_labels_are_wrong(here, tmp_path):
    found = evaluate(here / "run0", test=write(tmp_path / "one.csv", [("a b", "maybe")]))
    assert (found.keys, found.metrics) == (1, {"accuracy": 0.0})
    assert found.intervals["accuracy"] == (0, 0)


def test_inputs_that_the_model_cannot_read_are_skipped_and_counted(here, tmp_path):
    long = " ".join("abcdefgabc")
    with pytest.warns(DataWarning, match="the model cannot read 1 of the inputs; skipped: a b c"):
        found = evaluate(here / "run0", test=write(tmp_path / "long.csv", [("a", "yes"), (long, "yes")]))
    assert (found.keys, found.skipped) == (1, 1)
    with pytest.raises(ValueError, match="test: expected inputs that the model can read"):
        evaluate(here / "run0", test=write(tmp_path / "longer.csv", [(long, "yes")]))


def test_the_overlap_is_unknown_without_the_training_data(here, tmp_path):
    moved = here / "own.csv"
    moved.rename(here / "moved.csv")
    try:
        with pytest.warns(DataWarning, match="overlap with the training data is unknown: data: expected"):
            assert evaluate(here / "run0", test=here / "test.csv").seen == []
        assert sum(evaluate(here / "run0", here / "moved.csv", test=here / "test.csv").seen) == 3
        with pytest.raises(ValueError, match="which the model was trained on"):
            evaluate(here / "run0", here / "test.csv", test=here / "test.csv")
    finally:
        (here / "moved.csv").rename(moved)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "no such file"),
        ("empty.csv", b"", "Received"),
        ("columns.csv", b"one,two\na,b\n", "expected columns named"),
        ("test.csv.gz", b"\x1f\x8b\x08\x00broken", "test.csv.gz"),
        ("binary.csv", bytes(range(256)) * 9, "binary.csv"),
    ],
)
def test_an_invalid_test_file_is_an_error(here, tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_test(here / "run0", tmp_path / name)


def command(capsys, *arguments):
    assert cli.main(["evaluate", *map(str, arguments)]) == 0
    return capsys.readouterr()


def test_models_are_compared_in_every_form_of_output(here, capsys):
    both = [here / "run0", here / "run1", "--test", here / "test.csv"]
    first, second = (evaluate(here / name, test=here / "test.csv") for name in ("run0", "run1"))
    difference = second.metrics["accuracy"] - first.metrics["accuracy"]

    said = command(capsys, *both)
    assert "different inputs, test.csv" in said.err
    assert "3 of them" in said.err
    lines = said.out.splitlines()
    assert lines[0].split() == ["model", "inputs", "accuracy"]
    assert f"{first.metrics['accuracy']:.4f} [{first.intervals['accuracy'].low:.4f}" in lines[1]
    assert f"{difference:+.4f}" in lines[-1]

    given = json.loads(command(capsys, *both, "--json").out)
    [found] = given["differences"].values()
    assert found["accuracy"]["value"] == pytest.approx(difference)
    assert found["accuracy"]["low"] <= difference <= found["accuracy"]["high"]
    assert given["models"][str(here / "run1")]["metrics"]["accuracy"]["value"] == second.metrics["accuracy"]

    table = list(csv.DictReader(io.StringIO(command(capsys, *both, "--csv").out)))
    assert [(row["model"], row["metric"], row["seen_in_training"]) for row in table] == [
        (str(here / name), "accuracy", "3") for name in ("run0", "run1")
    ]
    markdown = command(capsys, *both, "--markdown").out.split("\n\n")
    assert [table.splitlines()[1][:5] for table in markdown] == ["| ---", "| ---"]


def test_models_with_other_test_data_are_not_compared(here, tmp_path, capsys, monkeypatch):
    one = evaluate(here / "run0", test=here / "test.csv")
    other = evaluate(here / "run0")
    with pytest.raises(ValueError, match="comparison: expected the same test examples"):
        one.compare(other)
    from seqattn_tf.training import evaluation

    found = iter([one, other])
    monkeypatch.setattr(evaluation, "evaluate", lambda *_, **__: next(found))
    assert "not compared, because their test data differ" in command(capsys, here / "run0", here / "run1").err


def test_options_that_do_not_fit_are_refused(here, capsys):
    assert cli.main(["evaluate", str(here / "run0"), "--set", "text_column=x"]) == 2
    assert "set: expected --test" in capsys.readouterr().err
    assert cli.main(["evaluate", str(here / "run0"), "--test", "x", "--faithfulness"]) == 2
    assert "test: expected none with --faithfulness" in capsys.readouterr().err
