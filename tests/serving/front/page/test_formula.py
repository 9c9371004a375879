r"""Answers in LaTeX as formulas beside their pictures, in a real browser with generated answers."""

import base64
import io

import numpy as np
import pytest
from page_checks import CHECKS, contrast, tone
from page_toys import offered
from PIL import Image

from seqattn_tf.training.data.corpora import formulas

LATEX = r"\frac { x _ { 1 } + 2 } { \sqrt { \alpha } } \leq \sum _ { i = 0 } ^ { n } y ^ { i }"
STRUCTURE = """async (texts) => {
  const { formula } = await import("/page/formula.js");
  return texts.map((text) => formula(text.split(" ").filter(Boolean))?.innerHTML ?? null);
}"""
MINUS = "\u2212"
THIN = '<mspace width="0.17em"></mspace>'


def mo(sign):
    return f'<mo stretchy="false">{sign}</mo>'


STRUCTURES = {
    r"\alpha": "<mi>\u03b1</mi>",
    r"\frac { x } { 1 2 }": "<mfrac><mrow><mi>x</mi></mrow><mrow><mn>12</mn></mrow></mfrac>",
    r"\sqrt { a - \pi }": f"<msqrt><mrow><mi>a</mi>{mo(MINUS)}<mi>π</mi></mrow></msqrt>",
    "x _ { 1 }": "<msub><mi>x</mi><mrow><mn>1</mn></mrow></msub>",
    "x ^ { 1 2 } 3": "<msup><mi>x</mi><mrow><mn>12</mn></mrow></msup><mn>3</mn>",
    "x _ { 1 } ^ { 2 }": "<msubsup><mi>x</mi><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></msubsup>",
    "x ^ { 2 } _ { 1 }": "<msubsup><mi>x</mi><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></msubsup>",
    r"\sum _ { i } ^ { n }": "<munderover><mo>∑</mo><mrow><mi>i</mi></mrow><mrow><mi>n</mi></mrow></munderover>",
    r"\prod ^ { n } _ { i }": "<munderover><mo>∏</mo><mrow><mi>i</mi></mrow><mrow><mi>n</mi></mrow></munderover>",
    r"\sum _ { i }": "<munder><mo>∑</mo><mrow><mi>i</mi></mrow></munder>",
    r"\prod ^ { \infty }": "<mover><mo>∏</mo><mrow><mi>∞</mi></mrow></mover>",
    r"\int _ { 0 } ^ { 1 }": "<msubsup><mo>∫</mo><mrow><mn>0</mn></mrow><mrow><mn>1</mn></mrow></msubsup>",
    r"2 \sin x": f'<mn>2</mn>{THIN}<mi mathvariant="normal">sin</mi>{THIN}<mi>x</mi>',
    r"\log ( x )": f'<mi mathvariant="normal">log</mi>{mo("(")}<mi>x</mi>{mo(")")}',
    r"\cos ^ { 2 } x": f'<msup><mi mathvariant="normal">cos</mi><mrow><mn>2</mn></mrow></msup>{THIN}<mi>x</mi>',
    "( a ) ^ { 2 }": f"{mo('(')}<mi>a</mi><msup>{mo(')')}<mrow><mn>2</mn></mrow></msup>",
    "{ x y } ^ { 3 }": "<msup><mrow><mi>x</mi><mi>y</mi></mrow><mrow><mn>3</mn></mrow></msup>",
    r"\sqrt { x ^ { 2 } }": "<msqrt><mrow><msup><mi>x</mi><mrow><mn>2</mn></mrow></msup></mrow></msqrt>",
    r"É \in [ < !": f"<mi>É</mi>{mo('∈')}{mo('[')}{mo('&lt;')}{mo('!')}",
}
NONE = [
    "",
    *(r"\alpha \nonsense", r"\constructor", r"\alpha constructor", "\\", r"\frac", r"\sqrt", r"\alpha is a letter"),
    *(
        r"\alpha }",
        r"\alpha {",
        r"{ \alpha",
        r"} \alpha {",
        r"\sqrt { x",
        r"\frac { x } { y",
        r"x ^ { 2",
        r"\alpha { } }",
    ),
    *("^ { 2 }", r"\alpha + { _ { 2 } }", r"\sqrt { ^ { 2 } }", "x _ { 1 } _ { 2 }", "x ^ { 1 } _ { 2 } ^ { 3 }"),
    *(r"\frac { x }", r"\frac x y", r"\frac { x } 2", r"\frac { x } + { 2 }", r"\sqrt 2", r"\alpha ^ 2", r"\alpha ^"),
    *("x", "a b c", "{ a }", "{ }", "2 ^ 3", "a _ b", "a ^", "_", "^ _ ^", "x = 2"),
    *(r"\alpha & x", r"\alpha ▁ x", r"\alpha $", "a dog _ { x }", "▁a ^ { 2 }"),
]


