"""The pages of the layers: their code runs, and draws the pictures they show."""

import re
from pathlib import Path

import pytest

from seqattn_tf.attention import Alignment, Score
from seqattn_tf.cells import Cell
from seqattn_tf.decoders.symbols import SymbolDecoder
from seqattn_tf.encoders import Encoder

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = "\n".join((DOCS / name).read_text(encoding="utf-8") for name in ("layers.md", "attention.md"))


def test_the_page_runs_and_draws(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(block, names)
    shown = set(re.findall(r"\(images/(.+?)\)", PAGE))
    assert shown <= {path.name for path in tmp_path.iterdir()}
    assert all((DOCS / "images" / name).is_file() for name in shown)
    assert names["history"].history["accuracy"][-1] > 0.95
    assert names["flows"]["linear unit, 1.1"].norms[50] == pytest.approx(117.4, abs=0.05)
    assert names["flows"]["linear unit, 0.9"].norms[50] == pytest.approx(0.00515, abs=5e-6)


@pytest.mark.parametrize("family", [Cell, Score, Alignment, Encoder, SymbolDecoder])
def test_the_page_names_every_variant(family):
    ours = [name for name, member in family.registry.items() if member.__module__.startswith("seqattn_tf.")]
    assert [name for name in ours if f"`{name}`" not in PAGE] == []
