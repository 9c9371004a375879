"""Clip inputs on the page, and attention over their frames, in a real browser with generated answers."""

import base64
import io
import re

import numpy as np
import pytest
from page_checks import CHECKS, contrast, tone
from page_toys import offered, sized
from PIL import Image

WIDE, HIGH = 6, 4  # pixels of a frame
COLOURS = [(200, 30, 30), (30, 200, 30), (30, 30, 200), (200, 200, 30), (30, 200, 200)]
ROWS = ["ring", "▁left", "."]
PEAKS = [0, 3, 4]
WEIGHTS = [0.5, 0.9, 0.25]


def gif(colours=COLOURS):
    """Return a GIF with one frame for each color."""
    first, *others = (Image.new("RGB", (WIDE, HIGH), colour) for colour in colours)
    data = io.BytesIO()
    first.save(data, "GIF", save_all=True, append_images=others, duration=100, loop=0)
    return data.getvalue()


def strip(colours=COLOURS, kind="PNG"):
    pixels = np.repeat(np.uint8(colours)[None], HIGH, axis=0).repeat(WIDE, axis=1)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, kind)
    return data.getvalue()


def seen(**more):
    weights = np.full([3, 5], 0.01)
    for row, (peak, weight) in enumerate(zip(PEAKS, WEIGHTS, strict=True)):
        weights[row, peak] = weight
    weights[1, 2] = 0.45
    look = {"clip_attention": weights.tolist(), "clip_queries": ROWS, "clip_keys": [*"12345"]}
    none = {"alternatives": [], "alternative_scores": []}
    return {"text": "ring left.", "score": -0.1, "tokens": ROWS, **none, **look, **more}


@pytest.fixture
def show(stage, open_page):
    """A function that opens the page with a model for clips; `page.sent` contains the bytes of each submitted clip."""

    def show(outputs=None, examples=(), **options):
        outputs = outputs or seen()
        clips = [{"clip": {"b64": base64.b64encode(data).decode()}} for data in examples]
        sent = stage.play(outputs, offered("film", {"clip": "clip"}, outputs, clips))
        page = open_page(stage.url, "#model=film", **options)
        page.sent = sent
        return page

    return show


@pytest.fixture
def shown(show):
    """A function that opens the page with the answer to an example clip."""

    def shown(outputs=None, clip=None, **options):
        page = show(outputs, [gif() if clip is None else clip], **options)
        page.locator(".stills, #details > .quiet").wait_for(state="attached")
        return page

    return shown


def choose(page, data, name="ring.gif", kind="image/gif"):
    page.get_by_label("clip", exact=True).set_input_files({"name": name, "mimeType": kind, "buffer": data})


def ask(page):
    """Submit the form, and return what is sent."""
    with page.expect_response("**/*:predict"):
        page.get_by_role("button", name="Ask").click()
    return page.sent[-1]


def status(page):
    return page.get_by_role("figure").get_by_role("status")


def stills(page):
    """Return every pixel of each frame on the page: [frames, y, x, 3]."""
    drawn = page.locator(".stills canvas").evaluate_all(
        """(all) => all.map((canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return [canvas.height, canvas.width, [...data]];
        })"""
    )
    return np.stack([np.reshape(data, [height, width, 4])[..., :3] for height, width, data in drawn])


# files


def test_a_clip_is_sent_byte_by_byte(show, expect, tmp_path):
    page = show()
    expect(page.locator("#inputs .field > .quiet")).to_have_text(
        "Choose an animated GIF or a strip of frames, drop it here or paste it."
    )
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("alert")).to_have_text("Choose a clip (clip).")
    expect(page.get_by_label("clip", exact=True)).to_be_focused()
    preview = page.locator(".preview")
    expect(preview).to_be_hidden()
    choose(page, gif())
    expect(preview).to_be_visible()
    assert ask(page) == gif()
    choose(page, strip(), "strip.png", "image/png")
    expect(page.locator(".preview")).to_have_js_property("naturalWidth", 5 * WIDE)
    assert ask(page) == strip()
    before = page.get_by_role("group", name="Previous questions").get_by_role("button")
    expect(before).to_have_text(["strip.png", "ring.gif"])
    page.get_by_label("clip", exact=True).set_input_files(sized(tmp_path / "long.gif", 8_100_000))
    expect(page.get_by_role("alert")).to_have_text("long.gif is too large (8.1 MB). A clip may have at most 8 MB.")