def picture(number=3):
    return formulas.draw(number).read()


def read(latex=LATEX, **more):
    tokens = latex.split()
    look = {"image_queries": tokens, "image_attention": np.full([len(tokens), 2, 8], 1 / 16).tolist()}
    best = {"alternatives": [r"\alpha"], "alternative_scores": [-3.0]}
    return {"text": latex, "score": -0.1, "tokens": tokens, **best, **look, **more}


@pytest.fixture
def show(stage, open_page):
    """A function that opens the page with a model whose example has the given answer."""

    def show(outputs, sent=None, kind="image", padded=None, **options):
        sent = {"b64": base64.b64encode(picture()).decode()} if sent is None else sent
        stage.play(outputs, offered("image_to_latex", {"image": kind}, outputs, [{"image": sent}], canvas=padded))
        page = open_page(stage.url, "#model=image_to_latex", **options)
        page.locator(".facts").wait_for()
        return page

    return show


# formulas


def test_latex_becomes_mathml(stage, open_page):
    page = open_page(stage.url)
    found = page.evaluate(STRUCTURE, [*STRUCTURES])
    assert dict(zip(STRUCTURES, found, strict=True)) == STRUCTURES


def test_what_is_no_formula_is_none(stage, open_page):
    page = open_page(stage.url)
    found = page.evaluate(STRUCTURE, NONE)
    assert dict(zip(NONE, found, strict=True)) == dict.fromkeys(NONE)


def test_every_formula_of_the_recipe_is_set(stage, open_page):
    page = open_page(stage.url)
    drawn = [formulas.draw(number).latex for number in range(300)]
    assert {*" ".join(drawn).split()} == {*formulas.SYMBOLS}
    marked = [latex for latex in drawn if {*latex} & {*"\\^_"}]
    found = page.evaluate(STRUCTURE, marked)
    assert None not in found
    assert not any("\\" in markup for markup in found)


# answers


def test_a_formula_stands_beside_its_picture(show, expect):
    page = show(read(), viewport={"width": 1000, "height": 900})
    expect(page.locator(".said")).to_have_text(LATEX)
    expect(page.locator(".beside figcaption")).to_have_text(["input", "answer"])
    image, math = page.locator(".beside img"), page.locator(".beside math")
    expect(image).to_have_js_property("naturalWidth", formulas.WIDE)
    expect(math).to_have_attribute("display", "block")
    expect(page.get_by_role("math", name=LATEX, exact=True)).to_be_visible()
    left, right = image.bounding_box(), math.bounding_box()
    assert left["x"] + left["width"] < right["x"]
    assert left["y"] == pytest.approx(right["y"], abs=20)
    assert math.evaluate("node => getComputedStyle(node).fontSize") == "25.6px"
    text = page.locator(".said").bounding_box()
    assert text["y"] + text["height"] < left["y"] < page.locator(".best").bounding_box()["y"]
    expect(page.locator(".tile")).to_have_count(len(LATEX.split()))  # the attention maps remain as they are
    expect(page.locator("#answer math")).to_have_count(0)  # a screen reader reads only the text, once


def test_places_that_no_symbol_fills_are_left_out(show, expect):
    tokens = [*[r"\sqrt", r"{", r"x", r"}"], "", ""]
    page = show(read(r"\sqrt { x }", tokens=tokens))
    expect(page.get_by_role("math", name=r"\sqrt { x }", exact=True)).to_be_visible()


