"""Sound inputs on the page, and attention over time, in a real browser with generated answers."""

import base64
import re

import numpy as np
import pytest
from page_checks import CHECKS, contrast, tone
from page_toys import offered, sized
from support.sounds import wav

from seqattn_tf.lite.fields.wav import read_header, read_samples, write_wav

RATE = 8_000
LOW, HIGH = 500, 3_000  # hertz
ROWS = ["seven", "2", "▁oh"]
PLACES = [f"{0.04 * place:.2f} s" for place in range(20)]
PEAKS = [3, 9, 16]
WEIGHTS = [0.5, 0.9, 0.25]


def tones(seconds=0.8):
    """Return a WAV file with a low tone followed by a high one."""
    time = np.arange(int(seconds * RATE)) / RATE
    return write_wav(0.5 * np.sin(2 * np.pi * np.where(time < seconds / 2, LOW, HIGH) * time), RATE)


def heard(**more):
    weights = np.zeros([3, 20])
    for row, (peak, weight) in enumerate(zip(PEAKS, WEIGHTS, strict=True)):
        weights[row, peak : peak + 3] = weight, 0.6 * weight, 0.2 * weight
    look = {"sound_attention": weights.tolist(), "sound_queries": ROWS, "sound_keys": PLACES}
    none = {"alternatives": [], "alternative_scores": []}
    return {"text": "seven 2 oh", "score": -0.1, "tokens": ROWS, **none, **look, **more}


@pytest.fixture
def show(stage, open_page):
    """A function that opens the page with a model for sounds; `page.sent` contains the bytes of submitted sounds."""

    def show(outputs=None, examples=(), kind="sound", link="#model=digits", **options):
        outputs = outputs or heard()
        sounds = [{"sound": {"b64": base64.b64encode(data).decode()}} for data in examples]
        models = offered("digits", {"sound": kind}, outputs, sounds), offered("other", {"sound": "text"}, ())
        sent = stage.play(outputs, *models)
        page = open_page(stage.url, link, **options)
        page.sent = sent
        return page

    return show


@pytest.fixture
def shown(show):
    """A function that opens the page with the answer to an example sound."""

    def shown(outputs=None, sound=None, **options):
        page = show(outputs, [tones() if sound is None else sound], **options)
        page.locator(".times, #details > .quiet").wait_for(state="attached")
        return page

    return shown


def choose(page, data, name="seven.wav", kind="audio/wav"):
    page.get_by_label("sound", exact=True).set_input_files({"name": name, "mimeType": kind, "buffer": data})


def give(page, expect, data=None, **more):
    """Choose a sound, and wait until it is loaded."""
    player = page.locator("audio")
    before = player.get_attribute("src") or ""
    choose(page, tones() if data is None else data, **more)
    expect(player).to_have_attribute("src", re.compile(f"^(?!{re.escape(before)}$)."))
    expect(player).to_be_visible()


def ask(page):
    """Submit the form, and return what is sent."""
    with page.expect_response("**/*:predict"):
        page.get_by_role("button", name="Ask").click()
    return page.sent[-1]


def held(page):
    return page.get_by_label("sound", exact=True).evaluate("({ files }) => [...files].map(({ name }) => name)")


def status(page):
    return page.get_by_role("figure").get_by_role("status")


# files


def test_a_sound_is_sent_byte_by_byte(show, expect):
    page = show()
    expect(page.locator("#inputs .field > .quiet")).to_have_text(
        "Choose a sound, drop it here, paste it or record one."
    )
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("alert")).to_have_text("Choose a sound or record one (sound).")
    expect(page.get_by_label("sound", exact=True)).to_be_focused()
    expect(page.locator("audio")).to_be_hidden()
    data = wav("f4", 16_000, channels=2)  # sent unchanged, whatever its format
    give(page, expect, data)
    expect(page.get_by_role("alert")).to_be_hidden()
    page.wait_for_function("() => Math.abs(document.querySelector('audio').duration - 3000 / 16000) < 1e-3")
    assert ask(page) == data
    give(page, expect, name="two.wav")
    assert ask(page) == tones()
    before = page.get_by_role("group", name="Previous questions").get_by_role("button")
    expect(before).to_have_text(["two.wav", "seven.wav"])
    before.nth(1).click()
    expect(before).to_have_text(["seven.wav", "two.wav"])
    assert page.sent[-1] == data
    assert page.url.endswith("#model=digits")


