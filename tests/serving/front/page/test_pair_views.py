"""Inputs and views of stories and pairs of texts on the page, in a real browser with generated answers."""

import math
import re

import numpy as np
import pytest
from page_checks import CHECKS, contrast, tone
from page_toys import offered
from support.slow import slow

STORY = ["Wolves fear mice.", "Emily is a cat.", "Cats fear wolves.", "Jessica is a mouse."]
WEIGHTS = [[0.0, 0.96, 0.03, 0.01], [0.12, 0.002, 0.8, 0.078]]
PREMISE, HYPOTHESIS = ["a", "dog", "runs"], ["it", "runs"]
INPUTS = {
    "pair": {"premise": "text", "hypothesis": "text"},
    "story": {"story": "lines", "question": "text"},
    "toy": {"text": "text"},
}
ASKED = {"premise": "a dog runs", "hypothesis": "it runs", "story": "\n".join(STORY), "question": "Who?", "text": "x"}


def look(name, rows, places, weights):
    return {f"{name}_attention": np.asarray(weights).tolist(), f"{name}_queries": rows, f"{name}_keys": places}


def saying(label, *looks, **parts):
    said = {"text": label, "score": -0.1, "tokens": [label], "alternatives": ["no"], "alternative_scores": [-2.0]}
    return {**said, **{name: value for each in looks for name, value in each.items()}, **parts}


def told(chosen=(2, 3), story=STORY, weights=WEIGHTS, **more):
    """An answer to a question about a story; the parts have their shapes beside them."""
    rows = [f"hop {number + 1}" for number in range(len(weights))]
    parts = {"facts": [*chosen], "facts_shape": [len(chosen)], **more}
    return saying("wolf", look("story_lines", rows, story, weights), **parts)


def long_story():
    """Return a hundred facts, three of which have weights."""
    weights = np.zeros([2, 100])
    weights[0, [6, 40]], weights[1, [89, 59]] = [0.05, 0.95], [0.9, 0.049]
    return told([41, 90], [f"Fact of day {number}." for number in range(1, 101)], weights)


def heads(words, numbers, share):
    weights = np.zeros([len(words)] * 2)
    for word, head in enumerate(numbers):
        weights[word, [head - 1] * bool(head)] = share
    return weights


def entailed(premise=(2, 3, 0), hypothesis=(2, 0), **more):
    looks = [
        look("hypothesis", PREMISE, HYPOTHESIS, np.full([3, 2], 0.5)),
        look("hypothesis_heads", HYPOTHESIS, HYPOTHESIS, heads(HYPOTHESIS, [2, 0], 0.75)),
        look("premise", HYPOTHESIS, PREMISE, np.full([2, 3], 1 / 3)),
        look("premise_heads", PREMISE, PREMISE, heads(PREMISE, [2, 3, 0], 0.6)),
    ]
    parts = {"premise_heads": [*premise], "hypothesis_heads": [*hypothesis], "premise_heads_shape": [3], **more}
    return saying("yes", *looks, **{name: value for name, value in parts.items() if value != [None]})


@pytest.fixture
def show(stage, open_page):
    """A function that opens the page with one answer of a model."""

    def show(outputs, name="story", examples=(), **options):
        stage.play(outputs, offered(name, INPUTS[name], outputs, examples))
        return open_page(stage.url, f"#model={name}&{next(iter(INPUTS[name]))}=x", **options)

    return show


def box(page, name):
    return page.get_by_role("textbox", name=name, exact=True)


def status(page):
    return page.get_by_role("figure").get_by_role("status")


def shown(page):
    return page.locator(".story > *:not(.heading, .trace)").evaluate_all(
        "all => all.map((node) => (node.querySelector('.sentence') ?? node).textContent)"
    )


