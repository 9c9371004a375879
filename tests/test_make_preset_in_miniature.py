"""The plans of the shipped models as they are, from data to files, with few examples and small networks."""

import dataclasses
import functools
import json
from base64 import b64decode

import numpy as np
import pytest
from support import corpora, sounds

from seqattn_tf import cli, lite, make_preset, ship
from seqattn_tf.make_preset import PLANS
from seqattn_tf.training import recipes

SMALL = {
    "units": 8,
    "embedding": 8,
    "arc_units": 8,
    "relation_units": 4,
    "row_units": 4,
    "num_examples": 40,
    "max_test_digits": 1,
    "max_examples": 60,
    "epochs": 1,
    "batch_size": 20,
    "warmup_steps": 1,
    "min_count": 1,
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for corpus, write in (
        ("ud_ewt", corpora.parse),
        ("katakana", corpora.transliterate),
        ("cmudict", corpora.pronounce),
    ):
        (folder / corpus).mkdir()
        write(folder / corpus)
    (folder / "fsdd").mkdir()
    for digit in range(10):
        for take in range(10):
            (folder / f"fsdd/{digit}_ann_{take}.wav").write_bytes(sounds.wav(samples=2_000 + 100 * digit))
    (folder / "glove").mkdir()
    words = np.array([*corpora.ANIMALS, *corpora.DOES])
    scale = np.full((len(words), 1), 0.01, np.float32)
    table = np.random.default_rng(0).integers(-9, 9, (len(words), 100), np.int8)
    np.savez(folder / make_preset._GLOVE, words=words, q=table, scale=scale)
    return folder


def in_miniature(command):
    """Run a command of a plan in this process, with small values of all the settings that its recipe has."""
    if command[0] not in ("train", "distill"):
        assert cli.main(command) == 0, command
        return
    settings = {field.name for field in dataclasses.fields(recipes.get(command[1]).settings)}
    assignments = [word for name, value in SMALL.items() if name in settings for word in ("--set", f"{name}={value}")]
    if command[0] == "distill":
        assignments += ["--synthetic", "10"]
    assert cli.main([*command, *assignments]) == 0, command


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PLANS))
def test_a_plan_leads_to_files_that_answer(name, data, tmp_path, monkeypatch):
    """Would fail if a step of a plan could not read what an earlier one wrote, or if a model did not fit LiteRT."""
    monkeypatch.setattr(make_preset, "_run", in_miniature)
    monkeypatch.setattr(ship, "ship", functools.partial(ship.ship, rows=20))
    monkeypatch.setattr(ship, "SAME_TEXTS", 0.5)  # the scores of untrained models are nearly equal
    made = make_preset.make_preset(name, data, tmp_path / "made")
    manifest = json.loads((made / "lite/manifest.json").read_text())
    assert manifest["name"] == name
    assert manifest["verified"]["rows"] > 0
    inputs = manifest["examples"][0].items()
    example = {name: b64decode(value["b64"]) if isinstance(value, dict) else value for name, value in inputs}
    assert isinstance(lite.LiteModel(made / "lite").answer([example])[0].text, str)