BRING = """([event, carrier, data]) => {
  const files = new DataTransfer();
  files.items.add(new File([Uint8Array.from(data)], "brought.wav", { type: "audio/wav" }));
  const happening = new Event(event, { bubbles: true, cancelable: true });
  happening[carrier] = files;
  document.querySelector(".drop").dispatchEvent(happening);
}"""


@pytest.mark.parametrize("way", [("paste", "clipboardData"), ("drop", "dataTransfer")])
def test_a_sound_may_be_pasted_or_dropped(show, expect, way):
    page = show()
    page.evaluate(BRING, [*way, [*tones()]])
    expect(page.locator("audio")).to_be_visible()
    assert ask(page) == tones()
    assert held(page) == ["brought.wav"]


def test_what_is_refused_leaves_what_was_there(show, expect, tmp_path):
    page = show()
    alert = page.get_by_role("alert")
    choose(page, b"RIFFabcdWAVX" + bytes(100), "odd.wav")
    expect(alert).to_have_text("odd.wav is not a sound that this browser can read.")
    assert held(page) == []
    expect(page.locator("audio")).to_be_hidden()
    give(page, expect)
    choose(page, b"", "nothing.mp3", "audio/mpeg")
    expect(alert).to_have_text("nothing.mp3 is not a sound that this browser can read.")
    page.get_by_label("sound", exact=True).set_input_files(sized(tmp_path / "long.wav", 8_100_000))
    expect(alert).to_have_text("long.wav is too large (8.1 MB). A sound may have at most 8 MB.")
    assert held(page) == ["seven.wav"]
    assert ask(page) == tones()


ENCODED = """async () => {
  const sound = new AudioContext();
  const [tone, out] = [new OscillatorNode(sound, { frequency: 880 }), new MediaStreamAudioDestinationNode(sound)];
  tone.connect(out);
  tone.start();
  const recorder = new MediaRecorder(out.stream);
  const data = new Promise((resolve) => (recorder.ondataavailable = (event) => resolve(event.data)));
  recorder.start();
  setTimeout(() => recorder.stop(), 500);
  return [...new Uint8Array(await (await data).arrayBuffer())];
}"""


def loudest(data):
    """Return the header of a WAV file and its loudest frequency."""
    header = read_header(data)
    power = np.abs(np.fft.rfft(read_samples(data, header)))
    return header, np.argmax(power) * header.rate / header.samples


def test_a_sound_of_another_kind_becomes_wav(show, expect):
    page = show()
    data = bytes(page.evaluate(ENCODED))
    assert not data.startswith(b"RIFF")
    give(page, expect, data, name="my.tune.webm", kind="audio/webm")
    assert held(page) == ["my.tune.wav"]
    header, pitch = loudest(ask(page))
    assert header[:4] == ("<i2", 1, 48_000, 44)
    assert pitch == pytest.approx(880, rel=0.02)


def test_what_grows_too_large_as_wav_is_refused(show, expect):
    page = show()
    page.evaluate(LENGTHENED, 90)
    choose(page, bytes(100), "talk.mp3", "audio/mpeg")
    expect(page.get_by_role("alert")).to_have_text("talk.wav is too large (8.6 MB). A sound may have at most 8 MB.")
    assert held(page) == []


# recordings

LENGTHENED = """(seconds) => {
  OfflineAudioContext.prototype.decodeAudioData = async () =>
    new AudioBuffer({ length: seconds * 48_000, numberOfChannels: 1, sampleRate: 48_000 });
}"""


def listening(page, expect):
    page.get_by_role("button", name="Record").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()


def test_a_recording_is_sent_as_wav(show, expect):
    page = show(permissions=["microphone"])
    give(page, expect)
    listening(page, expect)
    expect(page.locator(".record [role=status]")).to_have_text("Recording")
    expect(page.locator(".record .quiet")).to_have_text("1 of 30 s")
    expect(page.locator("audio")).to_be_hidden()  # it is replaced by the new recording
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("audio")).to_be_visible()
    expect(page.get_by_role("button", name="Record")).to_be_visible()
    expect(page.locator(".record .quiet")).to_be_empty()
    assert held(page) == ["recording.wav"]
    data = ask(page)
    header = read_header(data)
    assert header[:4] == ("<i2", 1, 48_000, 44)
    assert 0.5 < header.samples / header.rate < 20
    assert np.abs(read_samples(data, header)).max() > 0.05  # the microphone beeps


