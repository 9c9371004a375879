"""A version directory appears completely or not at all."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import tensorflow as tf
from support import forked, systems
from tensorflow_serving.apis import prediction_log_pb2

import seqattn_tf
from seqattn_tf.export import package
from seqattn_tf.export.forms.base import Form
from seqattn_tf.export.package import export_model, export_presets
from seqattn_tf.export.versions import versions
from seqattn_tf.export.warmup import FILE
from seqattn_tf.lite import manifest
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.lite.text import SymbolRules

LETTERS = SymbolRules(tuple("abc"))
TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def tiny():
    """The model that is exported in the shortest time."""
    return systems.text_classifier(systems.text_network(LETTERS.size, outputs=2), LETTERS, ("yes", "no"))


@pytest.mark.slow
def test_a_version_holds_both_forms_and_requests_to_warm_up_with(tiny, tmp_path):
    first = export_model(tiny, tmp_path / "models/m", {})
    assert first.version == tmp_path / "models/m/1"
    assert {"assets.extra", "saved_model.pb", "variables"} <= {path.name for path in first.version.iterdir()}
    with pytest.raises(ValueError, match=r"expected a number that .* does not contain yet\. Received: 1"):
        export_model(tiny, tmp_path / "models/m", {}, version=1)
    assert versions(tmp_path / "models/m") == [1]
    records = list(tf.data.TFRecordDataset(str(first.version / "assets.extra" / FILE)).as_numpy_iterator())
    requests = [prediction_log_pb2.PredictionLog.FromString(record).predict_log.request for record in records]
    assert [tf.make_ndarray(request.inputs["text"]).shape for request in requests] == [(1,), (2,), (8,)]
    verified = manifest.read(first.version / "assets.extra")["verified"]
    assert verified == {"rows": 105, "SavedModel": 105, "LiteRT": 105}


class Said(Form):
    """A form for tests of folders only; its answers are those of the model that wrote it."""

    title = "what was said"

    def __init__(self, changed=0):
        self.changed = changed  # the number of wrong answers

    def write(self, model, folder, described):
        (folder / "said.json").write_text(json.dumps(described["name"]))
        self.model = model
        return {"said": True}

    def open(self, folder):
        def answers(rows):
            found = self.model.answer(rows)
            return [dataclasses.replace(one, text="?") if n < self.changed else one for n, one in enumerate(found)]

        return answers


def test_versions_count_up_and_none_is_overwritten(tiny, tmp_path):
    for number in (1, 2):
        done = export_model(tiny, tmp_path / "m", {}, forms=[Said()])
        assert (done.version, done.rows, done.agreeing) == (tmp_path / f"m/{number}", 105, {"what was said": 105})
    about = manifest.read(done.version / "assets.extra")
    assert (about["version"], about["said"], about["verified"]) == (2, True, {"rows": 105, "what was said": 105})
    assert (done.version / "assets.extra" / FILE).stat().st_size > 100
    with pytest.raises(ValueError, match=r"expected a number that .* does not contain yet\. Received: 1"):
        export_model(tiny, tmp_path / "m", {}, version=1, forms=[Said()])
    assert versions(tmp_path / "m") == [1, 2]
    shutil.rmtree(tmp_path / "m/1")
    # Follows the last version, not the number of versions.
    assert export_model(tiny, tmp_path / "m", {}, forms=[Said()]).version.name == "3"


@pytest.mark.parametrize("forms", [[Said(1)], [Said(), Said(1)]])
def test_an_export_that_fails_its_verification_is_not_published(tiny, tmp_path, forms):
    """This also applies if only the last of several forms fails, and no files are left."""
    export_model(tiny, tmp_path / "m", {"recipe": "good"}, forms=[Said()])
    with pytest.raises(ValueError, match=r"what was said: expected .* on 105 rows.*agreement on 10\d; a different"):
        export_model(tiny, tmp_path / "m", {"recipe": "bad"}, forms=forms)
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["1"]
    assert manifest.read(tmp_path / "m/1/assets.extra")["record"] == {"recipe": "good"}


def test_of_two_exports_of_one_version_the_second_is_told(tiny, tmp_path):
    """Both exports start before either one ends."""

    class Late(Said):
        def compare(self, model, folder, rows):
            export_model(tiny, tmp_path / "m", {"recipe": "faster"}, forms=[Said()])
            return super().compare(model, folder, rows)

    with pytest.raises(ValueError, match=r"does not contain yet\. Received: 1"):
        export_model(tiny, tmp_path / "m", {"recipe": "slower"}, forms=[Late()])
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["1"]
    assert manifest.read(tmp_path / "m/1/assets.extra")["record"] == {"recipe": "faster"}


SLOW_EXPORT = """
import sys, time, pathlib
from seqattn_tf.export import package
from seqattn_tf.export.warmup import FILE
from seqattn_tf.export.forms import SavedModel
from seqattn_tf.lite.text import SymbolRules
from support.systems import text_classifier, text_network
a = SymbolRules(("a",))
SavedModel.compare = lambda *_: time.sleep(600)
package.export_model(text_classifier(text_network(a.size, outputs=1, units=4), a), pathlib.Path(sys.argv[1]), {})
"""


def test_killed_export_leaves_no_version(tmp_path):
    target = tmp_path / "models/m"
    process = forked.Popen(
        [sys.executable, "-c", SLOW_EXPORT, str(target)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    try:
        deadline = time.time() + 120
        while not list(target.glob("*/saved_model.pb")) and time.time() < deadline:
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    assert list(target.glob("*/saved_model.pb"))  # half an export is there ...
    assert versions(target) == []  # ... but it is not a version
    assert all(path.name.startswith(".") for path in target.iterdir())


def test_every_version_has_its_lite_folder_and_damage_is_refused(tiny, tmp_path):
    first = export_model(tiny, tmp_path / "models/m", {"recipe": "first"}).lite
    shutil.copytree(first, tmp_path / "device")  # the export needs no other files
    lite = tmp_path / "device"
    model = LiteModel(lite)
    assert model.manifest["record"] == {"recipe": "first"}
    assert model.manifest["lite"]["least_runtime"] == "2.9.0"
    assert model.manifest["verified"]["LiteRT"] == 105
    assert [answer.text for answer in model.answer(["abc", "c"])] == [a.text for a in tiny.answer(["abc", "c"])]
    whole = (lite / "model.tflite").read_bytes()
    (lite / "model.tflite").write_bytes(whole[: len(whole) // 3])
    with pytest.raises(ValueError, match="expected a complete LiteRT file"):
        LiteModel(lite)
    with pytest.raises(ValueError, match=r"expected an exported model with manifest\.json"):
        LiteModel(tmp_path)


@pytest.mark.slow
def test_presets_are_exported_to_the_cache_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    models = export_presets()
    assert tmp_path in models.parents
    assert versions(models / "pronounce") == [1]
    assert "exporting pronounce" in capsys.readouterr().out
    assert export_presets() == models
    assert capsys.readouterr().out == ""


def test_edge_helper_runs_without_tensorflow(exported):
    code = """