BRING = """([event, carrier, data]) => {
  const files = new DataTransfer();
  files.items.add(new File([Uint8Array.from(data)], "brought", { type: "" }));
  const happening = new Event(event, { bubbles: true, cancelable: true });
  happening[carrier] = files;
  document.querySelector(".drop").dispatchEvent(happening);
}"""


@pytest.mark.parametrize("way", [("paste", "clipboardData"), ("drop", "dataTransfer")])
def test_a_clip_may_be_pasted_or_dropped_whatever_it_is_called(show, expect, way):
    page = show()
    page.evaluate(BRING, [*way, [*gif()]])
    expect(page.locator(".preview")).to_be_visible()
    assert ask(page) == gif()
    expect(page.locator(".stills canvas")).to_have_count(5)


# frames


@pytest.mark.parametrize(
    "clip", [gif(), strip(), strip(kind="BMP"), strip(kind="JPEG")], ids=["gif", "png", "bmp", "jpeg"]
)
def test_each_frame_is_drawn_above_its_place(shown, expect, clip):
    page = shown(clip=clip)
    expect(page.locator(".stills canvas")).to_have_count(5)
    expected = np.broadcast_to(np.array(COLOURS)[:, None, None], [5, HIGH, WIDE, 3])
    blurred = clip.startswith(b"\xff\xd8")
    found, kept = stills(page), np.s_[:, :, 2:-2] if blurred else np.s_[:]
    assert found.shape == expected.shape
    np.testing.assert_allclose(found[kept], expected[kept], atol=60 if blurred else 0)
    for place in range(5):
        still, cell, number = (
            page.locator(f"{selector} >> nth={place}").bounding_box()
            for selector in (".stills canvas", ".track >> nth=1 >> rect", ".numbers span")
        )
        for box in (still, number):
            assert box["x"] == pytest.approx(cell["x"], abs=1.5)
            assert box["width"] == pytest.approx(cell["width"], abs=3)


def test_a_strip_that_cannot_be_parted_evenly_loses_its_last_columns(shown):
    picture = Image.open(io.BytesIO(strip()))
    data = io.BytesIO()
    picture.crop((0, 0, picture.width - 2, HIGH)).save(data, "PNG")  # 28 pixels: five frames of width 5
    page = shown(clip=data.getvalue())
    found = stills(page)
    assert found.shape == (5, HIGH, WIDE - 1, 3)
    assert (found[1, :, 0] == COLOURS[0]).all()
    assert (found[1, :, 1:] == COLOURS[1]).all()


@pytest.mark.parametrize("count", [4, 6])
def test_other_frames_than_were_read_are_shown_as_the_browser_does(shown, expect, count):
    page = shown(clip=gif([*COLOURS, (0, 0, 0)][:count]))
    expect(page.locator(".stills img")).to_be_visible()
    expect(page.locator("canvas, .bracket")).to_have_count(0)
    expect(page.locator(".track")).to_have_count(3)
    page.locator(".track .name").first.hover()
    expect(status(page)).to_have_text("ring attends most to frame 1 of 5, with weight 0.500")


def test_a_browser_without_a_decoder_shows_the_clip(shown, expect):
    page = shown(fresh=True, prepare=lambda page: page.add_init_script("delete window.ImageDecoder"))
    expect(page.locator(".stills img")).to_be_visible()
    expect(page.locator("canvas")).to_have_count(0)
    assert page.locator(".stills img").evaluate("image => image.naturalWidth") == WIDE


