"""The page at `/`: its files and its requests, by raw HTTP and in a real browser."""

import base64
import math
import re
import shutil

import pytest
from page_toys import MANIFESTS, PIXEL, asked, http_headers
from serving_toys import config, http_request, install, post, until

from seqattn_tf.serving.api.exchange import Request
from seqattn_tf.serving.front.page import POLICY, Page
from seqattn_tf.serving.server import Server, ServerConfig

# by raw HTTP


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
    assert re.findall(r"([\w-]+)[^;]* blob:", POLICY) == ["img-src", "media-src"]  # for files that are about to be sent
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
        "engine": "",
        "summary": "",
        "score_meaning": "",
        "inputs": [{"name": "text", "type": "string", "widget": "text", "limit": None, "canvas": None}],
        "examples": [],
        "outputs": ["raw_bytes", "score", "upper", "version"],
        "versions": [{"version": "1", "state": "AVAILABLE", "error": ""}],
    }
    mark = http_headers(url, "/page/models.json")["ETag"]
    assert http_request(url, "GET", "/page/models.json", headers={"If-None-Match": mark})[::2] == (304, "")
    assert models["numbers"]["inputs"][0]["type"] == "float"
    assert models["pair"]["summary"] == MANIFESTS["pair"]["summary"]
    assert models["pair"]["inputs"] == [
        {"name": "premise", "type": "string", "widget": "text", "limit": 40, "canvas": None},
        {"name": "hypothesis", "type": "string", "widget": "odd", "limit": None, "canvas": None},
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
        re.compile(rf"^probability {math.exp(said['score']) * 100:.1f} % · [\d.]+ ms round trip$")
    )
    expect(page.locator(".cells rect[data-row]")).to_have_count(len(said["text_keys"]) * len(said["text_queries"]))
    assert page.locator(".top text").all_text_contents() == said["text_keys"]
    assert page.locator(".side text").all_text_contents() == said["text_queries"]
    assert page.url == f"{url}/#model=pronounce&text=hello"
    page.keyboard.press("Shift+Enter")
    assert page.get_by_label("Text").input_value() == "hello\n"
    expect(page.get_by_role("table", name="Weight of each token")).to_have_count(1)
    expect(page.locator(".best")).to_have_count(0)


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
    assert "assertion failed: [text: expected at most 64 symbols, received] [100]" in body["error"]
    expect(page.get_by_role("alert")).to_have_text("text: expected at most 64 symbols. Received: 100")
    expect(page.get_by_role("region", name="Answer")).to_be_hidden()
    expect(text).to_have_value("a" * 100)
    text.fill("hello")
    text.press("Enter")
    expect(page.locator("#answer .said")).to_have_text("HH AH L OW")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_a_text_that_gets_no_answer(url, open_page, expect):
    page = open_page(url, "#model=pronounce&text=%E6%9D%B1%E4%BA%AC")
    nothing = "The model gave no answer: the model cannot read this input, or has no answer within its limits."
    expect(page.locator("#answer .said")).to_have_text(nothing)
    expect(page.locator("#details")).to_have_text("The answer is empty, so there is no attention.")
    expect(page.locator(".facts")).not_to_contain_text("probability")
    page.get_by_label("Text").fill("")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#details")).to_have_text("There is nothing to attend to: the text is empty.")
    expect(page.locator("#answer .said")).to_have_text("The model gave no answer: the input is empty.")


def test_a_link_asks_and_questions_asked_before_are_at_hand(url, open_page, expect):
    page = open_page(url, "#model=toy&text=a%20b%26c")
    expect(page.get_by_label("Model")).to_have_value("toy")
    expect(page.get_by_label("Text")).to_have_value("a b&c")
    expect(page.get_by_role("cell", name="A B&C")).to_be_visible()
    page.evaluate("location.hash = 'model=pronounce&text=hello'")
    expect(page.locator("#answer .said")).to_have_text("HH AH L OW")
    before = page.get_by_role("group", name="Previous questions").get_by_role("button")
    expect(before).to_have_text(["hello", "a b&c"])
    before.nth(1).click()
    expect(page.get_by_role("cell", name="A B&C")).to_be_visible()
    assert page.url == f"{url}/#model=toy&text=a+b%26c"
    page.evaluate("location.hash = 'model=nobody&text=hello'")
    expect(page.get_by_role("alert")).to_have_text("There is no model named nobody.")