def centre(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def traced(page):
    """Return the start and the end of the path."""
    numbers = [float(part) for part in re.findall(r"[\d.]+", page.locator(".trace path").get_attribute("d"))]
    x, y = (page.locator(".story").bounding_box()[axis] for axis in "xy")
    return [numbers[0] + x, numbers[1] + y, numbers[-2] + x, numbers[-1] + y]


# stories


def test_facts_with_their_weights(show, expect):
    page = show(told())
    expect(page.locator("figcaption")).to_have_text("Attention over the facts")
    assert shown(page) == STORY
    expect(page.locator(".heading .cell")).to_have_text(["hop 1", "hop 2"])
    expect(page.locator(".number")).to_have_text(["1", "2", "3", "4"])
    written = ["", "0.12", "0.96", "", "0.03", "0.80", "0.01", "0.08"]
    expect(page.locator(".fact:not(.heading) .cell")).to_have_text(written)
    halves = "({ style }) => ['--first', '--second'].map((name) => Number(style.getPropertyValue(name)))"
    tones = np.mean(page.locator(".cell.shade").evaluate_all(f"cells => cells.map({halves})"), axis=1)
    np.testing.assert_allclose(tones, np.transpose(WEIGHTS).ravel(), atol=1e-6)
    for place in range(4):
        row = page.locator(".fact:not(.heading)").nth(place)
        sentence, cell = (row.locator(part).first.bounding_box() for part in (".sentence", ".cell"))
        assert sentence["x"] + sentence["width"] <= cell["x"]
        assert abs(centre(row.locator(".sentence"))[1] - centre(row.locator(".cell").first)[1]) < 4
    expect(page.locator(".map, .lines, .weighed")).to_have_count(0)  # nothing is drawn twice
    expect(page.get_by_role("region", name="Outputs")).to_have_count(0)
    expect(page.locator(".said")).to_have_class("said")


def test_on_a_narrow_page_weights_stand_below_their_facts(show, expect):
    page = show(told([2, 3, 1], weights=[*WEIGHTS, WEIGHTS[0]]), viewport={"width": 360, "height": 740})
    row = page.locator(".fact").nth(1)
    sentence, cell = (row.locator(part).first.bounding_box() for part in (".sentence", ".cell"))
    assert cell["x"] == pytest.approx(sentence["x"], abs=1)
    assert cell["y"] >= sentence["y"] + sentence["height"]
    name = page.locator(".heading .cell").nth(2)
    assert centre(name)[0] == pytest.approx(centre(row.locator(".cell").nth(2))[0], abs=1)
    expect(page.locator(".frame")).not_to_have_class(re.compile("right"))


def test_a_path_leads_through_the_chosen_facts(show, expect):
    page = show(told([4, 1]))
    marks = page.locator(".mark")
    expect(marks).to_have_text(["2", "1"])  # from the top
    expect(page.locator(".fact.chosen .sentence")).to_have_text([STORY[0], STORY[3]])
    expect(page.locator(".cell.chosen")).to_have_text(["0.12", "0.01"])
    second, first = centre(marks.nth(0)), centre(marks.nth(1))
    assert first[0] < second[0]  # each hop has its own column
    assert first[1] > second[1]
    assert traced(page) == pytest.approx([*first, *second], abs=1)
    before = page.locator(".trace path").get_attribute("d")
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_function("d => document.querySelector('.trace path').getAttribute('d') !== d", arg=before)
    assert traced(page) == pytest.approx([*centre(marks.nth(1)), *centre(marks.nth(0))], abs=1)


def test_one_fact_may_be_chosen_by_several_looks(show, expect):
    page = show(told([2, 2]))
    expect(page.locator(".fact.chosen")).to_have_count(1)
    expect(page.locator(".mark")).to_have_text(["1", "2"])
    boxes = [page.locator(".mark").nth(place).bounding_box() for place in (0, 1)]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    page = show(told([0, 3]))
    expect(page.locator(".mark")).to_have_text(["2"])
    expect(status(page)).to_have_text(re.compile(r"^Chosen: fact 3\. Point at a fact"))


def test_a_fact_tells_its_weights(show, expect):
    page = show(told())
    expect(status(page)).to_have_text(re.compile(r"^Chosen: fact 2, then fact 3\. Point at a fact, or move"))
    page.locator(".sentence").nth(2).hover()
    expect(status(page)).to_have_text("3. Cats fear wolves. (hop 1: 0.030; hop 2: 0.800, chosen)")
    expect(page.locator(".fact.pointed .sentence")).to_have_text("Cats fear wolves.")
    box(page, "question").hover()
    expect(page.locator(".pointed")).to_have_count(0)


@pytest.mark.parametrize("wide", [1000, 360])
def test_facts_by_keyboard(show, expect, wide):
    page = show(told(), viewport={"width": wide, "height": 740})
    facts = page.get_by_role("application", name="4 facts with their weights. Arrow keys move over them.")
    facts.focus()
    keys = ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "End", "ArrowDown", "Home", "ArrowUp", "ArrowRight"]
    for key, number in zip(keys, [1, 2, 3, 2, 4, 4, 1, 1, 2], strict=True):
        page.keyboard.press(key)
        expect(status(page)).to_have_text(re.compile(rf"^{number}\. "))
    page.keyboard.press("Escape")
    expect(page.locator(".pointed")).to_have_count(0)
    assert facts.evaluate("box => getComputedStyle(box).outlineStyle") == "solid"


