"""The page at `/`, by raw requests and in a real browser on the shipped model and on small ones made for it."""

import base64
import json
import math
import re
import shutil
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from serving_toys import answering, config, export_fixed, http_request, install, post, until

from seqattn_tf.export.manifest import FILE
from seqattn_tf.export.package import export_presets
from seqattn_tf.serving.api.exchange import Request
from seqattn_tf.serving.front.page import POLICY, Page
from seqattn_tf.serving.server import Server, ServerConfig

ODD = {  # an answer with all that is awkward about symbols, and other answers, one of them none
    "text": "the house",
    "score": -0.9,
    "alternatives": ["the home", "this house", ""],
    "alternative_scores": [-1.4, -9.2, -math.inf],
    "tokens": ["▁the", "▁house"],
    "text_attention": np.float32([[0, 0.1, 0.2, 0.3, 0.4, 0, 0], [0.5, 0.6, 0.7, 0.8, 0.9, 1, 0]]),
    "text_places": ["▁das", " ", "▁", "東京", "مرحبا", "\n", ""],  # the last is padding
    "text_rows": ["▁the", "▁house"],
}
LONG = {
    "text": "long",
    "score": -30.0,
    "text_attention": np.eye(64, 100, dtype=np.float32),
    "text_places": [f"i{n}" for n in range(100)],
    "text_rows": [f"o{n}" for n in range(64)],
}
TAGS = {"tags": ["NAME", "WORD"], "tokens": ["Anna", "-Infinity"], "language": "en"}


def look(name, rows, places, weights) -> dict:
    return {f"{name}_attention": np.float32(weights), f"{name}_rows": rows, f"{name}_places": places}


PAIR = answering(  # two inputs, two looks, one of them of what was not said, and parts
    lambda given: tf.strings.join([given["premise"], given["hypothesis"]], "|"),
    tokens=["entailment"],
    **look("premise", ["a", "man", "sleeps"], ["a", "boy", "naps"], np.eye(3)),
    **look("hypothesis", ["entailment"], ["a", "man", "sleeps"], [[0, 0, 0]]),
    classes=["entailment", "neutral"],
    chances=np.float32([0.75, 0.25]),
    marginals=np.float32([[0.5, 0.5], [0.125, 0.875]]),
)
CAPTION = answering(  # the text says what bytes arrived
    lambda given: tf.strings.as_string(tf.strings.to_hash_bucket_fast(given["image"], 2**40)),
    tokens=["a", "dog"],
    length=lambda given: tf.strings.length(given["image"]),
    image_rows=["a", "dog"],
    image_attention=np.float32([[[0, 0.1, 0.2], [0.3, 0.4, 0]], [[0, 0, 0], [0, 0, 0.9]]]),
)
GRID = answering("map", image_rows=["map"], image_attention=np.float32([[[0.5, 0.5]]]))
PIXEL = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\x06\0\0\0\x1f\x15\xc4\x89"
    b"\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82"
)
MANIFESTS = {
    "pair": {
        "summary": "Says whether the second sentence follows from the first.",
        "inputs": {"premise": {"kind": "text", "limit": 40}, "hypothesis": {"kind": "odd", "limit": True}},
        "examples": [{"premise": "A man sleeps.", "hypothesis": "A man rests."}, {"premise": "half"}, 3],
    },
    "story": {"inputs": {"story": {"kind": "lines"}, "question": {"kind": "text"}}},
    "caption": {
        "summary": "Says what a picture shows.",
        "inputs": {"image": {"kind": "image"}},
        "examples": [{"image": {"b64": base64.b64encode(PIXEL).decode()}}, {"image": {"b64": "!"}}],
    },
}


def with_manifest(version: Path, manifest) -> None:
    (version / "assets.extra").mkdir(exist_ok=True)
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    (version / "assets.extra" / FILE).write_text(text)


@pytest.fixture(scope="module")
def url(tmp_path_factory, exports):
    root = tmp_path_factory.mktemp("models")
    (root / "pronounce").symlink_to(export_presets() / "pronounce")
    install(exports / "1", root / "toy", 1)
    export_fixed(root / "odd" / "1", ODD)
    export_fixed(root / "long" / "1", LONG)
    export_fixed(root / "tagger" / "1", TAGS)
    export_fixed(root / "single" / "1", {"label": "<img src=/x onerror=alert(1)>"})
    export_fixed(root / "numbers" / "1", {"y": 1.0}, dtype=tf.float32)
    export_fixed(root / "mute" / "1", answering("", -math.inf, **look("text", [""], ["東", "京"], [[0, 0]])))
    export_fixed(root / "pair" / "1", PAIR, ["hypothesis", "premise"])
    export_fixed(root / "story" / "1", answering(lambda given: given["story"]), ["question", "story"])
    export_fixed(root / "caption" / "1", CAPTION, ["image"])
    export_fixed(root / "grid" / "1", GRID)
    for name, manifest in MANIFESTS.items():
        with_manifest(root / name / "1", manifest)
    with_manifest(root / "single" / "1", "{broken")
    with_manifest(root / "grid" / "1", ["of another form"])
    (root / "broken" / "1").mkdir(parents=True)
    (root / "broken" / "1" / "saved_model.pb").write_bytes(b"\xff\xff")
    with Server(config(root)) as server:
        yield server.rest_url