def test_a_clip_that_cannot_be_read_shows_weights_alone(show, expect):
    page = show(examples=[gif()[:20]])
    expect(page.locator(".track")).to_have_count(3)
    expect(page.locator(".numbers span")).to_have_text([*"12345"])
    page.locator(".track .name").last.hover()
    expect(status(page)).to_have_text(". attends most to frame 5 of 5, with weight 0.250")
    expect(page.locator(".wave, .bracket")).to_have_count(0)


# attention weights


def test_a_row_of_weights_for_each_symbol(shown, expect):
    page = shown()
    expect(page.locator("figcaption")).to_have_text("Attention")
    expect(page.locator(".track .name")).to_have_text(["ring", "left", "."])
    halves = "({ style }) => ['--first', '--second'].map((name) => Number(style.getPropertyValue(name)))"
    for row in range(3):
        cells = page.locator(".track").nth(row).locator("rect.shade")
        shares = np.mean(cells.evaluate_all(f"cells => cells.map({halves})"), axis=1)
        np.testing.assert_allclose(shares, np.array(seen()["clip_attention"][row]) / 0.9, atol=1e-6)
    expect(page.locator(".legend")).to_have_text("00.9")
    expect(page.locator(".map, .lines, .scroll, .tiles")).to_have_count(0)  # nothing is drawn twice


def test_readings_by_keyboard(shown, expect):
    page = shown()
    page.mouse.move(0, 0)
    page.get_by_role("application", name="Frames with weights for each of 3. Arrow keys move over them.").focus()
    expect(status(page)).to_have_text(re.compile("^Point at a position to read its weight"))
    said = [
        "ring attends most to frame 1 of 5, with weight 0.500",
        "left attends most to frame 4 of 5, with weight 0.900",
    ]
    said += [". attends most to frame 5 of 5, with weight 0.250"]
    keys = ["ArrowDown", "ArrowDown", "End", "ArrowDown", "ArrowUp", "Home"]
    for key, row in zip(keys, [0, 1, 2, 2, 1, 0], strict=True):
        page.keyboard.press(key)
        expect(status(page)).to_have_text(said[row])
        expect(page.locator(".track.pointed .name")).to_have_text(["ring", "left", "."][row])
        bracket, still = (
            page.locator(selector).bounding_box() for selector in (".bracket", f".stills canvas >> nth={PEAKS[row]}")
        )
        assert bracket == pytest.approx(still, abs=1)
    page.keyboard.press("Escape")
    expect(page.locator(".pointed")).to_have_count(0)
    expect(page.locator(".bracket")).to_be_hidden()


def test_a_cell_under_the_mouse_tells_its_weight(shown, expect):
    page = shown()
    tracks = page.locator(".track")
    tracks.nth(1).locator("rect").nth(2).hover()
    expect(status(page)).to_have_text("left attends to frame 3 of 5, with weight 0.450")
    expect(page.locator(".track.pointed .name")).to_have_text("left")
    tracks.nth(1).locator("rect").nth(0).hover()
    expect(status(page)).to_have_text("left attends to frame 1 of 5, with weight 0.010")
    tracks.nth(0).locator("rect").nth(0).hover()
    expect(status(page)).to_have_text("ring attends to frame 1 of 5, with weight 0.500")
    tracks.nth(0).locator(".name").hover()
    expect(status(page)).to_have_text("ring attends most to frame 1 of 5, with weight 0.500")
    page.get_by_role("button", name="Ask").hover()
    expect(status(page)).to_have_text(re.compile("^Point at"))


