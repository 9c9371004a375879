"""Segments: runs of adjacent positions, and their picture."""

import numpy as np
import pytest

from seqattn_tf.explain import draw_segments, save_figure
from seqattn_tf.explain.segments import segments
from seqattn_tf.lite.answer import AttentionMap


def look(words, places):
    weights = np.random.default_rng(0).uniform(size=(words, places))
    return AttentionMap(weights, tuple(f"word{i}" for i in range(words)), tuple("\u5f7c" * places))


def test_runs_of_neighbours():
    assert [tuple(s[:2]) for s in segments(np.array([0.2, 0.0, 0.1, 0.2, 0.2]))] == [(0, 0), (2, 4)]
    assert segments(np.zeros(3)) == []
    assert segments(np.zeros(0)) == []
    assert [s.weight for s in segments(np.array([0.5, 0.3]))] == [pytest.approx(0.4)]
    assert [tuple(s[:2]) for s in segments(np.array([1.0, 0.8, 0.2]), share=0.9)] == [(0, 0)]


def test_a_bar_for_every_run(tmp_path):
    looks = [look(3, 5), look(1, 1), look(0, 4), look(2, 9)]
    figure = draw_segments(looks, columns=2)
    assert len(figure.axes) == 4
    for axes, one in zip(figure.axes, looks, strict=True):
        assert len(axes.patches) == sum(len(segments(row)) for row in one.weights)
        assert len(axes.texts) == len(one.keys) + len(one.queries)
    save_figure(figure, tmp_path / "segments.png")
    assert (tmp_path / "segments.png").stat().st_size > 1000


def test_no_looks_are_refused():
    with pytest.raises(ValueError, match="looks: expected at least one map"):
        draw_segments([])