def test_a_recording_ends_by_itself(show, expect):
    page = show(fresh=True, permissions=["microphone"])
    page.evaluate(LENGTHENED, 31)
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    listening(page, expect)
    said = page.locator(".record [role=status]")
    page.clock.run_for(9000)
    expect(page.locator(".record .quiet")).to_have_text("9 of 30 s")
    expect(said).to_have_text("Recording")
    page.clock.run_for(6000)
    expect(said).to_have_text("10 seconds")
    page.clock.run_for(15_000)
    expect(page.get_by_role("button", name="Record")).to_be_visible()
    expect(page.locator("audio")).to_be_visible()
    page.clock.resume()
    assert read_header(ask(page)).samples == 30 * 48_000


def test_a_recording_gives_way_to_what_is_chosen(show, expect):
    page = show(permissions=["microphone"])
    listening(page, expect)
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("alert")).to_have_text("Choose a sound or record one (sound).")
    choose(page, tones())
    expect(page.get_by_role("button", name="Record")).to_be_visible()
    assert ask(page) == tones()
    assert held(page) == ["seven.wav"]


TRACKED = """() => {
  const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  window.tracks = [];
  navigator.mediaDevices.getUserMedia = async (wanted) => {
    const stream = await ask(wanted);
    tracks.push(...stream.getTracks());
    return stream;
  };
}"""


def test_the_microphone_is_let_go(show, expect):
    page = show(permissions=["microphone"])
    page.evaluate(TRACKED)
    live = "window.tracks.map(({ readyState }) => readyState)"
    listening(page, expect)
    assert page.evaluate(live) == ["live"]
    expect(page.locator(".record .quiet")).to_have_text("1 of 30 s")  # waits until something is recorded
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("audio")).to_be_visible()
    assert page.evaluate(live) == ["ended"]
    listening(page, expect)
    page.get_by_label("Model").select_option("other")
    page.wait_for_function("() => window.tracks[1].readyState === 'ended'", timeout=10_000)
    page.get_by_label("Model").select_option("digits")
    expect(page.get_by_role("button", name="Record")).to_be_visible()


REFUSING = """(name) => {
  navigator.mediaDevices.getUserMedia = async () => { throw new DOMException("as it says", name); };
}"""


def test_a_microphone_that_cannot_be_had_is_said_so(show, expect):
    page = show()
    give(page, expect)
    record, alert = page.get_by_role("button", name="Record"), page.get_by_role("alert")
    for name, message in (
        ("NotAllowedError", "This page may not use the microphone. Allow it in the settings of the browser."),
        ("NotFoundError", "No microphone was found."),
        ("NotReadableError", "as it says"),
    ):
        page.evaluate(REFUSING, name)
        record.click()
        expect(alert).to_have_text(message)
    page.evaluate("Object.defineProperty(navigator, 'mediaDevices', { value: undefined })")
    record.click()
    expect(alert).to_have_text(re.compile("^Browsers allow recording only on pages that are served over HTTPS"))
    assert ask(page) == tones()  # the previous sound is kept


# attention over time


def test_a_row_of_weights_for_each_symbol(shown, expect):
    page = shown()
    expect(page.locator("figcaption")).to_have_text("When each token was heard")
    expect(page.locator(".track .name")).to_have_text(["seven", "2", "oh"])
    halves = "({ style }) => ['--first', '--second'].map((name) => Number(style.getPropertyValue(name)))"
    for row in range(3):
        cells = page.locator(".track").nth(row).locator("rect.shade")
        shares = np.mean(cells.evaluate_all(f"cells => cells.map({halves})"), axis=1)
        np.testing.assert_allclose(shares, np.array(heard()["sound_attention"][row]) / 0.9, atol=1e-6)
    expect(page.locator(".legend")).to_have_text("00.9")
    expect(page.locator(".times span")).to_have_text(["0 s", "0.2 s", "0.4 s", "0.6 s"])
    expect(page.locator(".map, .lines, .scroll")).to_have_count(0)  # nothing is drawn twice
    expect(page.locator(".said")).to_have_class("said")


