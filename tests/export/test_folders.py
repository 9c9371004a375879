"""A version directory appears whole or not at all."""

import os
import subprocess
import sys
import time

import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from seqattn_tf.export import manifest, package
from seqattn_tf.export.lite_runtime import LiteModel
from seqattn_tf.export.package import export_model, export_presets
from seqattn_tf.export.saved_model import versions
from seqattn_tf.export.verify import Agreement, verify
from seqattn_tf.export.warmup import FILE
from seqattn_tf.models.reader import Reader, ReaderNetwork
from seqattn_tf.text import SymbolRules

LETTERS = SymbolRules(tuple("abc"))


@pytest.fixture(scope="module")
def tiny():
    """Of all models the one that is exported in the shortest time."""
    return Reader(ReaderNetwork(LETTERS.size, outputs=2, units=4, embedding=4), LETTERS, ("yes", "no"))


def test_versions_count_up_and_are_not_overwritten(tiny, tmp_path):
    first = export_model(tiny, tmp_path / "models/m", {})
    assert first.saved_model == tmp_path / "models/m/1"
    assert {"assets.extra", "saved_model.pb", "variables"} <= {path.name for path in first.saved_model.iterdir()}
    with pytest.raises(ValueError, match=r"expected one that .* does not hold\. Received: 1"):
        export_model(tiny, tmp_path / "models/m", {}, version=1)
    assert versions(tmp_path / "models/m") == [1]
    records = list(tf.data.TFRecordDataset(str(first.saved_model / "assets.extra" / FILE)).as_numpy_iterator())
    requests = [prediction_log_pb2.PredictionLog.FromString(record).predict_log.request for record in records]
    assert [tf.make_ndarray(request.inputs["text"]).shape for request in requests] == [(1,), (2,), (8,)]
    verified = manifest.read(first.saved_model / "assets.extra")["verified"]
    assert verified == {"texts": 100, "saved_model": 100, "lite": 100}


def test_a_model_that_fails_its_verification_is_not_published(tiny, tmp_path, monkeypatch):
    before = export_model(tiny, tmp_path / "models/m", {"recipe": "good"})
    monkeypatch.setattr(package, "verify", lambda *_: Agreement(100, 3, 100))
    with pytest.raises(ValueError, match="SavedModel: expected the Keras model's 100 answers"):
        export_model(tiny, tmp_path / "models/m", {"recipe": "bad"})
    assert [path.name for path in (tmp_path / "models/m").iterdir()] == ["1"]
    assert [path.name for path in (tmp_path / "lite").iterdir()] == ["m"]
    assert manifest.read(before.lite)["record"] == {"recipe": "good"}


def test_of_two_exports_of_one_version_the_second_is_told(tiny, tmp_path, monkeypatch):
    """Both begin before either ends."""

    def meanwhile(*arguments):
        monkeypatch.setattr(package, "verify", verify)
        export_model(tiny, tmp_path / "models/m", {"recipe": "faster"})
        return verify(*arguments)

    monkeypatch.setattr(package, "verify", meanwhile)
    with pytest.raises(ValueError, match=r"does not hold\. Received: 1"):
        export_model(tiny, tmp_path / "models/m", {"recipe": "slower"})
    assert [path.name for path in (tmp_path / "models/m").iterdir()] == ["1"]
    assert manifest.read(tmp_path / "models/m/1/assets.extra")["record"] == {"recipe": "faster"}


SLOW_EXPORT = """
import sys, time, pathlib
from seqattn_tf.export import package
from seqattn_tf.export.warmup import FILE
from seqattn_tf.models import EncoderDecoder, Seq2Seq
from seqattn_tf.text import SymbolRules
a = SymbolRules(("a",))
package.verify = lambda *_: time.sleep(600)
package.export_model(Seq2Seq(EncoderDecoder(a.size, a.size, units=4), a, a), pathlib.Path(sys.argv[1]), {})
"""


def test_killed_export_leaves_no_version(tmp_path):
    target = tmp_path / "models/m"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_EXPORT, str(target)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.time() + 120
        while not list(target.glob("*/saved_model.pb")) and time.time() < deadline:
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    assert list(target.glob("*/saved_model.pb"))  # half an export is there ...
    assert versions(target) == []  # ... and is no version
    assert all(path.name.startswith(".") for path in target.iterdir())


def test_lite_folder_is_replaced_and_damage_is_refused(tiny, tmp_path):
    export_model(tiny, tmp_path / "models/m", {})
    lite = export_model(tiny, tmp_path / "models/m", {"recipe": "second"}).lite
    assert versions(tmp_path / "models/m") == [1, 2]
    model = LiteModel(lite)
    assert model.manifest["record"] == {"recipe": "second"}
    assert [answer.text for answer in model.answer(["abc", "c"])] == [a.text for a in tiny.answer(["abc", "c"])]
    whole = (lite / "model.tflite").read_bytes()
    (lite / "model.tflite").write_bytes(whole[: len(whole) // 3])
    with pytest.raises(ValueError, match="expected a whole LiteRT file"):
        LiteModel(lite)
    with pytest.raises(ValueError, match=r"expected an export with a manifest\.json"):
        LiteModel(tmp_path)


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
from seqattn_tf.export.lite_runtime import LiteModel
print(LiteModel(sys.argv[1]).answer(["cat"])[0].text)
assert not {"tensorflow", "keras"} & set(sys.modules), "TensorFlow was loaded"
"""
    command = [sys.executable, "-c", code, str(exported / "lite/pronounce")]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "K AE T"
