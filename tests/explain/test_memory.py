"""Pictures of a memory: the used slots, the order of steps, and errors."""

import numpy as np
import pytest

from seqattn_tf.explain import draw_memory, save_figure

WROTE = np.array([[1.0, 0, 0, 0], [0, 0.9, 0.05, 0.05], [0, 0, 0, 1], [0, 0, 0, 1]])
READ = np.array([[1.0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])


def test_two_panels_of_the_slots_that_were_used(tmp_path):
    figure = draw_memory(WROTE, READ, ["a", "b"], ["a", "b"], title="a b")
    wrote, read = figure.axes[:2]
    for axes, weights in ((wrote, WROTE), (read, READ)):
        assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "4"]
        [mesh] = axes.collections
        np.testing.assert_allclose(np.ravel(mesh.get_array()), np.ravel(weights[:, [0, 1, 3]]))
    assert [label.get_text() for label in wrote.get_yticklabels()] == ["a", "b", "\u2192 a", "\u2192 b"]
    assert {text.get_text() for text in figure.texts} >= {"write weights", "read weights", "a b"}
    save_figure(figure, tmp_path / "memory.png")


def test_nothing_and_hardly_anything_are_drawn():
    assert draw_memory(np.zeros([0, 3]), np.zeros([0, 3]), [], []).texts[-1].get_text() == "nothing to show"
    even = np.full([1, 20], 0.05)
    assert len(draw_memory(even, even, ["a"], []).axes[0].get_xticklabels()) == 20


def test_faults_are_said():
    with pytest.raises(ValueError, match=r"read: expected weights of shape .* \(2, 4\)\. Received: shape \(4, 4\)"):
        draw_memory(WROTE[:2], READ, ["a"], ["a"])