def test_weights_stand_below_their_time(shown):
    page = shown(sound=tones(0.7))  # the last frames are incomplete
    sound, cell, tick = (
        page.locator(selector).bounding_box()
        for selector in (".pitches", ".track >> nth=0 >> rect >> nth=10", ".times span >> nth=2")
    )
    whole = page.locator(".track svg").first.bounding_box()
    assert sound["x"] == pytest.approx(whole["x"], abs=0.5)
    assert sound["width"] == pytest.approx(whole["width"] * 0.7 / 0.8, abs=0.5)
    assert cell["x"] == pytest.approx(whole["x"] + whole["width"] / 2, abs=0.5)  # 0.40 s
    assert tick["x"] == pytest.approx(cell["x"], abs=0.5)


def test_readings_by_keyboard(shown, expect):
    page = shown()
    page.mouse.move(0, 0)
    page.get_by_role(
        "application", name="3 tokens with the times when they were heard. Arrow keys move over them."
    ).focus()
    expect(status(page)).to_have_text(re.compile("^Point at a token, or move over them"))
    said = ["seven attends most to 0.12 s, with weight 0.500", "2 attends most to 0.36 s, with weight 0.900"]
    said += ["oh attends most to 0.64 s, with weight 0.250"]
    keys = ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "Home", "ArrowUp", "ArrowRight", "End"]
    for key, row in zip(keys, [0, 1, 2, 2, 1, 0, 0, 1, 2], strict=True):
        page.keyboard.press(key)
        expect(status(page)).to_have_text(said[row])
        expect(page.locator(".track.pointed .name")).to_have_text(["seven", "2", "oh"][row])
    page.keyboard.press("Escape")
    expect(page.locator(".pointed")).to_have_count(0)
    expect(page.locator(".bracket")).to_be_hidden()


def test_a_symbol_under_the_mouse_is_bracketed_in_the_sound(shown, expect):
    page = shown()
    expect(page.locator(".bracket")).to_be_hidden()
    page.locator(".track").nth(1).locator("rect").last.hover()
    expect(status(page)).to_have_text("2 attends most to 0.36 s, with weight 0.900")
    bracket, sound = (page.locator(selector).bounding_box() for selector in (".bracket", ".pitched"))
    assert (bracket["x"] - sound["x"]) / sound["width"] == pytest.approx(9 / 20, abs=0.01)
    assert bracket["width"] / sound["width"] == pytest.approx(2 / 20, abs=0.01)  # the range with high weights
    page.get_by_role("button", name="Ask").hover()
    expect(status(page)).to_have_text(re.compile("^Point at"))
    expect(page.locator(".bracket")).to_be_hidden()


def test_the_same_in_words(shown, expect):
    page = shown()
    page.get_by_text("In words").click()
    rows = page.get_by_role("table", name="The time with the largest weight for each token").get_by_role("row")
    expect(rows).to_have_text(
        [
            "tokenattends most to",
            "seven0.12 s, with weight 0.500",
            "20.36 s, with weight 0.900",
            "oh0.64 s, with weight 0.250",
        ]
    )


