"""Shipping a model: the weights are chosen by answers to held-out rows, and a file that fails replaces no other."""

from types import SimpleNamespace
from typing import ClassVar

import pytest

from seqattn_tf import ship
from seqattn_tf.lite import manifest
from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.fields import Text
from seqattn_tf.training.data.examples import from_text

TASK = SimpleNamespace(model_inputs=lambda example: example.inputs)
WORDS = [f"word {number}" for number in range(400)]


class Form:
    """A form whose file contains the number of rows that it answers differently."""

    def __init__(self, weights, wrong):
        self.weights, self.wrong = weights, wrong

    def write(self, model, folder, described):
        (folder / "model.tflite").write_text(str(self.wrong))
        return {"lite": {"weights": self.weights}}

    def open(self, folder):
        return Model(WORDS[: int((folder / "model.tflite").read_text())]).answer

    def describe(self, folder, described):
        manifest.write(folder, described)


class Model:
    """A model that answers some words with a question mark."""

    inputs: ClassVar = {"text": Text}

    def __init__(self, wrong=()):
        self.wrong = {word.encode() for word in wrong}

    def answer(self, rows):
        return [Answer("?" if row["text"] in self.wrong else row["text"].decode(), -1.0) for row in rows]


@pytest.fixture
def shipping(tmp_path, monkeypatch):
    """Return a function that ships a preset with so many different answers in int8 and in float32."""
    test = [from_text(word, "") for word in [*WORDS, *WORDS]]  # each twice
    monkeypatch.setattr(ship, "FOLDER", tmp_path)
    monkeypatch.setattr(ship, "open_run", lambda folder, data: (TASK, Model(), SimpleNamespace(test=test)))
    monkeypatch.setattr(ship, "read_record", lambda folder: {})
    monkeypatch.setattr(ship, "describe", lambda model, record: {"format": 1})

    def shipped(int8, float32, **options):
        monkeypatch.setattr(ship, "QuantizedLite", lambda: Form("int8", int8))
        monkeypatch.setattr(ship, "Lite", lambda: Form("float32", float32))
        verified = ship.ship(tmp_path / "toy", **options)
        assert manifest.read(tmp_path / "toy" / "lite")["verified"] == verified
        return manifest.read(tmp_path / "toy" / "lite")["lite"]["weights"], verified

    return shipped


def test_int8_where_it_answers_alike(shipping):
    assert shipping(2, 0) == ("int8", {"rows": 400, "same_text": 398})
    assert shipping(0, 0, rows=80) == ("int8", {"rows": 80, "same_text": 80})


def test_float32_where_int8_does_not(shipping):
    assert shipping(3, 0) == ("float32", {"rows": 400, "same_text": 400})


def test_a_file_that_answers_otherwise_replaces_none(shipping, tmp_path):
    shipping(1, 0)
    with pytest.raises(ValueError, match=r"toy: expected the same text on 99.5% of rows. Received: 397 of 400"):
        shipping(9, 3)
    assert (tmp_path / "toy" / "lite" / "model.tflite").read_text() == "1"