def asked(url, model, text):
    """What the REST API itself says."""
    outputs = post(url, {"inputs": {"text": [text]}}, f"/v1/models/{model}:predict")[1]["outputs"]
    return {name: value[0] for name, value in outputs.items()}


def http_headers(url, path):
    with urllib.request.urlopen(url + path, timeout=30) as response:
        return response.headers


# by raw requests


def test_files_come_with_their_types_and_a_strict_policy():
    page = Page(None)
    html = page.answer(Request("GET", "/"))
    named = re.findall(r'(?:src|href)="([^"]+)"', html.body.decode())
    scripts = [f"/page/{name}" for name in ("dom.js", "inputs/index.js", "views/index.js", "views/grid.js")]
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
    assert "data:" not in POLICY
    assert re.findall(r"([\w-]+)[^;]* blob:", POLICY) == ["img-src"]  # a picture that is about to be sent
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
    assert {"broken", "caption", "numbers", "pair", "pronounce", "toy"} <= models.keys()
    assert [*models] == sorted(models)
    assert models["toy"] == {
        "name": "toy",
        "version": "1",
        "summary": "",
        "inputs": [{"name": "text", "type": "string", "kind": "text", "limit": None}],
        "examples": [],
        "outputs": ["raw_bytes", "score", "upper", "version"],
        "versions": [{"version": "1", "state": "AVAILABLE", "error": ""}],
    }
    mark = http_headers(url, "/page/models.json")["ETag"]
    assert http_request(url, "GET", "/page/models.json", headers={"If-None-Match": mark})[::2] == (304, "")
    assert models["numbers"]["inputs"][0]["type"] == "float"
    assert models["pair"]["summary"] == MANIFESTS["pair"]["summary"]
    assert models["pair"]["inputs"] == [
        {"name": "premise", "type": "string", "kind": "text", "limit": 40},
        {"name": "hypothesis", "type": "string", "kind": "odd", "limit": None},
    ]
    assert [len(models[name]["examples"]) for name in ("pair", "caption")] == [1, 1]
    for name in ("single", "grid"):
        assert (models[name]["summary"], models[name]["examples"]) == ("", [])
        assert models[name]["inputs"] == models["toy"]["inputs"]
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
    expect(page.locator(".cells rect[data-row]")).to_have_count(len(said["text_places"]) * len(said["text_rows"]))
    assert page.locator(".top text").all_text_contents() == said["text_places"]
    assert page.locator(".side text").all_text_contents() == said["text_rows"]
    assert page.url == f"{url}/#model=pronounce&text=hello"
    page.keyboard.press("Shift+Enter")
    assert page.get_by_label("Text").input_value() == "hello\n"
    expect(page.get_by_role("table", name="Weight of each symbol")).to_have_count(1)
    expect(page.locator(".best")).to_have_count(0)


