"""The models that ship with the package."""

import json
import re

import pytest

from seqattn_tf.models.presets import FOLDER

LEARNED_FROM = {
    "answer_scene": "generated",
    "caption_scene": "generated",
    "listen": "Free Spoken Digit Dataset",
    "markup": "generated",
}


@pytest.mark.parametrize(("name", "data"), LEARNED_FROM.items())
def test_one_is_small_and_says_where_it_comes_from(name, data):
    assert sum(path.stat().st_size for path in (FOLDER / name).rglob("*") if path.is_file()) < 4e6
    record = json.loads((FOLDER / name / "config.json").read_text())["record"]
    assert data in record["data"]
    assert len(record["examples"]) == 6
    assert re.search(rf"^\| [^|]*`{name}`[^|]* \|", (FOLDER / "NOTICE.md").read_text(), re.MULTILINE)
