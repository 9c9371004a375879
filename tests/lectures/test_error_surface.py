"""The error surface of a single unit: exact values, numerical gradients, and the effect of clipping."""

import itertools

import numpy as np
import pytest

from seqattn_tf.lectures import RecurrentUnit

SQUASH = {"sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh}
POINTS = np.array([[5.0, -2.6], [5.8, -2.7], [6.4, -2.5], [-1.0, 0.3]])


def errors_of(unit, points):
    """Compute the errors in plain NumPy."""
    state = np.full(len(points), unit.start)
    for _ in range(unit.steps):
        state = SQUASH[unit.activation](points[:, 0] * state + points[:, 1])
    return (state - unit.target) ** 2


@pytest.mark.parametrize("unit", [RecurrentUnit(), RecurrentUnit(7, -0.2, 0.4, "tanh"), RecurrentUnit(steps=1)])
def test_errors_and_gradients_are_those_of_plain_numpy_and_of_differences(unit):
    errors, slopes = unit.slopes(POINTS)
    np.testing.assert_allclose(errors, errors_of(unit, POINTS), rtol=1e-9, atol=1e-15)
    for axis, step in enumerate(np.eye(2) * 1e-6):
        difference = (errors_of(unit, POINTS + step) - errors_of(unit, POINTS - step)) / 2e-6
        np.testing.assert_allclose(slopes[:, axis], difference, rtol=1e-4, atol=1e-8)


def test_a_surface_has_a_row_for_each_bias_and_a_column_for_each_weight():
    weights, biases = np.linspace(4, 6, 5), np.linspace(-3, -2, 3)
    found = RecurrentUnit().surface(weights, biases)
    assert found.errors.shape == (3, 5)
    point = np.array([[weights[4], biases[1]]])
    assert found.errors[1, 4] == pytest.approx(errors_of(RecurrentUnit(), point)[0])
    assert found.draw(title="t").axes


def test_a_step_goes_down_the_gradient():
    unit, at = RecurrentUnit(), np.array([5.8, -2.7])
    way = unit.descend(at, rate=0.01, steps=2)
    for before, after in itertools.pairwise(way):
        [error], [slope] = unit.slopes(before[None, :2])
        assert before[2] == error
        np.testing.assert_allclose(after[:2], before[:2] - 0.01 * slope, rtol=1e-12)
    assert way.shape == (3, 3)
    np.testing.assert_array_equal(way[0, :2], at)


def test_clipping_keeps_the_direction_and_bounds_the_length():
    unit = RecurrentUnit()
    # At the cliff, where w / 2 = -b; before it; beyond it.
    points = np.array([[5.0, -2.50001], [5.0, -2.3], [5.0, -2.7]])
    slopes = unit.slopes(points)[1]
    norms = np.linalg.norm(slopes, axis=-1)
    assert norms[0] > 100 > 0.5 > norms[1:].max()
    for point, slope, norm in zip(points, slopes, norms, strict=True):
        way = unit.descend(point, rate=0.1, steps=1, clip=0.5)
        expected = point - 0.1 * slope * min(1, 0.5 / norm)
        np.testing.assert_allclose(way[1, :2], expected, rtol=1e-12)


def test_bad_arguments_are_refused():
    unit = RecurrentUnit()
    with pytest.raises(ValueError, match=r"steps: expected a positive integer\. Received: 0"):
        RecurrentUnit(steps=0)
    with pytest.raises(ValueError, match=r"points: expected \[n, 2\], of \(w, b\)\. Received: shape \(3,\)"):
        unit.slopes([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"at: expected a point \(w, b\)\. Received: \[1\.0\]"):
        unit.descend([1.0], rate=0.1, steps=1)
    with pytest.raises(ValueError, match=r"clip: expected a number above 0, or None\. Received: 0"):
        unit.descend([1.0, 2.0], rate=0.1, steps=1, clip=0)
    with pytest.raises(ValueError, match="nothing"):
        RecurrentUnit(activation="nothing")
