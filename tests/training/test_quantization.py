"""A smaller copy of a run: its model, its record, and the metrics of both."""

import dataclasses

import numpy as np
import pytest
from support import sees
from support.step_by_step import untraced

from seqattn_tf import cli
from seqattn_tf.models import load
from seqattn_tf.models.base import read_config
from seqattn_tf.training import quantization, recipes, run
from seqattn_tf.training.quantization import Quantized, quantize
from seqattn_tf.training.tasks import Report


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "sees"
    with untraced():
        run.train(sees.RECIPE, dataclasses.replace(sees.SETTINGS, units=64, embedding=64, epochs=1), folder)
    return folder


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(recipes, "get", lambda _: sees.RECIPE)


@pytest.mark.parametrize("weights", ["int8", "float16"])
def test_a_compact_model_is_smaller_as_good_and_keeps_its_record(trained, tmp_path, weights):
    done = quantize(trained, tmp_path / "small", weights)
    files = trained / "model.keras", tmp_path / "small/weights.npz"
    held = sum(weight.numpy().nbytes for weight in load(trained).network.weights)
    assert done.sizes == (held, files[1].stat().st_size)  # only the weights: model.keras also contains an optimizer
    assert held < files[0].stat().st_size
    assert done.sizes[1] < done.sizes[0] * {"int8": 0.4, "float16": 0.55}[weights]
    with np.load(files[1]) as stored:
        assert stored["0000"].dtype == weights
    assert read_config(tmp_path / "small")["record"] == read_config(trained)["record"]
    dev = sees.sentences().dev
    for place, folder in enumerate((trained, tmp_path / "small")):
        figures = sees.RECIPE.task.measure(load(folder), dev).metrics
        assert {name: pair[place] for name, pair in done.metrics.items()} == pytest.approx(figures)
    assert done.metrics["accuracy"][1] == pytest.approx(done.metrics["accuracy"][0], abs=0.13)  # one of eight


def test_both_are_measured_on_the_split_that_is_asked_for(trained, tmp_path, monkeypatch):
    asked = []

    def evaluate(folder, data, split):
        asked.append((folder, data, split))
        return Report({"symbol_error_rate": float(len(asked))}, {})

    monkeypatch.setattr(quantization, "evaluate", evaluate)
    done = quantize(trained, tmp_path / "small", data="there", split="test")
    assert asked == [(trained, "there", "test"), (tmp_path / "small", "there", "test")]
    assert done.metrics == {"symbol_error_rate": (1.0, 2.0)}


def test_the_command_prints_both_beside_each_other(trained, tmp_path, capsys):
    assert cli.main(["quantize", str(trained), str(tmp_path / "small"), "--dtype", "float16"]) == 0
    heading, *rows = (line.split() for line in capsys.readouterr().out.splitlines())
    assert heading == ["before", "after", "difference"]
    assert [row[0] for row in rows] == ["accuracy", "MB"]
    for _, before, after, difference in rows:
        assert float(after) - float(before) == pytest.approx(float(difference), abs=0.011)
        assert difference[0] in "+-"
    assert cli.main(["quantize", str(trained), str(tmp_path / "small")]) == 2
    assert "small: expected a folder without a model. Received: a folder with config.json" in capsys.readouterr().err


def test_a_table_of_figures():
    table = Quantized({"symbol_error_rate": (0.25, 0.26125), "bleu": (30.0, 29.5)}, (4_000_000, 1_250_000)).table()
    assert table == [
        ("", "before", "after", "difference"),
        ("symbol_error_rate", "0.2500", "0.2612", "+0.0112"),
        ("bleu", "30.0000", "29.5000", "-0.5000"),
        ("MB", "4.00", "1.25", "-2.75"),
    ]


def test_what_cannot_be_done_is_refused_before_anything_is_written(trained, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="expected a folder without a model"):
        quantize(trained, trained)
    with monkeypatch.context() as patch:
        patch.setattr(quantization, "evaluate", None)  # takes minutes: a misspelled form must be detected before
        with pytest.raises(ValueError, match=r"compact: expected False, True or one of .*'int8'"):
            quantize(trained, tmp_path / "small", "int4")
    other = dataclasses.replace(sees.sentences(), test=sees.sentences().dev)
    monkeypatch.setattr(recipes, "get", lambda _: dataclasses.replace(sees.RECIPE, load=lambda *_: other))
    with pytest.raises(ValueError, match="which the model was trained on"):
        quantize(trained, tmp_path / "small")
    assert not (tmp_path / "small").exists()