def test_of_a_long_story_those_that_count_are_shown(show, expect):
    page = show(long_story())
    days = {number: f"Fact of day {number}." for number in range(1, 101)}
    gaps = [f"\u2026 {count} facts" for count in (6, 32, 46, 9)]
    near = [[days[number] for number in numbers] for numbers in ((7,), (40, 41, 42), (89, 90, 91))]
    assert shown(page) == [gaps[0], *near[0], gaps[1], *near[1], gaps[2], *near[2], gaps[3]]
    expect(page.locator(".number")).to_have_text(["7", "40", "41", "42", "89", "90", "91"])
    rows = page.get_by_role("table", name="Weight of each fact in each hop").get_by_role("row")
    expect(rows).to_have_count(8)
    page.get_by_text("All 100 facts", exact=True).first.click()
    rows = page.get_by_role("region", name="All facts").get_by_role("row")
    expect(rows).to_have_count(101)
    expect(rows.nth(60)).to_have_text("60Fact of day 60.0.0000.049")
    assert page.evaluate(CHECKS) == []


@pytest.mark.parametrize(
    ("chosen", "count", "expected"), [([2], 40, 3), slow([40], 40, 2), ([38], 40, 4), ([9], 20, 20)]
)
def test_no_single_fact_is_left_out(show, chosen, count, expected):
    page = show(told(chosen, [f"Fact {number}." for number in range(count)], np.zeros([1, count])))
    assert sum(not text.startswith("\u2026") for text in shown(page)) == expected


def test_a_story_without_an_answer_shows_no_facts(show, expect):
    page = show({**told([0, 0], weights=np.zeros([2, 4])), "text": "", "score": -math.inf, "tokens": [""]})
    expect(page.locator(".said")).to_have_text(re.compile("^The model gave no answer"))
    expect(page.locator("figure, .map, .scroll")).to_have_count(0)


@pytest.mark.parametrize("facts", [[2], [2, 5], slow([2, -1]), slow([2.5, 1])])
def test_what_are_no_facts_is_a_map(show, expect, facts):
    page = show(told(facts=facts))
    expect(page.locator(".map")).to_have_count(1)
    expect(page.locator(".story")).to_have_count(0)


def test_a_story_is_asked_in_lines_and_named_by_its_first(show, expect):
    examples = [
        {"story": "\n".join(STORY), "question": "What does Emily fear?"},
        {"story": "One.", "question": ""},
        {"story": "A very long line that goes on", "question": "?"},
    ]
    page = show(told(), examples=examples)
    buttons = page.get_by_role("group", name="Examples").get_by_role("button")
    expect(buttons).to_have_text(
        ["Wolves fear mice. \u2026 \u00b7 What does Emily fear?", "One.", "A very long line tha \u2026 \u00b7 ?"]
    )
    buttons.first.click()
    story = box(page, "story")
    expect(story).to_have_value("\n".join(STORY))
    expect(box(page, "question")).to_have_value("What does Emily fear?")
    assert story.bounding_box()["height"] > 2 * box(page, "question").bounding_box()["height"]
    story.press("Control+End")
    story.press("Enter")
    expect(story).to_have_value("\n".join([*STORY, ""]))


# pairs


def test_trees_that_came_with_an_answer(show, expect):
    page = show(entailed(), "pair")
    expect(page.locator("figcaption")).to_have_text(
        [
            "What each word of premise depends on",
            "What each word of hypothesis depends on",
            "Attention over premise",
            "Attention over hypothesis",
        ]
    )
    trees = page.locator(".tree")
    expect(trees.nth(0).locator(".leaf")).to_have_text(PREMISE)
    expect(trees.nth(1).locator(".leaf")).to_have_text(HYPOTHESIS)
    expect(trees.nth(0).locator(".arc text")).to_have_text(["", "", "root"])
    expect(page.locator(".map")).to_have_count(2)
    expect(page.get_by_role("region", name="Outputs")).to_have_count(0)
    expect(page.locator(".said")).to_have_class("said")
    expect(page.locator(".said")).to_have_text("yes")
    expect(page.get_by_role("table", name="The 2 best answers")).to_be_visible()


