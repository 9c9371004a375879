"""Facts of a story with their weights: the relevant facts of a long story, and a path through the chosen ones."""

import io
import itertools
import warnings

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from seqattn_tf.explain import draw_facts
from seqattn_tf.explain.facts import FEW, MARK, MOST, gaps_of, shown_facts
from seqattn_tf.explain.sheet import BLUES, INK, QUIET

FACTS = ["Wolves fear mice.", "Emily is a cat.", "Cats fear wolves.", "Jessica is a mouse."]
WEIGHTS = [[0.0, 0.96, 0.03, 0.01], [0.12, 0.002, 0.8, 0.078]]
LONG = [f"Fact of day {number}." for number in range(1, 101)]


def drawn(*more, facts=FACTS, weights=WEIGHTS, chosen=(2, 3)):
    return draw_facts(facts, weights, chosen, *more)


def texts(figure):
    inside = figure.axes[0].texts if figure.axes else []
    return [text.get_text() for text in [*figure.texts, *inside]]


def place(figure, written, size=None):
    """Return the position of a text; if it occurs several times, only the one of the given size."""
    found = [text for text in figure.axes[0].texts if text.get_text() == written]
    [one] = [text for text in found if size is None or text.get_fontsize() == size]
    return one.get_position()


def patches(figure, kind):
    return [patch for patch in figure.axes[0].patches if type(patch).__name__ == kind]


def cells(figure):
    """Return the cells by rows of facts, from the top."""
    found = sorted(patches(figure, "Rectangle"), key=lambda cell: (-cell.get_y(), cell.get_x()))
    return [[*row] for _, row in itertools.groupby(found, key=lambda cell: cell.get_y())]


def marks(figure):
    return [circle.get_center() for circle in patches(figure, "Circle")]


def spread(count, **weights):
    """Return one row of attention weights over facts; the nonzero ones are given by number, such as `_7`."""
    found = np.zeros([1, count])
    for number, weight in weights.items():
        found[0, int(number[1:]) - 1] = weight
    return found


def test_facts_stand_in_their_order_between_question_and_answer():
    figure = drawn("What does Emily fear?", "wolf")
    assert [text.get_text() for text in figure.texts] == ["What does Emily fear?"]
    heights = [place(figure, fact)[1] for fact in FACTS]
    assert heights == sorted(heights, reverse=True)
    assert place(figure, "\u2192 wolf")[1] < min(heights)
    assert place(figure, "hop 1")[1] == place(figure, "hop 2")[1] > max(heights)
    assert [place(figure, str(number), 8.5) for number in (3, 4)]  # each fact has its number
    assert len({place(figure, fact)[0] for fact in FACTS}) == 1


def test_weights_stand_beside_their_facts_under_their_looks():
    figure = drawn()
    assert [len(row) for row in cells(figure)] == [2, 2, 2, 2]
    for fact, row, weights in zip(FACTS, cells(figure), np.transpose(WEIGHTS), strict=True):
        for look, (cell, weight) in enumerate(zip(row, weights, strict=True), 1):
            assert cell.get_facecolor() == pytest.approx(BLUES(weight / 1.0))
            assert cell.get_y() < place(figure, fact)[1] < cell.get_y() + cell.get_height()
            assert cell.get_x() < place(figure, f"hop {look}")[0] < cell.get_x() + cell.get_width()
    shown = [text for text in texts(figure) if text.startswith(("0.", "1."))]
    # Weights that would be rounded to 0.00 are not printed.
    assert sorted(shown) == ["0.01", "0.03", "0.08", "0.12", "0.80", "0.96"]
    assert place(figure, "0.12")[1] == place(figure, FACTS[0])[1]


def test_the_colours_go_up_to_the_largest_weight():
    figure = drawn(weights=np.array(WEIGHTS) / 4)
    assert cells(figure)[1][0].get_facecolor() == pytest.approx(BLUES(0.24 / 0.3))


def test_a_path_leads_through_the_chosen_facts():
    figure = drawn(chosen=[3, 1])
    (first, low), (second, high) = marks(figure)
    assert low == place(figure, FACTS[2])[1]
    assert high == place(figure, FACTS[0])[1]
    assert first < second < place(figure, FACTS[0])[0]  # each row of weights has a column, left of the sentences
    [path] = patches(figure, "PathPatch")
    assert [tuple(end) for end in path.get_path().vertices[[0, -1]]] == [(first, low), (second, high)]
    edged = [[cell.get_linewidth() > 0 for cell in row] for row in cells(figure)]
    assert edged == [[False, True], [False, False], [True, False], [False, False]]
    assert cells(figure)[0][1].get_edgecolor() == to_rgba(MARK)


def test_chosen_facts_stand_out():
    colours = {text.get_text(): text.get_color() for text in drawn().axes[0].texts}
    assert [colours[fact] for fact in FACTS] == [QUIET, INK, INK, QUIET]


def test_a_fact_may_be_chosen_twice_or_not_at_all():
    figure = drawn(chosen=[2, 2])
    (first, y), (second, other) = marks(figure)
    assert y == other
    assert second - first > 2 * patches(figure, "Circle")[0].get_radius()
    figure = drawn(chosen=[0, 4])
    assert len(marks(figure)) == 1
    assert not patches(figure, "PathPatch")
    assert texts(figure).count("2") == 2  # the fact, and the mark of the second hop


