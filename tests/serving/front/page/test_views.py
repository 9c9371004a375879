"""Views of answers in a real browser: maps, tiles, tables, in light and dark, wide and narrow."""

import math
import re

import numpy as np
import pytest
from page_checks import CHECKS, contrast, luminance, tone
from page_toys import asked
from support.slow import slow


def test_a_tile_under_the_mouse_tells_its_weight(url, open_page, expect):
    page = open_page(url, "#model=pronounce&text=hello")
    weights = asked(url, "pronounce", "hello")["text_attention"]
    reading = page.get_by_role("figure").get_by_role("status")
    for row, column in ((0, 1), (2, 3)):
        page.locator(f'.cells rect[data-row="{row}"][data-column="{column}"]').hover()
        expect(reading).to_have_text(re.compile(f"with weight {weights[row][column]:.3f}$"))
    expect(reading).to_have_text(re.compile("^L attends to l "))
    expect(page.locator(".top .pointed")).to_have_text("l")
    expect(page.locator(".side .pointed")).to_have_text("L")
    expect(page.locator(".cells .band")).to_have_count(2)
    page.get_by_label("Text").hover()
    expect(page.locator(".pointed, .band")).to_have_count(0)
    expect(reading).to_have_text(re.compile("^Point at"))


def test_symbols_stand_over_and_beside_their_tiles(url, open_page):
    page = open_page(url, "#model=pronounce&text=hello")
    middle = "node => { const at = node.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]; }"
    for place in range(4):
        across, down = page.locator(f'.cells rect[data-row="{place}"][data-column="{place}"]').evaluate(middle)
        assert page.locator(f'.top text[data-column="{place}"]').evaluate(middle)[0] == pytest.approx(across, abs=1)
        assert page.locator(f'.side text[data-row="{place}"]').evaluate(middle)[1] == pytest.approx(down, abs=1.5)


def test_a_symbol_under_the_mouse_lights_up_what_it_looked_at(url, open_page, expect):
    page = open_page(url, "#model=pronounce&text=help")
    page.locator(".line.out .symbol").nth(1).hover()
    lit = page.locator(".line.into .shade")
    expect(lit).to_have_text("e")
    expect(page.get_by_role("figure").get_by_role("status")).to_have_text(
        re.compile(r"^EH attends to e \(0\.972\), h ")
    )
    assert tone(lit, "backgroundColor") == tone(page.locator('rect[data-row="1"][data-column="1"]'), "fill")
    page.locator(".line.into .symbol").nth(3).hover()
    expect(page.locator(".line.out .shade.deep")).to_have_text("P")
    expect(lit).to_have_count(0)


def test_the_map_by_keyboard(url, open_page, expect):
    page = open_page(url, "#model=pronounce&text=hello")
    said = asked(url, "pronounce", "hello")
    reading = page.get_by_role("figure").get_by_role("status")
    page.locator(".map").focus()
    for keys, row, column in (("ArrowDown", 0, 0), ("ArrowDown ArrowRight", 1, 1), ("End", 1, 4), ("ArrowRight", 1, 4)):
        for key in keys.split():
            page.keyboard.press(key)
        out, into = said["text_queries"][row], said["text_keys"][column]
        weight = said["text_attention"][row][column]
        expect(reading).to_have_text(f"{out} attends to {into} with weight {weight:.3f}")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(reading).to_have_text(re.compile(r"^AH attends to o \(0\.747\), e "))
    page.keyboard.press("Escape")
    expect(page.locator(".band")).to_have_count(0)
    assert page.evaluate("getComputedStyle(document.querySelector('.map')).outlineStyle") == "solid"