def test_a_word_tells_its_probable_heads(show, expect):
    page = show(entailed(), "pair")
    tree = page.get_by_role("application", name="Tree over 3 words of premise. Arrow keys move over them.")
    tree.focus()
    page.keyboard.press("Home")
    said = status(page).first
    expect(said.locator("p")).to_have_text("a depends on")
    expect(said.locator("li")).to_have_text(["dog 0.600", "the root 0.400"])
    rows = page.get_by_role("table", name="The head of each word of hypothesis").get_by_role("row")
    expect(rows).to_have_text(["wordheadrelationprobability", "itruns0.750", "runsthe rootroot1.000"])
    wide = [
        page.locator(".ranked").nth(place).evaluate("node => node.style.getPropertyValue('--most')") for place in (0, 1)
    ]
    assert wide == ["3", "2"]


def test_a_tree_of_the_only_text(show, expect):
    tokens = {"text": "H AY", "tokens": ["H", "AY"], "text_heads": [2, 0, 0, 0]}  # two of the heads are padding
    looks = [
        look("text", ["H", "AY"], ["h", "i"], np.eye(2)),
        look("text_heads", ["h", "i"], ["h", "i"], [[0, 1], [0, 0]]),
    ]
    page = show({**saying("", *looks), **tokens}, "toy")
    expect(page.locator("figcaption").first).to_have_text("What each word depends on")
    expect(page.locator(".leaf")).to_have_text(["h", "i"])
    expect(page.locator(".map")).to_have_count(1)
    expect(page.locator(".said")).to_have_class("said")


def test_a_tree_within_no_input_is_called_by_its_own_name(show, expect):
    page = show(saying("yes", look("parse", PREMISE, PREMISE, heads(PREMISE, [2, 3, 0], 1)), parse=[2, 3, 0]), "pair")
    expect(page.locator("figcaption")).to_have_text("What each word of parse depends on")


@pytest.mark.parametrize(
    ("premise", "maps"),
    [
        ([None], 3),  # softmax: not a tree
        ([2, 3, 4], 3),  # there is no fourth word
        slow([1, 3, 0], 3),  # a word cannot be its own head
        slow([2, 3, 1], 3),  # there is no root
        ([0, 0, 0], 2),  # nothing was read, so nothing is shown
    ],
)
def test_what_is_no_tree_is_no_tree(show, expect, premise, maps):
    page = show(entailed(premise), "pair")
    expect(page.locator(".tree")).to_have_count(1)
    expect(page.locator(".map")).to_have_count(maps)


def test_two_texts_are_asked_under_their_names(show, expect):
    page = show(entailed(), "pair", examples=[{"premise": "a dog runs", "hypothesis": "it runs"}])
    page.get_by_role("group", name="Examples").get_by_role("button", name="a dog runs \u00b7 it runs").click()
    expect(box(page, "premise")).to_have_value("a dog runs")
    expect(box(page, "hypothesis")).to_have_value("it runs")


@pytest.mark.parametrize(
    ("outputs", "name", "table", "scheme"),
    [
        (told(), "story", "Weight of each fact in each hop", "light"),
        slow(told(), "story", "Weight of each fact in each hop", "dark"),
        slow(long_story(), "story", "Weight of each fact in each hop", "dark"),
        (entailed(), "pair", "The head of each word of premise", "light"),
        (entailed(), "pair", "The head of each word of hypothesis", "dark"),
    ],
)
def test_everything_has_a_name_and_can_be_read(show, expect, outputs, name, table, scheme):
    page = show(outputs, name, viewport={"width": 360, "height": 740}, color_scheme=scheme)
    assert page.evaluate(CHECKS) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.get_by_role("table", name=table, exact=True)).to_have_count(1)
    card = tone(page.locator("#form"), "backgroundColor")
    read = page.locator(".sentence, .number, .gap, .heading .cell, .reading, .ranked .quiet")
    for place in range(read.count()):
        assert contrast(tone(read.nth(place), "color"), card) >= 4.5, place
    filled = page.locator(".mark, .cell.shade")
    for place in range(filled.count()):
        node = filled.nth(place)
        assert contrast(tone(node, "color"), tone(node, "backgroundColor")) >= 4.5, place