def test_of_a_long_story_those_that_count_are_shown():
    weights = np.concatenate([spread(100, _7=0.05, _41=0.95), spread(100, _90=0.9, _60=0.049)])
    figure = draw_facts(LONG, weights, [41, 90])
    shown = [text for text in texts(figure) if text.startswith(("Fact", "\u2026"))]
    assert sorted(shown) == sorted(
        [LONG[number - 1] for number in (7, 40, 41, 42, 89, 90, 91)]
        + ["\u2026 6 facts", "\u2026 32 facts", "\u2026 46 facts", "\u2026 9 facts"]
    )
    for gap, before, after in (("\u2026 32 facts", 7, 40), ("\u2026 46 facts", 42, 89)):
        assert place(figure, LONG[before - 1])[1] > place(figure, gap)[1] > place(figure, LONG[after - 1])[1]
    assert place(figure, "\u2026 9 facts")[1] < place(figure, LONG[90])[1]
    assert {"7", "91"} <= {*texts(figure)}  # facts keep their numbers
    assert figure.get_size_inches()[1] < 4


def test_what_is_left_out_and_what_is_shown_add_up():
    weights = np.random.default_rng(3).dirichlet(np.full(300, 0.02), 3)
    chosen = (weights.argmax(axis=1) + 1).tolist()
    shown = shown_facts(weights, chosen)
    gaps = gaps_of(shown, 300)
    assert len(shown) + sum(gaps) == 300
    assert 1 not in gaps
    assert {number - 1 for number in chosen} <= {*shown}
    assert {*np.flatnonzero(weights.max(axis=0) >= 0.05)} <= {*shown}


@pytest.mark.parametrize(
    ("weights", "chosen", "shown"),
    [
        (spread(FEW), [1], [*range(FEW)]),  # all of a few facts are shown
        (spread(40), [1], [0, 1]),
        (spread(40), [40], [38, 39]),
        (spread(40), [2], [0, 1, 2]),
        (spread(40, _1=0.5, _3=0.5), [1], [0, 1, 2]),
        (spread(40, _5=0.5), [2], [0, 1, 2, 3, 4]),  # a single fact is never omitted, neither here
        (spread(40, _38=0.5), [38], [36, 37, 38, 39]),  # nor at the end
        (spread(40), [0], [*range(FEW)]),  # without any weight, the first facts are shown
    ],
)
def test_which_facts_are_shown(weights, chosen, shown):
    assert shown_facts(weights, chosen) == shown


def test_of_many_with_weight_the_heaviest_are_shown():
    weights = np.full([1, 200], 0.06)
    weights[0, ::4] = 0.07
    shown = shown_facts(weights, [150])
    assert {149, *range(0, 4 * MOST, 4)} <= {*shown}
    assert len(shown) == MOST + 3


def test_nothing_overlaps_and_all_is_on_the_page():
    facts = ["Mary went back to the kitchen and then on to the garden behind the old house.", "No.", "x" * 400] * 9
    weights = np.full([4, 27], 1 / 27)
    figure = draw_facts(facts, weights, [27, 2, 2, 14], "Where is it? " * 9, "in the garden")
    figure.canvas.draw()
    found = [text.get_window_extent() for text in [*figure.texts, *figure.axes[0].texts] if text.get_text()]
    page = figure.bbox
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in found)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(found, 2))


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_odd_facts_are_shown_not_interpreted(kind):
    facts = ["$x^2$ costs $5", "_{$", "", "\x07", "東京は雨。", "مرحبا"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = draw_facts(facts, np.full([1, 6], 1 / 6), [3], "cost $5?", "$6")
        figure.savefig(io.BytesIO(), format=kind)
    assert {"$x^2$ costs $5", "_{$", "<0007>", "cost $5?", "\u2192 $6"} <= {*texts(figure)}


def test_inputs_are_not_changed():
    weights, chosen = np.array([[1.0, -1e-9]]), np.array([2], np.int32)
    draw_facts(["a", "b"], weights, chosen)
    assert weights.tolist() == [[1.0, -1e-9]]
    assert chosen.tolist() == [2]


def test_nothing_to_show():
    assert texts(draw_facts([], np.zeros([2, 0]), [0, 0], "Where?")) == ["Where?", "nothing to show"]
    figure = draw_facts(["a"], [[0.0]], [0])  # neither weight nor answer
    assert texts(figure) == ["hop 1", "1", "a"]


@pytest.mark.parametrize("weights", [[1.0, 0.0], [[1.0]], [[1.0, -1.0]], [[1.0, np.nan]], [[1.0, np.inf]]])
def test_wrong_weights_are_refused(weights):
    expected = r"weights: expected \[hop, fact\] with 2 facts, finite and nonnegative\. Received: shape \("
    with pytest.raises(ValueError, match=expected):
        draw_facts(["a", "b"], weights, [1])


@pytest.mark.parametrize("chosen", [[], [1, 2], [3], [-1], [1.0], ["1"]])
def test_wrong_numbers_are_refused(chosen):
    with pytest.raises(ValueError, match=r"chosen: expected 1 numbers from 0 to 2, one for each hop\. Received: \["):
        draw_facts(["a", "b"], [[0.5, 0.5]], chosen)
