"""The page on pictures for lectures: its code runs, draws the pictures, and reproduces the numbers on the page."""

import re

import numpy as np
import pytest
from support import pages

from seqattn_tf import cli
from seqattn_tf.explain import save_figure

PAGE = pages.text_of("lectures.md")
ALIGNMENTS, UNITS, SURFACE, POWERS, SKIPS = pages.python_of("lectures.md")
TINY = ["--set", "units=8", "--set", "epochs=1", "--set", "max_examples=64", "--set", "sequence_length=16"]


def test_every_picture_is_there_and_small():
    shown = re.findall(r"\(images/(.+?)\)", PAGE)
    assert shown == ["alignments.png", "units.png", "surface.png", "powers.png", "skips.png"]
    assert all(f'"{name}")' in PAGE for name in shown)
    assert all((pages.DOCS / "images" / name).stat().st_size < 150_000 for name in shown)


def test_the_cliff_and_the_powers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"np": np, "save_figure": save_figure}
    exec(SURFACE, names)
    exec(POWERS, names)
    exec(SKIPS, names)
    assert {path.name for path in tmp_path.iterdir()} == {"surface.png", "powers.png", "skips.png"}
    plain, deep, skipping = (flow.norms[60] for flow in names["flows"].values())
    assert (round(plain, 4), round(skipping, 2)) == (0.0018, 0.27)
    assert deep == pytest.approx(0.9**180, rel=0.1)
    leaps, stays = names["paths"].values()
    step = np.linalg.norm(np.diff(leaps[:, :2], axis=0), axis=1).max()
    assert f"the length {step:.0f}" in PAGE
    assert f"the error is {leaps[-1, 2]:.2f}" in PAGE
    assert stays[-1, 2] < 0.1 * leaps[-1, 2]
    np.testing.assert_array_equal(stays[:13], leaps[:13])  # equal up to the cliff
    largest, _, smallest, defective = (found.norms for found in names["powers"].values())
    assert (round(largest[50], 1), round(smallest[50], 5)) == (117.4, 0.00515)
    assert defective.max() > 3
    assert defective[50] < 0.5


def test_a_chain_finds_the_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(ALIGNMENTS, names)
    assert (tmp_path / "alignments.png").is_file()
    *found, true = names["maps"].values()
    softmax, sigmoid, chain = (np.abs(weights - true).mean() for weights in found)
    assert softmax > sigmoid > chain
    np.testing.assert_allclose(found[0].sum(-1), 1, atol=1e-5)
    said = re.search(r"softmax\s(\d\.\d+), sigmoid (\d\.\d+), chain (\d\.\d+)", PAGE)
    np.testing.assert_allclose(list(names["errors"].values()), [float(value) for value in said.groups()], rtol=0.1)


def test_units_of_a_model_that_was_trained_for_a_moment(tmp_path, monkeypatch, shared_data):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shakespeare").symlink_to(shared_data / "shakespeare")
    [command] = pages.commands_of("lectures.md")
    assert cli.main([*command, *TINY]) == 0
    names = {"np": np, "save_figure": save_figure}
    exec(UNITS, names)
    assert (tmp_path / "units.png").is_file()
    assert names["states"].shape == (21000, 8)
    text = names["text"]
    where = [text[:place].rpartition("\n")[2] for place in range(1, 400)]
    np.testing.assert_array_equal(names["since"]("\n")[60:399], [len(line) for line in where][60:])
