"""The same export in the releases of TensorFlow on which TensorFlow Serving is based, each newly installed."""

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.export.forms.saved_model import ask_signatures, questions_about

pytestmark = pytest.mark.slow
WORDS = ["hello", "attention", "tensorflow", "", "naïve"]
VERSION = "import importlib.metadata as m; print(m.version('tensorflow'), m.version('tensorflow-text'))"


@pytest.mark.parametrize("release", ["2.18", "2.20"])
def test_an_export_answers_as_it_does_here(preset, exported, tmp_path, release):
    """Runs in the C++ loader of that release, with the ops of its TensorFlow Text."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = str(tmp_path / "venv/bin/python")
    wanted = [f"tensorflow=={release}.*", f"tensorflow-text=={release}.*"]
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted], check=True)
    installed = subprocess.run([python, "-c", VERSION], capture_output=True, text=True, check=True).stdout.split()
    assert [version.rpartition(".")[0] for version in installed] == [release, release]
    folder = exported / "models/pronounce/1"
    questions = questions_about(preset, [{"text": word} for word in WORDS])
    [here], [there] = ask_signatures(folder, questions), ask_signatures(folder, questions, python=python)
    for name, outputs in here.items():
        for alias, expected in outputs.items():
            found = there[name][alias]
            if expected.dtype.kind == "f":
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=f"{name} {alias}")
            else:
                assert found.tolist() == expected.tolist(), f"{name} {alias}"
    print(f"TensorFlow {installed[0]}, TensorFlow Text {installed[1]}: as in {tf.__version__}")