def test_models_that_cannot_be_asked_say_why(url, open_page, expect):
    page = open_page(url)
    expect(page.get_by_label("Model")).to_have_value("caption")  # the first loaded model
    page.get_by_label("Model").select_option("toy")
    page.get_by_label("Model").select_option("broken")
    expect(page.get_by_role("alert")).to_have_text(re.compile("^broken is not loaded. Version 1: Can't parse"))
    page.get_by_label("Text").press("Enter")
    expect(page.get_by_role("alert")).to_have_text(re.compile("^broken is not loaded. Version 1: Can't parse"))
    page.get_by_label("Model").select_option("numbers")
    expect(page.get_by_role("alert")).to_have_text(
        "This page supports text, images, clips and audio. numbers takes text (float); query it over REST or gRPC."
    )
    expect(page.get_by_role("button", name="Ask")).to_be_disabled()
    page.get_by_label("Model").select_option("toy")
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.get_by_role("button", name="Ask")).to_be_enabled()


def test_a_slow_question_can_be_stopped_and_is_asked_once(url, open_page, expect):
    page = open_page(url, "#model=toy", fresh=True, reduced_motion="reduce")
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
    with page.expect_request("**/*:predict"):  # the request is sent before it is stopped
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
        expect(page.get_by_role("alert")).to_have_text("The server requires an access token.")
        expect(token).to_be_focused()
        expect(token).to_have_attribute("type", "password")
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("The server rejected this access token.")
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
    expect(page.get_by_role("alert")).to_contain_text("The server is not responding.")
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
    before = page.get_by_role("group", name="Previous questions").get_by_role("button")
    expect(before).to_have_text(["1 · 2", "p & q · h"])
    before.nth(1).click()
    expect(page.locator("#answer .said")).to_have_text("p & q|h")
    expect(hypothesis).to_have_value("h")


def test_the_first_example_is_shown_before_anything_is_asked(url, open_page, expect):
    page = open_page(url, "#model=pair")
    expect(page.locator("#answer .said")).to_have_text("A man sleeps.|A man rests.")
    premise = page.get_by_label("premise", exact=True)
    expect(premise).to_have_value("A man sleeps.")
    expect(premise).to_be_focused()
    expect(page.get_by_role("group", name="Previous questions")).to_be_hidden()
    assert page.url.endswith("#model=pair")  # nobody asked it
    page.keyboard.type("Nobody.")  # in the place of what is there
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer .said")).to_have_text("Nobody.|A man rests.")


def test_a_question_does_not_wait_for_the_example(url, open_page, expect):
    def late(route):
        if "Nobody" not in route.request.post_data:
            return  # never replied to
        route.continue_()

    page = open_page(url, "#model=pair", prepare=lambda page: page.route("**/*:predict", late))
    expect(page.get_by_label("premise", exact=True)).to_have_value("A man sleeps.")
    page.get_by_label("premise", exact=True).fill("Nobody.")
    page.get_by_role("button", name=re.compile("Ask|Stop")).click()
    expect(page.locator("#answer .said")).to_have_text("Nobody.|A man rests.")


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
        "One sentence or turn per line: Enter starts a new line, Ctrl Enter asks."
    )
    page.get_by_label("story").focus()
    page.keyboard.type("It fell.")
    page.keyboard.press("Enter")
    page.keyboard.type("It rolled.")
    expect(page.locator("#answer")).to_be_empty()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer .said")).to_have_text("It fell.\nIt rolled.")


def arrives(url, data: bytes) -> str:
    """Return the model's answer to these bytes in REST."""
    body = {"inputs": {"image": [{"b64": base64.b64encode(data).decode()}]}}
    outputs = post(url, body, "/v1/models/caption:predict")[1]["outputs"]
    assert outputs["length"] == [len(data)]
    return outputs["text"][0]


