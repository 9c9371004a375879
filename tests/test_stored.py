"""Folders in stored formats: this version gives the recorded answers, or names the command for conversion.

`stored/run` and `stored/export` were written by 0.1.0, and `stored/old` before names were settled;
`stored/answers.json` contains the answers of each at that time. A new format adds a folder and changes none.
"""

import inspect
import json
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf import convert
from seqattn_tf.lite.fields.base import Field
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.models import load
from seqattn_tf.training import recipes
from seqattn_tf.training.checkpoints import Checkpoints

STORED = Path(__file__).parent / "stored"
RECORDED = json.loads((STORED / "answers.json").read_text(encoding="utf-8"))
LITE = Path("export/1/assets.extra/lite")


def check(answers, recorded):
    """Check that texts and alternatives are equal and scores within 1e-5; None represents minus infinity."""
    for answer, expected in zip(answers, recorded, strict=True):
        assert answer.text == expected["text"]
        assert [text for text, _ in answer.alternatives] == [text for text, _ in expected["alternatives"]]
        found = [answer.score, *(score for _, score in answer.alternatives)]
        scores = [expected["score"], *(score for _, score in expected["alternatives"])]
        np.testing.assert_allclose(found, [-np.inf if s is None else s for s in scores], rtol=0, atol=1e-5)


@pytest.fixture
def old(tmp_path):
    return shutil.copytree(STORED / "old", tmp_path / "old")


def test_a_stored_run_answers_as_recorded():
    check(load(STORED / "run").answer(RECORDED["rows"]), RECORDED["run"])


def test_a_stored_lite_model_answers_as_recorded():
    check(LiteModel(STORED / LITE).answer(RECORDED["rows"]), RECORDED["export"])


def test_a_stored_saved_model_answers_as_recorded():
    graph = tf.saved_model.load(str(STORED / "export/1")).signatures["serving_default"]
    found = graph(text=tf.constant(RECORDED["rows"]))
    assert [text.decode() for text in found["text"].numpy()] == [answer["text"] for answer in RECORDED["export"]]
    scores = [-np.inf if answer["score"] is None else answer["score"] for answer in RECORDED["export"]]
    np.testing.assert_allclose(found["score"], scores, rtol=0, atol=1e-5)


def test_a_run_of_before_names_its_command_which_makes_it_answer_as_it_did(old, capsys):
    with pytest.raises(
        ValueError, match=r"expected format 1\. Received: 0; convert it with python -m seqattn_tf\.convert \S+old"
    ):
        load(old)
    weights = (STORED / "old/model.keras").read_bytes()
    assert convert.main([str(old)]) == 0
    check(load(old).answer(RECORDED["rows"]), RECORDED["run"])
    changed = {path.relative_to(old): path.read_bytes() for path in old.rglob("*") if path.is_file()}
    assert convert.main([str(old)]) == 0  # there is nothing left to convert
    assert "nothing to change" in capsys.readouterr().out
    assert changed == {path.relative_to(old): path.read_bytes() for path in old.rglob("*") if path.is_file()}
    assert (STORED / "old/model.keras").read_bytes() == weights


def test_a_converted_checkpoint_holds_settings_that_the_recipe_has(old):
    before = next((STORED / "old/checkpoints").glob("*.npz"))
    convert.convert(old)
    found = Checkpoints(old / "checkpoints").newest()
    settings = recipes.get("translate").settings
    assert type(settings)(**found.about["settings"]).max_target_length == 6
    assert set(found.about["progress"]["history"][0]) >= {"dev_symbol_error_rate", "dev_answer_error_rate"}
    with np.load(before) as kept, np.load(next((old / "checkpoints").glob("*.npz"))) as converted:
        for name in set(kept.files) - {"about"}:
            np.testing.assert_array_equal(kept[name], converted[name])


def test_names_that_mean_something_else_elsewhere_are_converted_by_recipe():
    old = {
        "recipe": "listen",
        "settings": {"left_out": "theo", "fold": "case"},
        "figures": {"dev_per": 0.1, "wer_beyond": 1},
    }
    assert convert.convert_record(old) == {
        "recipe": "transcribe",
        "settings": {"held_out_speaker": "theo", "lowercase": True, "strip_accents": False},
        "metrics": {"dev_symbol_error_rate": 0.1, "answer_error_rate_beyond": 1},
    }
    widths = [convert.convert_settings(recipe, {"width": 4}) for recipe in ("toy", "entail", "answer")]
    assert widths == [{"memory_width": 4}, {"projection_units": 4}, {"map_units": 4}]
    layer = {
        "class_name": "RowEncoder",
        "registered_name": "seqattn_tf>RowEncoder",
        "config": {"reads": "a", "places": 2},
    }
    found = convert.convert_network({"inner": [layer]})["inner"][0]["config"]
    assert found == {"input_name": "a", "position_embeddings": 2}
    sizes = {"vocabulary": 9, "units": 3, "embedding": 2, "slots": 4, "width": 5}
    for name, config, expected in [
        ("seqattn_tf>RetellNetwork", sizes, {"memory_slots": 4, "memory_width": 5}),
        ("seqattn_tf.vision.efficientnet>EfficientNetLite0", {"step": 16}, {"output_stride": 16}),
    ]:
        old = {"class_name": name.partition(">")[2], "registered_name": name, "config": config}
        made = keras.saving.deserialize_keras_object(convert.convert_network(old))
        assert expected.items() <= made.get_config().items()


def test_every_new_name_exists():
    """Catches a conversion to a name that a class, a field or a recipe does not have."""
    made = {name.partition(">")[2]: made for name, made in keras.saving.get_custom_objects().items()}
    for name, arguments in convert._ARGUMENTS.items():
        family = made[convert._CLASSES.get(name, name)].__mro__
        known = {name for one in family for name in inspect.signature(one).parameters}
        assert {*arguments.values()} <= known, name
    for name, arguments in convert._FIELDS.items():
        assert {*arguments.values()} <= {*inspect.signature(Field.member(name)).parameters}, name
    settings = {name: {*vars(recipes.get(name).settings)} for name in recipes.names()}
    assert {*convert._SETTINGS.values()} <= set().union(*settings.values())
    assert all({*names.values()} <= settings[recipe] for recipe, names in convert._OF_RECIPES.items())
    assert {*convert._RECIPES.values()} <= {*settings}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda folder: shutil.rmtree(folder), "expected a run folder or the folder of a saved model"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json: expected JSON"),
        (lambda folder: (folder / "config.json").write_text("[1]"), "config.json: expected a JSON object"),
        (lambda folder: (folder / "config.json").write_text('{"system": "reader"}'), "train the model again"),
        (lambda folder: (folder / "model.keras").write_bytes(b"PK"), "model.keras: expected a complete Keras file"),
        (lambda folder: (folder / "assets/inputs.json").write_text('[{"name": "x"}]'), "inputs.json: expected"),
    ],
)
def test_what_cannot_be_converted_is_refused_and_stays_as_it_is(change, words, old, capsys):
    change(old)
    before = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}
    assert convert.main([str(old)]) == 1
    assert words in capsys.readouterr().err
    assert before == {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}


def test_a_manifest_of_another_format_is_refused(tmp_path):
    lite = shutil.copytree(STORED / LITE, tmp_path / "lite")
    manifest = json.loads((lite / "manifest.json").read_text())
    for number, advice in ((2, "install a newer seqattn-tf"), (0, "export the model again")):
        (lite / "manifest.json").write_text(json.dumps({**manifest, "format": number}))
        with pytest.raises(ValueError, match=rf"manifest\.json: expected format 1\. Received: {number}; {advice}"):
            LiteModel(lite)
