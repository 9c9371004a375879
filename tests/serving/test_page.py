"""The page at `/`, by raw requests and in a real browser on the shipped model and on small ones made for it."""

import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from serving_toys import config, http_request, install, post, until

from seqattn_tf.export.package import export_presets
from seqattn_tf.serving.api.exchange import Request
from seqattn_tf.serving.front.page import POLICY, Page
from seqattn_tf.serving.server import Server, ServerConfig

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIETLY = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

ODD = {  # an answer with all that is awkward about symbols, and other answers, one of them none
    "text": "the house",
    "score": -0.9,
    "alternatives": ["the home", "this house", ""],
    "alternative_scores": [-1.4, -9.2, -math.inf],
    "attention": np.float32([[0, 0.1, 0.2, 0.3, 0.4, 0, 0], [0.5, 0.6, 0.7, 0.8, 0.9, 1, 0]]),
    "tokens_in": ["▁das", " ", "▁", "東京", "مرحبا", "\n", ""],  # the last is padding
    "tokens_out": ["▁the", "▁house"],
}
LONG = {
    "text": "long",
    "score": -30.0,
    "attention": np.eye(64, 100, dtype=np.float32),
    "tokens_in": [f"i{n}" for n in range(100)],
    "tokens_out": [f"o{n}" for n in range(64)],
}
TAGS = {"tags": ["NAME", "WORD"], "tokens": ["Anna", "-Infinity"], "language": "en"}


def export(path: Path, outputs: dict, dtype=tf.string) -> None:
    """A model that gives the same outputs to every text."""
    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([None], dtype, name="text")])
    def serve(text):
        copies = tf.shape(text)[0]
        return {name: tf.repeat(tf.constant(value)[None], copies, 0) for name, value in outputs.items()}

    tf.saved_model.save(module, str(path), signatures={"serving_default": serve})