def test_other_answers_with_bars_and_odd_symbols(url, open_page, expect):
    page = open_page(url, "#model=odd&text=x")
    rows = page.get_by_role("table", name="The 3 best answers").get_by_role("row")
    expect(rows).to_have_text(["AnswerProbability", "the house40.7 %", "the home24.7 %", "this house1 in 9,900"])
    bars = page.locator(".bar").evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    assert bars[1] / bars[0] == pytest.approx(math.exp(-0.5), abs=0.01)
    assert page.locator(".top text").all_text_contents() == ["das", "␣", "␣", "東京", "مرحبا", "↵"]
    assert page.locator(".side text").all_text_contents() == ["the", "house"]
    assert page.locator(".line.out").text_content() == " the house"
    expect(page.locator(".line.out")).to_have_class("line out tight")


def test_outputs_that_fit_no_view_are_tables(url, open_page, expect):
    page = open_page(url, "#model=tagger&text=x")
    expect(page.get_by_role("row")).to_have_text(["tokenstags", "AnnaNAME", "-InfinityWORD", "languageen"])
    page.get_by_label("Model").select_option("toy")
    page.get_by_label("Text").fill("abc")
    page.get_by_label("Text").press("Enter")
    expect(page.get_by_role("row")).to_have_text(['raw_bytes{"b64":"YWJj"}', "score0.3", "upperABC", "version1"])


def test_a_large_map_scrolls_in_its_own_box(url, open_page, expect):
    page = open_page(url, "#model=long&text=x", viewport={"width": 800, "height": 700})
    expect(page.locator(".cells rect[data-row]")).to_have_count(6400)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    box = page.locator(".map")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth && box.scrollHeight > box.clientHeight")
    assert box.evaluate("box => box.clientHeight <= 0.7 * innerHeight + 1")
    assert page.locator(".cells rect").first.evaluate("rect => rect.getBoundingClientRect().width") >= 20
    frame = page.locator(".frame")
    expect(frame).to_have_class("frame right down")  # indicates that the map continues
    assert frame.evaluate("frame => getComputedStyle(frame, '::after').content") == '"more \u2192"'
    box.evaluate("box => box.scrollTo(box.scrollWidth, box.scrollHeight)")
    expect(frame).to_have_class("frame")
    box.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    expect(page.get_by_role("figure").get_by_role("status")).to_have_text("o0 attends to i99 with weight 0.000")
    labels = page.evaluate(
        """() => {
          const box = document.querySelector(".map").getBoundingClientRect();
          const seen = (node) => {
            const { left, right, top, bottom } = node.getBoundingClientRect();
            return left >= box.left && right <= box.right && top >= box.top && bottom <= box.bottom;
          };
          const tile = "rect[data-row='0'][data-column='99']";
          return [...document.querySelectorAll(`.map text.pointed, .map ${tile}`)].map(seen);
        }"""
    )
    assert labels == [True, True, True]


@pytest.mark.parametrize("width", [360, slow(420), slow(800)])
def test_no_symbol_is_broken_in_two(url, open_page, expect, width):
    page = open_page(url, "#model=turning&text=x", viewport={"width": width, "height": 900})
    expect(page.locator(".line.out .symbol")).to_have_count(12)
    broken = """() => {
      const rects = (node) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
      };
      const words = [...document.querySelectorAll(".symbol")].filter((node) => rects(node) > 1);
      const cells = [...document.querySelectorAll(".best td:first-child")].map((node) => node.firstChild);
      const cut = cells.flatMap((text) => [...text.data.matchAll(/\\S+/g)].map((word) => {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
      })).filter((lines) => lines > 1);
      return [words.length, cut.length];
    }"""
    assert page.evaluate(broken) == [0, 0]


def test_the_best_answers_say_what_ranks_them(url, open_page, expect):
    page = open_page(url, "#model=turning&text=x")
    expect(page.locator(".best caption")).to_have_text("The 2 best answers ranked by log-probability")
    page = open_page(url, "#model=odd&text=x")
    expect(page.locator(".best caption")).to_have_text("The 3 best answers")  # the meaning of its scores is unknown