def test_a_tile_under_the_mouse_tells_its_weight(url, open_page, expect):
    page = open_page(url, "#model=pronounce&text=hello")
    weights = asked(url, "pronounce", "hello")["text_attention"]
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
        out, into = said["text_rows"][row], said["text_places"][column]
        weight = said["text_attention"][row][column]
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
    expect(page.locator("#answer .said")).to_have_text("The model gave no answer.")
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
    expect(page.get_by_label("Model")).to_have_value("caption")  # the first that is loaded
    page.get_by_label("Model").select_option("toy")
    page.get_by_label("Model").select_option("broken")
    expect(page.get_by_role("alert")).to_have_text(re.compile("^broken is not loaded. Version 1: Can't parse"))
    page.get_by_label("Text").press("Enter")
    expect(page.get_by_role("alert")).to_have_text(re.compile("^broken is not loaded. Version 1: Can't parse"))
    page.get_by_label("Model").select_option("numbers")
    expect(page.get_by_role("alert")).to_have_text(
        "This page asks with texts and pictures. numbers takes text (float): ask it by REST or gRPC."
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


# inputs


def test_two_texts_are_asked_and_kept_and_linked(url, open_page, expect):
    page = open_page(url, "#model=pair")
    expect(page.locator("#summary")).to_have_text(MANIFESTS["pair"]["summary"])
    assert page.locator("#inputs label").all_text_contents() == ["premise", "hypothesis"]
    premise, hypothesis = (page.get_by_label(name, exact=True) for name in ("premise", "hypothesis"))
    expect(premise).to_be_focused()
    premise.fill("p & q")
    hypothesis.fill("h")
    hypothesis.press("Enter")
    expect(page.locator("#answer .said")).to_have_text("p & q|h")
    assert page.url == f"{url}/#model=pair&premise=p+%26+q&hypothesis=h"
    page.get_by_label("Model").select_option("toy")
    assert page.locator("#inputs label").all_text_contents() == ["text"]
    expect(page.locator("#summary")).to_be_hidden()
    page.get_by_label("Text").fill("kept")
    page.get_by_label("Model").select_option("pair")
    expect(premise).to_have_value("p & q")
    assert page.url == f"{url}/#model=pair&premise=p+%26+q&hypothesis=h"
    page.get_by_label("Model").select_option("tagger")
    expect(page.get_by_label("Text")).to_have_value("kept")
    page.evaluate("location.hash = 'model=pair&hypothesis=2&premise=1'")
    expect(page.locator("#answer .said")).to_have_text("1|2")
    before = page.get_by_role("group", name="Asked before").get_by_role("button")
    expect(before).to_have_text(["1 · 2", "p & q · h"])
    before.nth(1).click()
    expect(page.locator("#answer .said")).to_have_text("p & q|h")
    expect(hypothesis).to_have_value("h")


def test_an_example_fills_the_inputs_and_asks(url, open_page, expect):
    page = open_page(url, "#model=pair")
    examples = page.get_by_role("group", name="Examples").get_by_role("button")
    expect(examples).to_have_text(["A man sleeps. · A man rests."])
    examples.click()
    expect(page.locator("#answer .said")).to_have_text("A man sleeps.|A man rests.")
    expect(page.get_by_label("premise", exact=True)).to_have_value("A man sleeps.")
    expect(examples).to_be_focused()
    page.get_by_label("Model").select_option("toy")
    expect(page.get_by_role("group", name="Examples")).to_be_hidden()


def test_lines_are_written_with_enter_and_asked_with_control(url, open_page, expect):
    page = open_page(url, "#model=story")
    expect(page.locator("#inputs .quiet")).to_have_text(
        "One sentence or turn a line: Enter starts a line, Ctrl Enter asks."
    )
    page.get_by_label("story").focus()
    page.keyboard.type("It fell.")
    page.keyboard.press("Enter")
    page.keyboard.type("It rolled.")
    expect(page.locator("#answer")).to_be_empty()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer .said")).to_have_text("It fell.\nIt rolled.")


def arrives(url, data: bytes) -> str:
    """What the model says to these bytes by REST."""
    body = {"inputs": {"image": [{"b64": base64.b64encode(data).decode()}]}}
    outputs = post(url, body, "/v1/models/caption:predict")[1]["outputs"]
    assert outputs["length"] == [len(data)]
    return outputs["text"][0]


def test_a_picture_is_sent_byte_by_byte(url, open_page, expect):
    page = open_page(url, "#model=caption")
    chooser = page.get_by_label("image")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("alert")).to_have_text("Choose a picture (image).")
    expect(chooser).to_be_focused()
    data = PIXEL + bytes(range(256)) * 40  # what comes after a picture's end does not disturb it
    chooser.set_input_files({"name": "dog.png", "mimeType": "image/png", "buffer": data})
    expect(page.locator(".preview")).to_be_visible()
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer .said")).to_have_text(arrives(url, data))
    expect(page.get_by_role("row").last).to_have_text(f"length{len(data)}")
    assert page.url == f"{url}/#model=caption"
    chooser.set_input_files({"name": "big.png", "mimeType": "image/png", "buffer": bytes(8_100_000)})
    expect(page.get_by_role("alert")).to_have_text("big.png has 8.1 MB. A picture may have at most 8 MB.")
    assert chooser.evaluate("chooser => chooser.files[0].name") == "dog.png"
    page.get_by_role("group", name="Examples").get_by_role("button").click()
    expect(page.locator("#answer .said")).to_have_text(arrives(url, PIXEL))
    expect(page.get_by_role("group", name="Asked before").get_by_role("button")).to_have_text(["example", "dog.png"])


