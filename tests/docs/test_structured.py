"""docs/structured.md: its examples work as shown."""

import re
from pathlib import Path

import numpy as np

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "structured.md").read_text(encoding="utf-8")


def test_python_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tagger, distributions = {}, {}
    for block, names in zip(re.findall(r"```python\n(.*?)```", PAGE, re.S), (tagger, distributions), strict=True):
        exec(block, names)
    np.testing.assert_array_equal(tagger["again"], tagger["tags"])
    assert np.mean(tagger["tags"] == tagger["labels"][400:]) > 0.95
    assert distributions["soft"].shape == (8, 12, 13)
