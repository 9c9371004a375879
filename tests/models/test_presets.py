"""The models that ship with the package."""

import json
import re
from pathlib import Path

import pytest

from seqattn_tf.lite.assets import load_assets
from seqattn_tf.models.presets import FOLDER, open_model

LEARNED_FROM = {
    "answer_scene": "generated",
    "caption_scene": "generated",
    "listen": "Free Spoken Digit Dataset",
    "markup": "generated",
    "pronounce": "cmudict-0.7b",
    "transliterate": "train.tsv.xz",
}


@pytest.mark.parametrize(("name", "data"), LEARNED_FROM.items())
def test_one_is_small_and_says_where_it_comes_from(name, data):
    assert sum(path.stat().st_size for path in (FOLDER / name).rglob("*") if path.is_file()) < 4e6
    record = json.loads((FOLDER / name / "config.json").read_text())["record"]
    assert data in record["data"]
    assert len(record["examples"]) == 6
    assert re.search(rf"^\| [^|]*`{name}`[^|]* \|", (FOLDER / "NOTICE.md").read_text(), re.MULTILINE)


def test_names_are_written_in_katakana():
    answers = open_model("transliterate").answer(["Fernandez", "presley", "frédéric", ""])
    assert [answer.text for answer in answers] == ["フェルナンデス", "プレスリー", "フレデリック", ""]
    look = answers[1].looks["text"]
    read = [look.places[place] for place in look.weights.argmax(axis=1)]
    assert read == ["p", "r", "s", "l", "y"]  # where each letter comes from


@pytest.mark.parametrize(("name", "limit"), [("tag", 100), ("parse", 84)])
def test_the_longest_text_that_the_documentation_promises(name, limit):
    inputs, _ = load_assets(FOLDER / name / "assets")
    assert inputs["text"].limit == limit
    page = (Path(__file__).parents[2] / "docs/reading.md").read_text(encoding="utf-8")
    assert "100 words for the shipped `tag`, 84 for `parse`" in page
    with pytest.raises(ValueError, match=rf"at most {limit} (words|symbols)\. Received: {limit + 1}"):
        inputs["text"].arrays("a " * (limit + 1))