import sys
from seqattn_tf.lite.runtime import LiteModel
print(LiteModel(sys.argv[1]).answer(["cat"])[0].text)
assert not {"tensorflow", "keras"} & set(sys.modules), "TensorFlow was loaded"
"""
    command = [sys.executable, "-c", code, str(exported / "models/pronounce/1/assets.extra/lite")]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "K AE T"


def test_a_change_in_any_part_of_the_package_makes_the_presets_be_exported_anew(monkeypatch, tmp_path):
    before = package._state_of_package()
    assert package._state_of_package() == before
    for part in ("models/base.py", "decoding/beam.py", "lite/text/rules.py", "inputs/text.py", "presets/new.json"):
        copy = tmp_path / part.replace("/", "-")
        shutil.copytree(Path(seqattn_tf.__file__).parent, copy, ignore=shutil.ignore_patterns("*.pyc", "*.npz"))
        monkeypatch.setattr(seqattn_tf, "__file__", str(copy / "__init__.py"))
        unchanged = package._state_of_package()
        with (copy / part).open("a") as file:
            file.write("# another\n")
        assert package._state_of_package() != unchanged


def test_an_interpreter_is_asked_one_question_at_a_time():
    edge = LiteModel.__new__(LiteModel)
    edge.inputs, edge.lock, edge._sizes = {"text": Text(LETTERS)}, threading.Lock(), {"text_ids": [-1]}

    def run(**fed):
        raise RuntimeError(f"locked: {edge.lock.locked()}")

    edge.run = run
    with pytest.raises(ValueError, match="locked: True"):
        edge.answer(["abc"])
    assert not edge.lock.locked()