def test_low_pitches_are_below(shown):
    page = shown()
    pixels = page.locator(".pitches").evaluate(
        """(canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return [canvas.height, canvas.width, [...data].filter((_, place) => place % 4 === 3)];
        }"""
    )
    loud = np.reshape(pixels[2], pixels[:2])
    assert loud.shape == (128, 80)  # one column for every hop
    hertz = (127 - np.argmax(loud, axis=0)) * RATE / 256
    np.testing.assert_allclose(hertz[2:38], LOW, atol=RATE / 256)
    np.testing.assert_allclose(hertz[42:78], HIGH, atol=RATE / 256)
    assert loud[:, 2:38].max() == 255
    low, high = (127 - pitch * 256 // RATE for pitch in (LOW, HIGH))
    assert loud[low, 2:38].min() > 250
    assert loud[high, 2:38].max() < 20
    assert loud[high, 42:78].min() > 250
    assert loud[low, 42:78].max() < 20


def test_a_sound_that_cannot_be_read_shows_weights_alone(shown, expect):
    page = shown(sound=b"RIFFabcdWAVE")
    expect(page.locator(".track")).to_have_count(3)
    expect(page.locator(".times span")).to_have_count(4)
    expect(page.locator("canvas, .bracket")).to_have_count(0)
    page.locator(".track").first.hover()
    expect(status(page)).to_have_text("seven attends most to 0.12 s, with weight 0.500")
    expect(page.locator("audio")).to_be_hidden()


def test_one_symbol_and_one_place(shown, expect):
    page = shown(heard(tokens=["7"], sound_queries=["7"], sound_keys=["0.00 s"], sound_attention=[[1.0]]))
    expect(page.locator(".track .name")).to_have_text("7")
    expect(page.locator(".times span")).to_have_text(["0 s", "0.2 s", "0.4 s", "0.6 s"])  # as long as the sound
    assert page.locator(".pitches").evaluate("node => node.style.width") == "100%"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"sound_keys": [""] * 20}, "There is nothing to show: the sound is silent."),
        ({"sound_queries": [""], "tokens": [""]}, "The answer is empty, so there is no attention over the sound."),
        ({"sound_attention": np.zeros([3, 20]).tolist()}, "This model has no attention over the sound."),
    ],
)
def test_nothing_heard_is_said_so(shown, expect, more, message):
    page = shown(heard(**more))
    expect(page.locator("#details")).to_have_text(message)


def test_what_is_no_sound_or_has_no_times_is_a_map(show, expect):
    named = heard(sound_keys=[f"word {place}" for place in range(20)])
    for shown in ({"outputs": named, "examples": [tones()]}, {"kind": "text", "link": "#model=digits&sound=x"}):
        page = show(**shown)
        expect(page.locator(".map")).to_have_count(1)
        expect(page.locator(".heard")).to_have_count(0)


def test_a_long_sound_scrolls_to_where_a_symbol_was_heard(shown, expect):
    weights = np.zeros([40, 700])
    weights[np.arange(40), np.arange(40) * 17] = 0.5
    rows = [f"word {row}" for row in range(40)]
    look = {"sound_attention": weights.tolist(), "sound_queries": rows, "tokens": rows}
    places = [f"{0.04 * place:.2f} s" for place in range(700)]
    page = shown(heard(**look, sound_keys=places), viewport={"width": 800, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.locator(".frame")).to_have_class("frame right down")
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    expect(status(page)).to_have_text("word 39 attends most to 26.52 s, with weight 0.500")
    box, wave, bracket, name = (
        page.locator(selector).bounding_box() for selector in (".words", ".wave", ".bracket", ".track.pointed .name")
    )
    assert bracket["x"] >= name["x"] + name["width"]
    assert bracket["x"] + bracket["width"] <= box["x"] + box["width"]
    assert name["x"] >= box["x"] - 1
    assert wave["y"] == pytest.approx(box["y"], abs=1)  # stays visible
    assert wave["y"] + wave["height"] <= name["y"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_has_a_name_and_fits_a_narrow_screen(shown, expect, scheme):
    page = shown(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    expect(page.locator("audio")).to_be_visible()
    assert page.evaluate(CHECKS) == []
    assert page.locator("audio").get_attribute("aria-label")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.locator(".frame")).to_have_class("frame")  # everything is visible
    page.locator(".track").first.hover()
    card = tone(page.locator("#form"), "backgroundColor")
    for selector in (".name >> nth=0", ".name >> nth=1", ".times span >> nth=0", ".range", ".reading", ".legend"):
        assert contrast(tone(page.locator(selector), "color"), card) >= 4.5, selector
    paper = tone(page.locator(".pitched"), "backgroundColor")
    assert contrast(tone(page.locator(".bracket"), "borderLeftColor"), paper) >= 3
    ink = [float(scheme == "dark")] * 3  # the color of the loudest sound
    assert (page.locator(".pitches").evaluate("node => getComputedStyle(node).filter") == "invert(1)") == bool(ink[0])
    assert contrast(ink, paper) >= 7
    button = page.get_by_role("button", name="Record")
    assert contrast(tone(button, "color"), tone(button, "backgroundColor")) >= 4.5