def test_a_look_over_a_picture(url, open_page, expect):
    page = open_page(url, "#model=caption")  # its example is submitted automatically
    expect(page.locator(".tile .token")).to_have_text(["a", "dog"])
    expect(page.locator(".over.picture img")).to_have_count(2)
    heat = page.locator(".tile").nth(1).locator("rect")
    assert heat.evaluate_all("cells => cells.map(cell => Number(getComputedStyle(cell).fillOpacity))") == [
        pytest.approx(share) for share in (0.6, 0.6, 0.6, 0.6, 0.6, 0)
    ]
    outlined = heat.evaluate_all("cells => cells.map(cell => getComputedStyle(cell).stroke)")
    assert outlined == [*["none"] * 5, "rgb(255, 255, 255)"]  # also visible on black
    heat.last.hover()
    reading = page.get_by_role("figure").get_by_role("status")
    expect(reading).to_have_text("dog attends to row 2 of 2, column 3 of 3, with weight 0.900")
    page.get_by_text("In words").click()
    rows = page.get_by_role("table", name="The position with the largest weight for each token").get_by_role("row")
    expect(rows.nth(1)).to_have_text("arow 2 of 2, column 2 of 3, with weight 0.400")
    # Shown only once, without the attention.
    expect(page.get_by_role("region", name="Outputs")).to_have_text("Outputslength70")


def test_the_keys_move_from_look_to_look(url, open_page, expect):
    page = open_page(url, "#model=caption")  # its example is asked by itself
    looks = page.get_by_role("application", name="Attention maps, one for each of 2. Arrow keys move over them.")
    reading = page.get_by_role("figure").get_by_role("status")
    page.mouse.move(0, 0)
    looks.focus()
    expect(reading).to_have_text(re.compile("^Point at a position to read its weight, or move"))
    said = ["a attends most to row 2 of 2, column 2 of 3, with weight 0.400"]
    said += ["dog attends most to row 2 of 2, column 3 of 3, with weight 0.900"]
    for key, index in (
        ("ArrowRight", 0),
        ("ArrowRight", 1),
        ("ArrowRight", 1),
        ("Home", 0),
        ("End", 1),
        ("ArrowLeft", 0),
    ):
        page.keyboard.press(key)
        expect(reading).to_have_text(said[index])
        expect(page.locator(".tile.pointed .token")).to_have_text(["a", "dog"][index])
    page.keyboard.press("Escape")
    expect(page.locator(".tile.pointed")).to_have_count(0)
    expect(reading).to_have_text(re.compile("^Point at"))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")  # removes the selection
    expect(page.locator(".tile.pointed")).to_have_count(0)


def test_a_look_over_a_grid_without_a_picture(url, open_page, expect):
    page = open_page(url, "#model=grid&text=x")
    expect(page.locator(".heat rect.shade")).to_have_count(2)
    expect(page.locator(".picture, .over img")).to_have_count(0)


def test_several_looks_and_parts(url, open_page, expect):
    page = open_page(url, "#model=pair&premise=p&hypothesis=h")
    expect(page.locator("figcaption")).to_have_text(["Attention over premise"])
    expect(page.locator("#details > p")).to_have_text("This model has no attention over hypothesis.")
    assert page.locator(".lines > .quiet").all_text_contents() == ["input", "query"]
    expect(page.locator(".map")).to_have_attribute("aria-label", re.compile("^Alignment map of premise, 3 by 3"))
    parts = page.get_by_role("region", name="Output").get_by_role("row")
    expect(parts).to_have_text(
        ["chancesclasses", "0.75entailment", "0.25neutral", "marginals01", "00.50.5", "10.1250.875"]
    )


def test_no_answer_is_said_so(url, open_page, expect):
    page = open_page(url, "#model=mute&text=x")
    expect(page.locator("#answer .said")).to_have_text(re.compile("^The model gave no answer: the model cannot read"))
    expect(page.locator("#details")).to_have_text("The answer is empty, so there is no attention.")
    expect(page.locator(".facts")).not_to_contain_text("probability")


