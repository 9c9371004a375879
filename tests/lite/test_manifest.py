"""The public and the private parts of a record in a manifest."""

import pytest

from seqattn_tf.export.describe import describe
from seqattn_tf.lite import manifest
from seqattn_tf.presets import open_model


def test_the_place_of_the_data_stays_on_its_machine():
    record = {"recipe": "translate", "given": "/data/of/somebody.csv", "summary": "s", "examples": [{"text": "a"}]}
    assert manifest.without_examples(record) == {"recipe": "translate"}


def test_an_export_says_what_ranks_its_answers(preset):
    told = describe(preset, {"summary": "s", "given": "/data/of/somebody.csv"})
    assert told["score_meaning"] == "log-probability"
    assert preset.with_settings(length_penalty=0.6, beam_width=2).score_meaning.endswith("a length penalty of 0.6")
    assert "/data/of" not in str(told)


def test_a_page_that_pictures_are_padded_to_is_told(preset):
    pages = [describe(model, {})["inputs"] for model in (open_model("image_to_latex", "keras"), preset)]
    assert [told["canvas"] for inputs in pages for told in inputs.values()] == [(96, 416), None]  # height and width


def test_a_folder_without_one_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"expected an exported model with manifest\.json"):
        manifest.read(tmp_path)
