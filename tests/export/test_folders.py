"""A version directory appears whole or not at all."""

import os
import subprocess
import sys
import time

import pytest

from seqattn_tf.export import saved_model
from seqattn_tf.export.lite import export_lite
from seqattn_tf.export.lite_runtime import LiteModel
from seqattn_tf.export.package import export_presets
from seqattn_tf.export.saved_model import export_saved_model, versions
from seqattn_tf.models import EncoderDecoder, Seq2Seq
from seqattn_tf.text import SymbolRules

LETTERS, SOUNDS = SymbolRules(tuple("abc")), SymbolRules(("A", "B"), split="spaces")


@pytest.fixture(scope="module")
def tiny():
    return Seq2Seq(EncoderDecoder(LETTERS.size, SOUNDS.size, units=4, embedding=4), LETTERS, SOUNDS, max_target=4)


def test_versions_count_up_and_are_not_overwritten(tiny, tmp_path):
    first = export_saved_model(tiny, tmp_path / "m")
    assert first == tmp_path / "m/1"
    assert {"assets.extra", "saved_model.pb", "variables"} <= {path.name for path in first.iterdir()}
    with pytest.raises(ValueError, match=r"expected one that .* does not hold\. Received: 1"):
        export_saved_model(tiny, tmp_path / "m", version=1)
    assert versions(tmp_path / "m") == [1]


def test_failure_halfway_leaves_nothing(tiny, tmp_path, monkeypatch):
    def fail(folder):
        assert (folder / "saved_model.pb").exists()
        raise ValueError("refused")

    monkeypatch.setattr(saved_model.ops, "check", fail)
    with pytest.raises(ValueError, match="refused"):
        export_saved_model(tiny, tmp_path / "m")
    assert list((tmp_path / "m").iterdir()) == []


SLOW_EXPORT = """
import sys, time, pathlib
from seqattn_tf.export import saved_model
from seqattn_tf.models import EncoderDecoder, Seq2Seq
from seqattn_tf.text import SymbolRules
a = SymbolRules(("a",))
saved_model.ops.check = lambda folder: time.sleep(600)
saved_model.export_saved_model(Seq2Seq(EncoderDecoder(a.size, a.size, units=4), a, a), pathlib.Path(sys.argv[1]))
"""


def test_killed_export_leaves_no_version(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_EXPORT, str(tmp_path / "m")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.time() + 120
        while not list(tmp_path.glob("m/*/saved_model.pb")) and time.time() < deadline:
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    assert list(tmp_path.glob("m/*/saved_model.pb"))  # half an export is there ...
    assert versions(tmp_path / "m") == []  # ... and is no version
    assert all(path.name.startswith(".") for path in (tmp_path / "m").iterdir())


def test_lite_folder_is_replaced_and_damage_is_refused(tiny, tmp_path):
    export_lite(tiny, tmp_path / "lite")
    export_lite(tiny, tmp_path / "lite", {"recipe": "second"})
    model = LiteModel(tmp_path / "lite")
    assert model.manifest["record"] == {"recipe": "second"}
    assert [answer.text for answer in model.answer(["abc", "c"])] == [a.text for a in tiny.answer(["abc", "c"])]
    whole = (tmp_path / "lite/model.tflite").read_bytes()
    (tmp_path / "lite/model.tflite").write_bytes(whole[: len(whole) // 3])
    with pytest.raises(ValueError, match="expected a whole LiteRT file"):
        LiteModel(tmp_path / "lite")
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
