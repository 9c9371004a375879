"""The demonstration from end to end, on a small part of the dictionary."""

import dataclasses
import re
import shutil

import pytest

from seqattn_tf import demo
from seqattn_tf.training import recipes


@pytest.fixture
def quick(monkeypatch):
    """The recipe with a small preset that trains in seconds on fewer words."""
    recipe = recipes.get("pronounce")
    whole = recipe.load(None, recipe.small)  # loaded only once
    small = dataclasses.replace(recipe.small, units=16, embedding=8, epochs=1, max_examples=2000, warmup_steps=5)

    def load(folder, settings):
        return dataclasses.replace(whole, dev=whole.dev[:100], test=whole.test[:400])

    monkeypatch.setattr(recipes, "get", lambda name: dataclasses.replace(recipe, small=small, load=load))


def test_trains_exports_serves_asks_draws_and_reuses_what_is_there(quick, tmp_path, capsys):
    demo.demo(tmp_path)
    said = capsys.readouterr().out
    assert re.search(r"held-out words: PER \d+\.\d+, WER [01]\.\d+", said)
    assert "REST and gRPC agree on 6 of 6 words" in said
    assert "LiteRT and gRPC agree on" in said
    page = (tmp_path / "index.html").read_text()
    pictures = sorted(path.name for path in tmp_path.glob("*.png"))
    assert len(pictures) == 6 + 3
    assert len(re.findall(r"scene \d +an? \w+ \w+ (above|below|left of|right of) an? \w+ \w+ +correct", said)) == 3
    assert all(picture in page for picture in pictures)
    model = (tmp_path / "run/model.keras").stat().st_mtime_ns

    demo.demo(tmp_path)
    assert "models/pronounce/1 exists already" in capsys.readouterr().out
    assert (tmp_path / "run/model.keras").stat().st_mtime_ns == model
    assert sorted(path.name for path in (tmp_path / "models/pronounce").iterdir()) == ["1"]


@pytest.mark.slow
def test_what_was_deleted_is_made_again(quick, tmp_path):
    demo.demo(tmp_path)
    shutil.rmtree(tmp_path / "models")
    (tmp_path / "run/test.json").write_text("{}")
    demo.demo(tmp_path)
    assert (tmp_path / "models/pronounce/1/assets.extra/lite/model.tflite").is_file()
