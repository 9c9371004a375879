"""The models that ship with the package."""

import json
import re

import pytest

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