@pytest.fixture(scope="module")
def url(tmp_path_factory, exports):
    root = tmp_path_factory.mktemp("models")
    (root / "pronounce").symlink_to(export_presets() / "pronounce")
    install(exports / "1", root / "toy", 1)
    export(root / "odd" / "1", ODD)
    export(root / "long" / "1", LONG)
    export(root / "tagger" / "1", TAGS)
    export(root / "single" / "1", {"label": "<img src=/x onerror=alert(1)>"})
    export(root / "numbers" / "1", {"y": 1.0}, tf.float32)
    (root / "broken" / "1").mkdir(parents=True)
    (root / "broken" / "1" / "saved_model.pb").write_bytes(b"\xff\xff")
    with Server(config(root)) as server:
        yield server.rest_url


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on the path")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIETLY)
        sync_api.expect.set_options(timeout=10_000)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Opens the page; at the end nothing may have gone wrong in it or have been asked of another host."""
    contexts, wrong = [], []

    def open_page(url, link="", refused=False, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: request.url.startswith(url + "/") or wrong.append(request.url))
        # Chromium itself writes a line for each answer above 399.
        expected = re.compile("Failed to load resource" if refused else "$^")
        page.on("console", lambda line: expected.match(line.text) or wrong.append(line.text))
        page.goto(f"{url}/{link}")
        page.locator(".facts, #alert:not(:empty)" if "text=" in link else "option").first.wait_for(state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong


@pytest.fixture
def expect(browser):
    from playwright.sync_api import expect

    return expect


def asked(url, model, text):
    """What the REST API itself says."""
    outputs = post(url, {"inputs": {"text": [text]}}, f"/v1/models/{model}:predict")[1]["outputs"]
    return {name: value[0] for name, value in outputs.items()}


# by raw requests


def test_files_come_with_their_types_and_a_strict_policy():
    page = Page(None)
    html = page.answer(Request("GET", "/"))
    named = re.findall(r'(?:src|href)="([^"]+)"', html.body.decode())
    scripts = [f"/page/{name}" for name in ("dom.js", "views/index.js", "views/alignment.js")]
    types = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    assert len(named) == 3
    for path in ["/", *named, *scripts]:
        reply = page.answer(Request("GET", f"{path}?now"))
        assert reply.status == 200
        assert reply.content_type.startswith(types[path.rpartition(".")[2] if path != "/" else "html"])
        assert reply.headers["Content-Security-Policy"] == POLICY
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Cache-Control"] == "no-cache"
    assert POLICY.startswith("default-src 'none'")
    assert "unsafe" not in POLICY
    assert not re.search(rb"<style|\sstyle=|\son\w+=|<script(?![^>]+src=)|https?:", html.body)


def test_what_has_not_changed_is_not_sent_again():
    page = Page(None)
    first = page.answer(Request("GET", "/page/page.js"))
    again = page.answer(Request("GET", "/page/page.js", headers={"If-None-Match": first.headers["ETag"]}))
    assert (again.status, again.body) == (304, b"")
    assert page.answer(Request("GET", "/page/page.js", headers={"If-None-Match": '"other"'})).status == 200
    assert page.answer(Request("GET", "/page/page.css")).headers["ETag"] != first.headers["ETag"]


OUTSIDE = ["", "/", "/index.html", "/__init__.py", "/../rest.py", "/%2e%2e/rest.py", "//dom.js", "/./dom.js"]


@pytest.mark.parametrize("path", [f"/page{path}" for path in OUTSIDE])
def test_nothing_else_can_be_had(url, path):
    assert Page(None).answer(Request("GET", path)) is None
    assert http_request(url, "GET", path)[0] == 404


def test_the_page_is_only_read(url):
    assert Page(None).answer(Request("HEAD", "/")).status == 200
    assert http_request(url, "HEAD", "/")[::2] == (200, "")
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert Page(None).answer(Request(method, "/")) is None


def test_models_are_told_with_their_state_and_what_they_take(url):
    status, document, text = http_request(url, "GET", "/page/models.json")
    assert status == 200
    models = {model["name"]: model for model in document["models"]}
    assert [*models] == ["broken", "long", "numbers", "odd", "pronounce", "single", "tagger", "toy"]
    assert models["toy"] == {
        "name": "toy",
        "version": "1",
        "inputs": [{"name": "text", "type": "string"}],
        "outputs": ["raw_bytes", "score", "upper", "version"],
        "versions": [{"version": "1", "state": "AVAILABLE", "error": ""}],
    }
    assert models["numbers"]["inputs"] == [{"name": "text", "type": "float"}]
    assert models["broken"]["version"] is None
    assert models["broken"]["versions"][0]["state"] == "END"
    assert "Can't parse saved_model.pb" in models["broken"]["versions"][0]["error"]
    assert "/tmp" not in text


# in a browser


def test_a_word_asked_by_keyboard_alone(url, open_page, expect):
    page = open_page(url)
    said = asked(url, "pronounce", "hello")
    page.get_by_label("Model").select_option("pronounce")
    page.get_by_label("Text").focus()
    page.keyboard.type("hello")
    page.keyboard.press("Enter")
    expect(page.locator("#answer .said")).to_have_text(said["text"])
    expect(page.locator(".facts")).to_have_text(
        re.compile(rf"^probability {math.exp(said['score']) * 100:.1f} % · [\d.]+ ms there and back$")
    )
    expect(page.locator(".cells rect[data-row]")).to_have_count(len(said["tokens_in"]) * len(said["tokens_out"]))
    assert page.locator(".top text").all_text_contents() == said["tokens_in"]
    assert page.locator(".side text").all_text_contents() == said["tokens_out"]
    assert page.url == f"{url}/#model=pronounce&text=hello"
    page.keyboard.press("Shift+Enter")
    assert page.get_by_label("Text").input_value() == "hello\n"
    expect(page.get_by_role("table", name="Weight of each symbol")).to_have_count(1)
    expect(page.locator(".best")).to_have_count(0)


def test_a_tile_under_the_mouse_tells_its_weight(url, open_page, expect):
    page = open_page(url, "#model=pronounce&text=hello")
    weights = asked(url, "pronounce", "hello")["attention"]
    reading = page.get_by_role("figure").get_by_role("status")
    for row, column in ((0, 1), (2, 3)):
        page.locator(f'.cells rect[data-row="{row}"][data-column="{column}"]').hover()
        expect(reading).to_have_text(re.compile(f"with weight {weights[row][column]:.3f}$"))
    expect(reading).to_have_text(re.compile("^L looked at l "))
    expect(page.locator(".top .pointed")).to_have_text("l")
    expect(page.locator(".side .pointed")).to_have_text("L")
    expect(page.locator(".cells .band")).to_have_count(2)
    page.get_by_label("Text").hover()
    expect(page.locator(".pointed, .band")).to_have_count(0)
    expect(reading).to_have_text(re.compile("^Point at"))


def test_a_symbol_under_the_mouse_lights_up_what_it_looked_at(url, open_page, expect):
    page = open_page(url, "#model=pronounce&text=hello")
    page.locator(".line.out .symbol").nth(1).hover()
    lit = page.locator(".line.into .shade")
    expect(lit).to_have_text("e")
    expect(page.get_by_role("figure").get_by_role("status")).to_have_text(re.compile(r"^EH looked at e \(0\.977\), l "))
    assert _tone(lit, "backgroundColor") == _tone(page.locator('rect[data-row="1"][data-column="1"]'), "fill")
    page.locator(".line.into .symbol").nth(4).hover()
    expect(page.locator(".line.out .shade.deep")).to_have_text("OW")
    expect(lit).to_have_count(0)


def test_the_map_by_keyboard(url, open_page, expect):
    page = open_page(url, "#model=pronounce&text=hello")
    said = asked(url, "pronounce", "hello")
    reading = page.get_by_role("figure").get_by_role("status")
    page.locator(".map").focus()
    for keys, row, column in (("ArrowDown", 0, 0), ("ArrowDown ArrowRight", 1, 1), ("End", 1, 4), ("ArrowRight", 1, 4)):
        for key in keys.split():
            page.keyboard.press(key)
        out, into = said["tokens_out"][row], said["tokens_in"][column]
        weight = said["attention"][row][column]
        expect(reading).to_have_text(f"{out} looked at {into} with weight {weight:.3f}")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(reading).to_have_text(re.compile(r"^EH looked at e \(0\.977\)"))
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


def test_what_a_model_says_is_never_markup(url, open_page, expect):
    page = open_page(url, "#model=single&text=%3Cb%3Ex%3C/b%3E")
    expect(page.get_by_role("row")).to_have_text(["label<img src=/x onerror=alert(1)>"])
    expect(page.locator("main img, main b")).to_have_count(0)


def test_the_server_s_message_is_shown_and_the_text_kept(url, open_page, expect):
    page = open_page(url, "#model=pronounce&text=hello", refused=True)
    text = page.get_by_label("Text")
    text.fill("a" * 100)
    text.press("Enter")
    _, body = post(url, {"inputs": {"text": ["a" * 100]}}, "/v1/models/pronounce:predict")
    expect(page.get_by_role("alert")).to_have_text(body["error"])
    assert "at most 64 symbols" in body["error"]
    expect(page.get_by_role("region", name="Answer")).to_be_hidden()
    expect(text).to_have_value("a" * 100)
    text.fill("hello")
    text.press("Enter")
    expect(page.locator("#answer .said")).to_have_text("HH EH L OW")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_a_text_that_gets_no_answer(url, open_page, expect):
    page = open_page(url, "#model=pronounce&text=%E6%9D%B1%E4%BA%AC")
    expect(page.locator("#answer .said")).to_have_text("The model gave no answer to this text.")
    expect(page.locator("#details")).to_have_text("Nothing was said, so nothing was looked at.")
    expect(page.locator(".facts")).not_to_contain_text("probability")
    page.get_by_label("Text").fill("")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#details")).to_have_text("There was nothing to look at: the text is empty.")


def test_a_link_asks_and_questions_asked_before_are_at_hand(url, open_page, expect):
    page = open_page(url, "#model=toy&text=a%20b%26c")
    expect(page.get_by_label("Model")).to_have_value("toy")
    expect(page.get_by_label("Text")).to_have_value("a b&c")
    expect(page.get_by_role("cell", name="A B&C")).to_be_visible()
    page.evaluate("location.hash = 'model=pronounce&text=hello'")
    expect(page.locator("#answer .said")).to_have_text("HH EH L OW")
    before = page.get_by_role("group", name="Asked before").get_by_role("button")
    expect(before).to_have_text(["hello", "a b&c"])
    before.nth(1).click()
    expect(page.get_by_role("cell", name="A B&C")).to_be_visible()
    assert page.url == f"{url}/#model=toy&text=a+b%26c"
    page.evaluate("location.hash = 'model=nobody&text=hello'")
    expect(page.get_by_role("alert")).to_have_text("There is no model named nobody here.")


def test_models_that_cannot_be_asked_say_why(url, open_page, expect):
    page = open_page(url)
    expect(page.get_by_label("Model")).to_have_value("long")  # the first that is loaded
    page.get_by_label("Model").select_option("broken")
    expect(page.get_by_role("alert")).to_have_text(re.compile("^broken is not loaded. Version 1: Can't parse"))
    page.get_by_label("Text").press("Enter")
    expect(page.get_by_role("alert")).to_have_text(re.compile("^broken is not loaded. Version 1: Can't parse"))
    page.get_by_label("Model").select_option("numbers")
    expect(page.get_by_role("alert")).to_have_text(
        "This page asks with one text. numbers takes text (float): ask it by REST or gRPC."
    )
    expect(page.get_by_role("button", name="Ask")).to_be_disabled()
    page.get_by_label("Model").select_option("toy")
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.get_by_role("button", name="Ask")).to_be_enabled()


def test_a_slow_question_can_be_stopped_and_is_asked_once(url, open_page, expect):
    page = open_page(url, "#model=toy", reduced_motion="reduce")
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    held = []
    page.route("**/*:predict", lambda route: held.append(route))
    text, button, working = page.get_by_label("Text"), page.locator("#ask"), page.locator("#working")
    text.fill("a")
    for _ in range(3):
        text.press("Enter")
        button.click()
    page.clock.run_for(250)
    expect(button).to_have_text("Ask")
    expect(working).to_have_text("")
    page.clock.run_for(100)
    expect(button).to_have_text("Stop")
    expect(working).to_have_text("working")
    assert page.evaluate("getComputedStyle(document.querySelector('#working'), '::before').animationName") == "none"
    assert len(held) == 1
    button.click()
    expect(page.get_by_role("alert")).to_have_text("Stopped.")
    expect(button).to_have_text("Ask")
    with page.expect_request("**/*:predict"):  # it is on its way before it is stopped
        text.press("Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_role("alert")).to_have_text("Stopped.")
    until(lambda: page.wait_for_timeout(20) or len(held) == 2)
    page.unroute_all()
    text.press("Enter")
    expect(page.get_by_role("cell", name="A", exact=True)).to_be_visible()
    expect(text).to_have_value("a")


def test_a_token_is_asked_for_when_the_server_wants_one(repository_root, tmp_path, open_page, expect):
    (tmp_path / "token").write_text("sesame")
    with Server(ServerConfig(repository_root, rest_api_port=0, port=0, bearer_token_file=tmp_path / "token")) as server:
        page = open_page(server.rest_url, "#model=toy&text=abc", refused=True)
        token = page.get_by_label("Access token")
        expect(page.get_by_role("alert")).to_have_text("The server asks for an access token.")
        expect(token).to_be_focused()
        expect(token).to_have_attribute("type", "password")
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("The server refuses this access token.")
        token.fill("sesame")
        page.keyboard.press("Enter")
        expect(page.get_by_role("cell", name="ABC")).to_be_visible()
        assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie, location.hash]") == [
            0,
            0,
            "",
            "#model=toy&text=abc",
        ]


def test_a_server_that_is_gone_and_one_that_is_back(repository_root, open_page, expect):
    with Server(config(repository_root)) as server:
        url = server.rest_url
        page = open_page(url, "#model=toy&text=abc", refused=True)
        expect(page.get_by_label("Access token")).to_be_hidden()
    page.get_by_label("Text").fill("new text")
    page.get_by_label("Text").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    expect(page.get_by_label("Text")).to_have_value("new text")
    with Server(ServerConfig(repository_root, rest_api_port=int(url.rpartition(":")[2]), port=0)):
        page.get_by_label("Text").press("Enter")
        expect(page.get_by_role("cell", name="NEW TEXT")).to_be_visible()


def test_a_new_version_and_a_model_that_leaves_are_noticed(running, repository_root, exports, open_page, expect):
    page = open_page(running.rest_url, "#model=toy&text=abc", refused=True)
    expect(page.locator("#about")).to_have_text("version 1")
    install(exports / "2", repository_root / "toy", 2)
    text = page.get_by_label("Text")
    expect(page.get_by_role("row").last).to_have_text("version1")
    until(lambda: running.repository.get("toy").version == 2)
    text.press("Enter")
    expect(page.get_by_role("row").last).to_have_text("version2")
    expect(page.locator("#about")).to_have_text("version 2")
    running.repository.stop()
    shutil.rmtree(repository_root / "toy")
    running.repository.poll()
    text.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Servable not found for request: Latest(toy)")


def test_a_large_map_scrolls_in_its_own_box(url, open_page, expect):
    page = open_page(url, "#model=long&text=x", viewport={"width": 800, "height": 700})
    expect(page.locator(".cells rect[data-row]")).to_have_count(6400)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    box = page.locator(".map")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth && box.scrollHeight > box.clientHeight")
    assert box.evaluate("box => box.clientHeight <= 0.7 * innerHeight + 1")
    assert page.locator(".cells rect").first.evaluate("rect => rect.getBoundingClientRect().width") >= 20
    box.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    expect(page.get_by_role("figure").get_by_role("status")).to_have_text("o0 looked at i99 with weight 0.000")
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


CHECKS = """() => {
  const wrong = [];
  const seen = (node) => node.checkVisibility();
  const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
  if (document.documentElement.lang !== "en") wrong.push("no language");
  if (!document.title) wrong.push("no title");
  if (all("h1").length !== 1) wrong.push("not one h1");
  if (all("main").length !== 1 || all("header").length !== 1) wrong.push("landmarks");
  for (const field of all("input, select, textarea")) if (!field.labels.length) wrong.push(`no label: ${field.id}`);
  for (const button of all("button")) if (!button.textContent.trim()) wrong.push("a button without a name");
  for (const region of all("section, form, [role=group], [role=application], [role=region]"))
    if (!region.getAttribute("aria-label")) wrong.push(`no name: ${region.tagName}`);
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption) wrong.push("a table without a caption");
    if (!table.querySelector("th")) wrong.push("a table without headers");
    for (const head of table.querySelectorAll("th")) if (!head.scope) wrong.push("a header without a scope");
  }
  for (const node of document.querySelectorAll("[aria-describedby]"))
    if (!document.getElementById(node.getAttribute("aria-describedby"))) wrong.push("described by nothing");
  if (document.querySelector("[aria-hidden] [tabindex], [aria-hidden][tabindex]")) wrong.push("hidden focus");
  if (document.querySelectorAll("[tabindex]:not([tabindex='0'])").length) wrong.push("an order of its own");
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice");
  for (const live of ["#answer[aria-live=polite]", "[role=alert]"]) if (!document.querySelector(live)) wrong.push(live);
  return wrong;
}"""


LONG_WORD = "#model=pronounce&text=floccinaucinihilipilification"


@pytest.mark.parametrize("link", ["", LONG_WORD, "#model=odd&text=x", "#model=tagger&text=x"])
def test_everything_has_a_name_and_fits_a_narrow_screen(url, open_page, link):
    page = open_page(url, link, viewport={"width": 360, "height": 740})
    assert page.evaluate(CHECKS) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(url, open_page, scheme):
    page = open_page(url, "#model=odd&text=x", color_scheme=scheme)
    paper = _tone(page.locator("body"), "backgroundColor")
    assert (_luminance(paper) > 0.5) == (scheme == "light")
    card = _tone(page.locator("#form"), "backgroundColor")
    assert _contrast(_tone(page.locator("h1"), "color"), paper) >= 7
    assert _contrast(_tone(page.locator("header .quiet"), "color"), paper) >= 4.5
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
        assert _contrast(_tone(page.locator(selector), "color"), card) >= 4.5, selector
    for selector in (".top text >> nth=0", ".side text >> nth=0"):
        assert _contrast(_tone(page.locator(selector), "fill"), card) >= 4.5, selector
    assert _contrast(*(_tone(page.locator("#ask"), name) for name in ("color", "backgroundColor"))) >= 4.5
    assert _contrast(_tone(page.locator("#text"), "borderTopColor"), card) >= 3
    number = page.locator(".cells text")
    for index, (row, column) in enumerate([(0, c) for c in range(1, 5)] + [(1, c) for c in range(6)]):
        tile = page.locator(f'rect[data-row="{row}"][data-column="{column}"]')
        assert _contrast(_tone(number.nth(index), "fill"), _tone(tile, "fill")) >= 4.5, (row, column)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_equal_steps_of_weight_are_equal_steps_of_lightness(url, open_page, scheme):
    page = open_page(url, "#model=odd&text=x", color_scheme=scheme)
    tiles = [(0, column) for column in range(5)] + [(1, column) for column in range(6)]  # weights 0, 0.1 ... 1
    tones = [page.locator(f'rect[data-row="{row}"][data-column="{column}"]') for row, column in tiles]
    fills = [tone.evaluate("tile => getComputedStyle(tile).fill") for tone in tones]
    lightness = [float(re.match(r"oklab\(([\d.]+) ", fill)[1]) for fill in fills]
    steps = np.diff(lightness)
    assert abs(steps).min() > 0.03
    np.testing.assert_allclose(steps, steps.mean(), atol=0.003)


def _tone(locator, name):
    """A computed colour as red, green and blue from 0 to 1, whatever its notation."""
    pixel = locator.evaluate(
        """(node, name) => {
          const pen = new OffscreenCanvas(1, 1).getContext("2d");
          pen.fillStyle = getComputedStyle(node)[name];
          pen.fillRect(0, 0, 1, 1);
          return [...pen.getImageData(0, 0, 1, 1).data];
        }""",
        name,
    )
    assert pixel[3] == 255
    return [value / 255 for value in pixel[:3]]


def _luminance(tone):
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in tone]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def _contrast(*tones):
    """As WCAG measures it, from 1 to 21."""
    dark, light = sorted(map(_luminance, tones))
    return (light + 0.05) / (dark + 0.05)
