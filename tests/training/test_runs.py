"""Comparison of runs, and the progress of a running training."""

import dataclasses
import struct

import pytest
import tensorflow as tf
from support.sees import RECIPE, WHOLE
from support.step_by_step import answering_eagerly, untraced

from seqattn_tf import cli
from seqattn_tf.models import load
from seqattn_tf.training import run
from seqattn_tf.training.previews import sample_of
from seqattn_tf.training.runs import find_runs, table


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("some") / "runs"
    settings = dataclasses.replace(WHOLE, encoder="forward")
    with answering_eagerly(), untraced():
        for name, units, board in (("few", 8, True), ("many", 12, False)):
            run.train(RECIPE, dataclasses.replace(settings, units=units), folder / name, tensorboard=board)
    (folder / "nothing").mkdir()
    return folder


def test_runs_are_listed_with_their_figures_and_what_sets_them_apart(runs, tmp_path, capsys):
    found = find_runs([runs])
    assert [one.folder.name for one in found] == ["few", "many"]
    assert [len(one.history) for one in found] == [2, 2]
    title, few, many = table(found)
    assert title[:4] == ["run", "recipe", "epochs", "minutes"]
    assert (title[-1], few[-1], many[-1]) == ("units", "8", "12")
    assert (few[1], few[2]) == ("classify", "2/2")
    assert "dev_accuracy" in title
    assert float(few[title.index("dev_accuracy")]) == pytest.approx(found[0].metrics["dev_accuracy"], abs=1e-4)
    assert cli.main(["runs", str(runs), "-o", str(tmp_path / "curves.png")]) == 0
    said = capsys.readouterr().out
    assert "classify" in said
    assert {"curves.png", "curves-dev_accuracy.png", "curves-gradient.png"} <= {
        path.name for path in tmp_path.iterdir()
    }


def test_a_history_has_what_was_measured_the_norm_of_the_gradient_and_the_pace(runs):
    for one in find_runs([runs / "few"]):
        for logs in one.history:
            assert {"loss", "dev_accuracy", "gradient", "symbols_per_second"} <= logs.keys()
            assert logs["gradient"] > 0
            assert logs["symbols_per_second"] > 0
        assert set(one.record["created_with"]) == {"tensorflow", "keras", "machine"}
        assert isinstance(one.record["revision"], str)


def test_a_sample_is_a_question_and_its_answer_on_a_line(runs):
    model, dev = load(runs / "few"), RECIPE.load().dev
    for number in (0, 1, len(dev)):
        asked, said = sample_of(model, RECIPE.task, dev, number).split(" -> ")
        assert asked == dev[number % len(dev)].key
        assert said == model.answer([asked])[0].text


def test_folders_without_runs_are_refused_and_half_of_one_is_listed(runs, tmp_path, capsys):
    assert cli.main(["runs", str(runs / "nothing")]) == 2
    assert "expected run folders" in capsys.readouterr().err
    (tmp_path / "history.json").write_text("[{")
    [half] = find_runs([tmp_path])
    assert table([half])[1][1:4] == ["?", "0/?", ""]


def events(folder):
    """Return the summaries of event files by tag."""
    found = {}
    for path in folder.glob("events*"):
        data = path.read_bytes()
        while data:
            size = struct.unpack("<Q", data[:8])[0]
            for value in tf.compat.v1.Event.FromString(data[12 : 12 + size]).summary.value:
                found.setdefault(value.tag, []).append(value)
            data = data[16 + size :]
    return found


def test_tensorboard_gets_figures_gradients_gates_and_pictures(runs):
    found = events(runs / "few/tensorboard")
    [one] = find_runs([runs / "few"])
    losses = [float(tf.make_ndarray(value.tensor)) for value in found["epoch/loss"]]
    assert losses == pytest.approx([logs["loss"] for logs in one.history], rel=1e-5)
    assert "gradient/norm" in found
    assert any(tag.startswith("gates/") for tag in found)
    width, height, png = tf.make_ndarray(found["attention"][0].tensor)
    assert tf.image.decode_png(png).shape[:2] == (int(height), int(width))
    assert found["attention"][0].metadata.plugin_data.plugin_name == "images"
    assert not (runs / "many/tensorboard").exists()
