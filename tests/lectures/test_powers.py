"""The picture of matrix powers: eigenvalues in the plane, with norms beside them."""

import numpy as np
import pytest

from seqattn_tf.explain import save_figure
from seqattn_tf.lectures import draw_powers

STEPS = np.arange(51)
POWERS = {
    "shrinks": (0.9**STEPS, np.array([0.9, -0.3 + 0.4j, -0.3 - 0.4j])),
    "grows": (1.3**STEPS, np.array([1.3])),
    "turns": (np.ones(51), np.array([1j, -1j])),
}


def lines(axes):
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


def test_eigenvalues_stand_in_the_plane_and_norms_beside_them(tmp_path):
    figure = draw_powers(POWERS, "powers")
    plane, curves = figure.axes
    for name, (norms, eigenvalues) in POWERS.items():
        dots, curve = lines(plane)[name], lines(curves)[name]
        np.testing.assert_allclose(dots.get_xydata(), np.stack([eigenvalues.real, eigenvalues.imag], -1))
        assert dots.get_linestyle() == "None"
        np.testing.assert_allclose(curve.get_xydata(), np.stack([STEPS, norms], -1))
        assert dots.get_color() == curve.get_color()
    assert curves.get_yscale() == "log"
    assert [text.get_text() for text in curves.get_legend().get_texts()] == list(POWERS)
    save_figure(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_the_unit_circle_is_round_and_all_eigenvalues_are_seen():
    figure = draw_powers(POWERS)
    plane = figure.axes[0]
    [circle] = plane.patches
    assert (circle.center, circle.radius) == ((0, 0), 1)
    figure.canvas.draw()
    (left, low), (right, high) = plane.transData.transform([(-1, -1), (1, 1)])
    assert right - left == pytest.approx(high - low, rel=1e-6)
    assert plane.get_xlim()[1] > 1.3
    assert plane.get_ylim()[1] > 1.3


def test_what_vanished_is_drawn_at_the_foot():
    figure = draw_powers({"gone": (np.array([1.0, 0.0]), [0.0])})
    assert lines(figure.axes[1])["gone"].get_ydata()[1] > 0
    figure.canvas.draw()


def test_names_are_no_markup():
    figure = draw_powers({r"$\frac$": POWERS["grows"]}, r"$\frac$")
    figure.canvas.draw()
    assert [text.get_text() for text in figure.axes[1].get_legend().get_texts()] == [r"$\frac$"]


def test_nothing_to_draw_is_refused():
    with pytest.raises(ValueError, match=r"powers: expected at least one\. Received: none"):
        draw_powers({})