def test_a_picture_is_sent_byte_by_byte(url, open_page, expect):
    page = open_page(url, "#model=toy")
    page.get_by_label("Model").select_option("caption")
    chooser = page.get_by_label("image")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("alert")).to_have_text("Choose a picture (image).")
    expect(chooser).to_be_focused()
    data = PIXEL + bytes(range(256)) * 40  # data after the end of a picture are allowed
    chooser.set_input_files({"name": "dog.png", "mimeType": "image/png", "buffer": data})
    expect(page.locator(".preview")).to_be_visible()
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer .said")).to_have_text(arrives(url, data))
    expect(page.get_by_role("row").last).to_have_text(f"length{len(data)}")
    assert page.url == f"{url}/#model=caption"
    chooser.set_input_files({"name": "big.png", "mimeType": "image/png", "buffer": bytes(8_100_000)})
    expect(page.get_by_role("alert")).to_have_text("big.png is too large (8.1 MB). A picture may have at most 8 MB.")
    assert chooser.evaluate("chooser => chooser.files[0].name") == "dog.png"
    page.get_by_role("group", name="Examples").get_by_role("button").click()
    expect(page.locator("#answer .said")).to_have_text(arrives(url, PIXEL))
    expect(page.get_by_role("group", name="Previous questions").get_by_role("button")).to_have_text(
        ["example 1", "dog.png"]
    )


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


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "assertion failed: [image: expected a JPEG, PNG or BMP picture, received other bytes:] [392]\n[[{{node}}]]",
            "image: expected a JPEG, PNG or BMP picture. Received: 392 bytes of another format",
        ),
        (
            "Graph error: assertion failed: [a: expected a clip of at most 9 pixels, received] [2] [frames of] [3]",
            "a: expected a clip of at most 9 pixels. Received: 2 frames of 3",
        ),
        ("assertion failed: [a: expected a BMP picture of 24 bits a pixel or more]", None),
        (
            "ConcatOp : Dimension 0 in both shapes must be equal: shape[0] = [2] vs. shape[1] = [1]\n\t [[{{node c}}]]",
            "Expected the same number of values for each input. Received: columns of different lengths "
            "(ConcatOp : Dimension 0 in both shapes must be equal: shape[0] = [2] vs. shape[1] = [1])",
        ),
        (
            "Invalid PNG data, size 900\n\t [[{{node DecodeImage}}]]",
            "image: expected a readable file. Received: a corrupt one (Invalid PNG data, size 900)",
        ),
        ("Servable not found for request: Latest(x)", "Servable not found for request: Latest(x)"),
    ],
)
def test_what_tensorflow_says_is_shown_in_the_words_of_the_field(url, open_page, said, shown):
    """The page must not show `assertion failed: [image: expected ...] [392]` or graph nodes."""
    page = open_page(url, "#model=toy")
    code = "async (said) => (await import('/page/words.js')).readable(said, ['image'])"
    assert page.evaluate(code, said) == (shown or "a: expected a BMP picture of 24 bits a pixel or more")


@pytest.mark.parametrize(
    ("data", "received"),
    [
        (b"RIFF\x10\0\0\0WEBPVP8 " + bytes(99), "a WebP file"),
        (b"GIF89a" + bytes(99), "a GIF file"),
        (b"no picture", "10 bytes of another format"),
    ],
    ids=["webp", "gif", "text"],
)
def test_a_picture_that_no_model_reads_is_refused_at_once(url, open_page, expect, data, received):
    """Browsers display WebP, but the model rejects it: there must be no preview and no request."""
    page = open_page(url, "#model=caption")
    chooser = page.get_by_label("image")
    assert chooser.get_attribute("accept") == "image/jpeg,image/png,image/bmp"
    chooser.set_input_files({"name": "dog.webp", "mimeType": "image/webp", "buffer": data})
    message = f"Expected a JPEG, PNG or BMP picture. Received: {received}"
    expect(page.get_by_role("alert")).to_have_text(message)
    assert chooser.evaluate("chooser => [...chooser.files].map(file => file.name)") in ([], ["example 1"])


def test_the_page_bears_the_project_s_name(url, open_page, expect):
    page = open_page(url, "#model=toy")
    expect(page.get_by_role("banner")).to_contain_text("seqattn_tf")
    assert "seqattn_tf" in page.title()