@pytest.mark.parametrize(
    ("sent", "kind"), [("a text", "text"), ({"b64": base64.b64encode(picture()[:20]).decode()}, "image")]
)
def test_without_a_picture_the_formula_stands_alone(show, expect, sent, kind):
    page = show(read(), sent, kind)
    expect(page.locator(".beside math")).to_be_visible()
    expect(page.locator(".beside figcaption")).to_have_text(["answer"])
    expect(page.locator(".beside img")).to_have_count(0)


@pytest.mark.parametrize(
    "outputs",
    [
        read("a dog on a beach"),
        read("2 ^ 3"),
        read(r"the letter \alpha"),
        read(r"\frac { x"),
        {"text": LATEX, "score": -0.1, "tokens": LATEX},
        read("", score=-np.inf, tokens=["", ""]),
        {"text": LATEX, "score": -0.1},
        {"tokens": LATEX.split(), "tags": ["N"] * len(LATEX.split())},
    ],
)
def test_other_answers_are_as_they_were(show, expect, outputs):
    page = show(outputs)
    expect(page.locator("math, .beside")).to_have_count(0)
    expect(page.locator(".said.small")).to_have_count(0)


@pytest.mark.parametrize(
    ("size", "padded", "seen"),
    [
        ((416, 96), None, "0 0 8 2"),
        ((104, 24), None, "0 0 8 2"),
        ((416, 96), [96, 416], "0 0 8 2"),
        ((208, 24), [96, 416], "0 0 4 0.5"),
        ((832, 96), [96, 416], "0 0 8 1"),  # displayed at half the size
        ((100, 960), [96, 416], "0 0 0.1923 2"),
    ],
)
def test_looks_at_a_page_lie_over_the_picture_on_it(show, expect, size, padded, seen):
    data = io.BytesIO()
    Image.new("RGB", size, "white").save(data, "PNG")
    page = show(read(), {"b64": base64.b64encode(data.getvalue()).decode()}, padded=padded)
    expect(page.locator(".over.picture img").first).to_have_js_property("naturalWidth", size[0])
    page.wait_for_function(
        """(seen) => {
          const box = [...document.querySelectorAll("svg.heat")].at(-1).viewBox.baseVal;
          return [box.x, box.y, box.width, box.height].every((number, index) => Math.abs(number - seen[index]) < 1e-3);
        }""",
        arg=[float(number) for number in seen.split()],
    )


# screen sizes


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("wide", [False, True])
def test_nothing_overflows_on_a_narrow_screen(show, expect, scheme, wide):
    data = io.BytesIO()
    Image.new("RGB", (1200, 90), "white").save(data, "PNG")
    sent = {"b64": base64.b64encode(data.getvalue()).decode()} if wide else None
    page = show(
        read(f"{LATEX} + {LATEX}" if wide else r"\frac { x } { 2 }"),
        sent,
        viewport={"width": 360, "height": 740},
        color_scheme=scheme,
    )
    image, box, math = (page.locator(f".beside {selector}") for selector in ("img", ".formula", "math"))
    expect(image).to_have_js_property("naturalWidth", 1200 if wide else formulas.WIDE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(CHECKS) == []
    card = page.locator("#result").bounding_box()
    for part in (image, box):
        place = part.bounding_box()
        assert card["x"] <= place["x"]
        assert place["x"] + place["width"] <= card["x"] + card["width"]
    above, below = image.bounding_box(), math.bounding_box()
    assert above["y"] + above["height"] < below["y"]
    first = math.locator("> *").first
    assert first.bounding_box()["x"] == pytest.approx(box.bounding_box()["x"], abs=8)  # starts at a readable position
    expect(page.locator(".frame")).to_have_class("frame right" if wide else "frame")
    assert box.evaluate("box => box.scrollHeight <= box.clientHeight")
    paper = tone(page.locator("#form"), "backgroundColor")
    assert contrast(tone(math, "color"), paper) >= 7
    assert contrast(tone(page.locator(".beside figcaption").first, "color"), paper) >= 4.5