BRING = """([event, carrier, data]) => {
  const files = new DataTransfer();
  files.items.add(new File([Uint8Array.from(data)], "brought.png", { type: "image/png" }));
  const happening = new Event(event, { bubbles: true, cancelable: true });
  happening[carrier] = files;
  document.querySelector(".drop").dispatchEvent(happening);
}"""


@pytest.mark.parametrize("way", [("paste", "clipboardData"), ("drop", "dataTransfer")])
def test_a_picture_may_be_pasted_or_dropped(url, open_page, expect, way):
    page = open_page(url, "#model=caption")
    page.evaluate(BRING, [*way, [*PIXEL]])
    expect(page.locator(".preview")).to_be_visible()
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer .said")).to_have_text(arrives(url, PIXEL))


# looks and parts


def test_a_look_over_a_picture(url, open_page, expect):
    page = open_page(url, "#model=caption")
    page.get_by_role("group", name="Examples").get_by_role("button").click()
    expect(page.locator(".tile .token")).to_have_text(["a", "dog"])
    expect(page.locator(".over.picture img")).to_have_count(2)
    heat = page.locator(".tile").nth(1).locator("rect")
    assert heat.evaluate_all("cells => cells.map(cell => Number(getComputedStyle(cell).fillOpacity))") == [
        pytest.approx(share) for share in (0, 0, 0, 0, 0, 0.75)
    ]
    heat.last.hover()
    reading = page.get_by_role("figure").get_by_role("status")
    expect(reading).to_have_text("dog looked at row 2 of 2, column 3 of 3, with weight 0.900")
    page.get_by_text("In words").click()
    rows = page.get_by_role("table", name="The place that each symbol looked at most").get_by_role("row")
    expect(rows.nth(1)).to_have_text("arow 2 of 2, column 2 of 3, with weight 0.400")
    expect(page.get_by_role("region", name="Outputs")).to_have_text("Outputslength70")  # shown once, the look is not


def test_a_look_over_a_grid_without_a_picture(url, open_page, expect):
    page = open_page(url, "#model=grid&text=x")
    expect(page.locator(".heat rect.shade")).to_have_count(2)
    expect(page.locator(".picture, .over img")).to_have_count(0)


def test_several_looks_and_parts(url, open_page, expect):
    page = open_page(url, "#model=pair&premise=p&hypothesis=h")
    expect(page.locator("figcaption")).to_have_text(["What it looked at in premise"])
    expect(page.locator("#details > p")).to_have_text("This model does not look back at hypothesis.")
    assert page.locator(".lines > .quiet").all_text_contents() == ["read", "looked"]
    expect(page.locator(".map")).to_have_attribute("aria-label", re.compile("^Alignment map of premise, 3 by 3"))
    parts = page.get_by_role("region", name="Output").get_by_role("row")
    expect(parts).to_have_text(
        ["chancesclasses", "0.75entailment", "0.25neutral", "marginals01", "00.50.5", "10.1250.875"]
    )


def test_no_answer_is_said_so(url, open_page, expect):
    page = open_page(url, "#model=mute&text=x")
    expect(page.locator("#answer .said")).to_have_text("The model gave no answer.")
    expect(page.locator("#details")).to_have_text("Nothing was said, so nothing was looked at.")
    expect(page.locator(".facts")).not_to_contain_text("probability")


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
    for (const id of node.getAttribute("aria-describedby").split(" "))
      if (!document.getElementById(id)) wrong.push("described by nothing");
  if (document.querySelector("[aria-hidden] [tabindex], [aria-hidden][tabindex]")) wrong.push("hidden focus");
  if (document.querySelectorAll("[tabindex]:not([tabindex='0'])").length) wrong.push("an order of its own");
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice");
  for (const live of ["#answer[aria-live=polite]", "[role=alert]"]) if (!document.querySelector(live)) wrong.push(live);
  return wrong;
}"""


LONG_WORD = "#model=pronounce&text=floccinaucinihilipilification"


@pytest.mark.parametrize(
    "link", ["#model=caption", LONG_WORD, "#model=odd&text=x", "#model=tagger&text=x", "#model=pair&premise=p"]
)
def test_everything_has_a_name_and_fits_a_narrow_screen(url, open_page, link):
    page = open_page(url, link, viewport={"width": 360, "height": 740})
    if link == "#model=caption":
        page.get_by_role("group", name="Examples").get_by_role("button").click()
        page.locator(".tile").first.wait_for()
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
    assert _contrast(_tone(page.locator("textarea"), "borderTopColor"), card) >= 3
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