LONG_WORD = "#model=pronounce&text=floccinaucinihilipilification"


@pytest.mark.parametrize(
    "link", ["#model=caption", LONG_WORD, "#model=odd&text=x", slow("#model=tagger&text=x"), "#model=pair&premise=p"]
)
def test_everything_has_a_name_and_fits_a_narrow_screen(url, open_page, link):
    page = open_page(url, link, viewport={"width": 360, "height": 740})
    if link == "#model=caption":
        page.locator(".tile").first.wait_for()
    assert page.evaluate(CHECKS) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(url, open_page, scheme):
    page = open_page(url, "#model=odd&text=x", color_scheme=scheme)
    paper = tone(page.locator("body"), "backgroundColor")
    assert (luminance(paper) > 0.5) == (scheme == "light")
    card = tone(page.locator("#form"), "backgroundColor")
    assert contrast(tone(page.locator("h1"), "color"), paper) >= 7
    assert contrast(tone(page.locator("header .quiet"), "color"), paper) >= 4.5
    for selector in (
        "label >> nth=0",
        "#keys",
        ".said",
        ".facts",
        "#alert",
        ".best td >> nth=0",
        ".legend",
        ".reading",
    ):
        assert contrast(tone(page.locator(selector), "color"), card) >= 4.5, selector
    for selector in (".top text >> nth=0", ".side text >> nth=0"):
        assert contrast(tone(page.locator(selector), "fill"), card) >= 4.5, selector
    assert contrast(*(tone(page.locator("#ask"), name) for name in ("color", "backgroundColor"))) >= 4.5
    assert contrast(tone(page.locator("textarea"), "borderTopColor"), card) >= 3
    number = page.locator(".cells text")
    for index, (row, column) in enumerate([(0, c) for c in range(1, 5)] + [(1, c) for c in range(6)]):
        tile = page.locator(f'rect[data-row="{row}"][data-column="{column}"]')
        assert contrast(tone(number.nth(index), "fill"), tone(tile, "fill")) >= 4.5, (row, column)


@pytest.mark.parametrize("scheme", ["light", slow("dark")])
def test_equal_steps_of_weight_are_equal_steps_of_lightness(url, open_page, scheme):
    page = open_page(url, "#model=odd&text=x", color_scheme=scheme)
    tiles = [(0, column) for column in range(5)] + [(1, column) for column in range(6)]  # weights 0, 0.1 ... 1
    tones = [page.locator(f'rect[data-row="{row}"][data-column="{column}"]') for row, column in tiles]
    fills = [each.evaluate("tile => getComputedStyle(tile).fill") for each in tones]
    lightness = [float(re.match(r"oklab\(([\d.]+) ", fill)[1]) for fill in fills]
    steps = np.diff(lightness)
    assert abs(steps).min() > 0.03
    np.testing.assert_allclose(steps, steps.mean(), atol=0.003)


MANY = """async () => {
  const { answer } = await import("/page/answer.js");
  const others = Array.from({ length: 24 }, (_, number) => `answer ${number}`);
  const scores = others.map((_, number) => -30 - number);
  const outputs = { text: ["best"], score: [-0.1], alternatives: [others], alternative_scores: [scores] };
  const { details } = answer(outputs, { text: "x" }, 1, { rankedBy: "", pages: {} });
  document.querySelector("#details").replaceChildren(...details);
}"""


def test_five_other_answers_are_shown_and_more_on_demand(url, open_page, expect):
    """24 rows of "less than 1 in a billion" must not separate an answer from its attention."""
    page = open_page(url, "#model=toy")
    page.evaluate(MANY)
    rows = page.locator("#details tbody tr")
    expect(rows.filter(visible=True)).to_have_count(6)
    page.get_by_role("button", name="Show 19 more").click()
    expect(rows.filter(visible=True)).to_have_count(25)
    expect(page.get_by_role("button", name="Show")).to_have_count(0)
    expect(rows.nth(6)).to_be_focused()
