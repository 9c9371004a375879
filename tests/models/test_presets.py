"""The models that are shipped with the package."""

import json
import re
from pathlib import Path

import pytest

from seqattn_tf.core.digests import digest_files
from seqattn_tf.lite import LiteModel, manifest
from seqattn_tf.lite.assets import load_assets
from seqattn_tf.lite.formats import MODEL_FILES
from seqattn_tf.models import Model
from seqattn_tf.presets import FOLDER, LITE, find, open_model, presets
from seqattn_tf.ship import SAME_TEXTS

LEARNED_FROM = {
    "answer_scene": "generated",
    "caption_scene": "generated",
    "transcribe": "Free Spoken Digit Dataset",
    "image_to_latex": "generated",
    "pronounce": "cmudict-0.7b",
    "transliterate": "train.tsv.xz",
}


@pytest.mark.parametrize(("name", "data"), LEARNED_FROM.items())
def test_one_is_small_and_says_where_it_comes_from(name, data):
    files = [path for path in (FOLDER / name).rglob("*") if path.is_file() and path.parent.name != LITE]
    assert sum(path.stat().st_size for path in files) < 4e6
    record = json.loads((FOLDER / name / "config.json").read_text())["record"]
    assert data in record["data"]
    assert len(record["examples"]) == 6
    assert re.search(rf"^\| [^|]*`{name}`[^|]* \|", (FOLDER / "NOTICE.md").read_text(), re.MULTILINE)


def test_names_are_written_in_katakana():
    answers = open_model("transliterate", "keras").answer(["Fernandez", "presley", "frédéric", ""])
    assert [answer.text for answer in answers] == ["フェルナンデス", "プレスリー", "フレデリック", ""]
    look = answers[1].attention["text"]
    read = [look.keys[place] for place in look.weights.argmax(axis=1)]
    assert read == ["p", "r", "s", "l", "y"]  # the letter of each sound


@pytest.mark.parametrize(("name", "limit"), [("tag", 100), ("parse", 84)])
def test_the_longest_text_that_the_documentation_promises(name, limit):
    inputs, _ = load_assets(FOLDER / name / "assets")
    assert inputs["text"].limit == limit
    page = (Path(__file__).parents[2] / "docs/reading.md").read_text(encoding="utf-8")
    assert "100 words for the shipped `tag`, 84 for `parse`" in page
    with pytest.raises(ValueError, match=rf"at most {limit} (words|symbols)\. Received: {limit + 1}"):
        inputs["text"].arrays("a " * (limit + 1))


@pytest.mark.parametrize("name", presets())
def test_its_litert_file_is_made_from_it_and_verified_on_held_out_rows(name):
    """A file that was not made again after the Keras model was trained again."""
    made = manifest.read(FOLDER / name / LITE)
    assert made["made_from"] == digest_files(FOLDER / name, MODEL_FILES)
    assert made["verified"]["rows"] >= min(2000, 0.9 * made["record"]["counts"]["test"])  # equal inputs count once
    assert made["verified"]["same_text"] >= SAME_TEXTS * made["verified"]["rows"]


def test_all_litert_files_fit_into_the_wheel():
    assert sum(path.stat().st_size for path in FOLDER.glob(f"*/{LITE}/*")) < 45e6


def test_a_preset_is_opened_with_litert_unless_keras_is_chosen(tmp_path):
    assert isinstance(open_model("caption_scene"), LiteModel)
    assert isinstance(open_model("caption_scene", "keras"), Model)
    with pytest.raises(ValueError, match=r"engine: expected one of auto, litert, keras. Received: 'lite'"):
        open_model("caption_scene", "lite")


def test_a_run_has_no_litert_file(tmp_path):
    (tmp_path / "config.json").touch()
    with pytest.raises(ValueError, match=r"engine: expected keras for a model without a LiteRT file"):
        open_model(tmp_path, "litert")


def test_a_run_without_a_finished_epoch_is_no_unknown_model(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(ValueError, match=r"expected a run with a finished epoch\. Received: .*; train it again"):
        find(tmp_path)