def test_what_a_symbol_did_not_look_at_is_dim(shown, expect):
    page = shown()
    lit = page.locator(".stills canvas")
    bright = "all => all.map((still) => Number(getComputedStyle(still).opacity))"
    assert lit.evaluate_all(bright) == [1] * 5
    page.locator(".track .name").nth(1).hover()
    expect(page.locator(".bracket")).to_be_visible()
    assert lit.evaluate_all(bright) == pytest.approx([0.308, 0.308, 0.65, 1, 0.308], abs=0.01)
    page.get_by_role("button", name="Ask").hover()
    expect(page.locator(".bracket")).to_be_hidden()
    assert lit.evaluate_all(bright) == [1] * 5


def test_the_same_in_words(shown, expect):
    page = shown()
    page.get_by_text("In words").click()
    rows = page.get_by_role("table", name="The frame with the largest weight for each token").get_by_role("row")
    expect(rows).to_have_text(
        [
            "tokenattends most to",
            "ringframe 1 of 5, with weight 0.500",
            "leftframe 4 of 5, with weight 0.900",
            ".frame 5 of 5, with weight 0.250",
        ]
    )


def test_a_label_has_one_row(shown, expect):
    said = "moves left then grows"
    page = shown(seen(text=said, tokens=[said], clip_queries=[said], clip_attention=[[0.1, 0.1, 0.1, 0.1, 0.6]]))
    expect(page.locator(".track .name")).to_have_text(said)
    page.locator(".track .name").hover()
    expect(status(page)).to_have_text(f"{said} attends most to frame 5 of 5, with weight 0.600")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"clip_keys": [""] * 5}, "There is nothing to show: the clip has no frames."),
        ({"clip_queries": [""], "tokens": [""]}, "The answer is empty, so there is no attention over the clip."),
        ({"clip_attention": np.zeros([3, 5]).tolist()}, "This model has no attention over the clip."),
    ],
)
def test_nothing_seen_is_said_so(shown, expect, more, message):
    page = shown(seen(**more))
    expect(page.locator("#details")).to_have_text(message)


def test_places_that_are_no_frames_are_a_map(show, expect):
    page = show(seen(clip_keys=[*"23456"]), [gif()])
    expect(page.locator(".map")).to_have_count(1)
    expect(page.locator(".tracks")).to_have_count(0)


# screen sizes


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_has_a_name_and_many_frames_scroll_on_a_narrow_screen(shown, expect, scheme):
    colours = [(12 * place, 200, 255 - 12 * place) for place in range(20)]
    look = {"clip_attention": np.eye(3, 20, 17).tolist(), "clip_keys": [str(place + 1) for place in range(20)]}
    page = shown(seen(**look), gif(colours), viewport={"width": 360, "height": 740}, color_scheme=scheme)
    expect(page.locator(".preview")).to_be_visible()
    assert page.evaluate(CHECKS) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.locator(".frame")).to_have_class("frame right")
    assert page.locator(".stills canvas").first.bounding_box()["width"] == pytest.approx(28, abs=0.5)
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowDown")
    expect(status(page)).to_have_text("ring attends most to frame 18 of 20, with weight 1.000")
    box, bracket, name = (
        page.locator(selector).bounding_box() for selector in (".words", ".bracket", ".pointed .name")
    )
    assert name["x"] + name["width"] <= bracket["x"]
    assert bracket["x"] + bracket["width"] <= box["x"] + box["width"]
    assert page.locator(".name").first.evaluate("name => name.scrollWidth <= name.clientWidth")
    card = tone(page.locator("#form"), "backgroundColor")
    for selector in (".name >> nth=0", ".name >> nth=1", ".numbers span >> nth=0", ".reading", ".legend"):
        assert contrast(tone(page.locator(selector), "color"), card) >= 4.5, selector
    assert contrast(tone(page.locator(".bracket"), "borderLeftColor"), card) >= 3


def test_examples_are_told_apart_by_their_numbers(show, expect):
    """The buttons of examples must have different names."""
    page = show(examples=[gif(), gif()])
    expect(page.get_by_role("group", name="Examples").get_by_role("button")).to_have_text(["example 1", "example 2"])
    expect(page.locator("#examples .thumb")).to_have_count(2)
