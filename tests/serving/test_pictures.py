"""The shipped captioner in every interface, with pictures of all kinds: answers or clear errors, in bounded memory."""

import base64
from contextlib import closing
from pathlib import Path

import pytest
from serving_toys import config, post
from support.once import once
from support.pictures import BAD, FINE
from support.step_by_step import answering_eagerly

from seqattn_tf import cli
from seqattn_tf.export import package
from seqattn_tf.export.comparison import difference
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.models.base import read_config
from seqattn_tf.presets import find, open_model
from seqattn_tf.serving.client import connect
from seqattn_tf.serving.server import Server
from seqattn_tf.training.data.corpora import scenes

NAME = "caption_scene"
SCENE = scenes.draw(3, "test")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    def make(folder):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(package, "MADE_UP", 3)  # in addition to unusual ones
            done = package.export(find(NAME), folder / NAME)
        assert set(done.agreeing.values()) == {done.rows}  # both forms agree on every row, from raw bytes

    return once(tmp_path_factory, "pictures", make) / NAME / "1"


@pytest.fixture(scope="module")
def url(exported):
    with Server(config(exported.parent.parent)) as server:
        yield server


@pytest.fixture(scope="module")
def model():
    return open_model(NAME, "keras")


def ask(url, picture):
    row = {"image": {"b64": base64.b64encode(picture).decode()}}
    return post(url.rest_url, {"instances": [row]}, f"/v1/models/{NAME}:predict")


def test_every_door_says_the_same_of_a_picture_of_any_kind(url, exported, model):
    pictures = [SCENE.read(), *FINE.values()]
    right = model.answer(pictures)
    assert right[0].text == SCENE.caption
    edge = LiteModel(exported / "assets.extra/lite").answer(pictures)
    with closing(connect(url.rest_url)) as rest, closing(connect(f"grpc://{url.grpc_address}")) as grpc:
        found = [edge, *(client.answer(NAME, pictures) for client in (rest, grpc))]
    for way in found:
        for name, one, other in zip(["scene", *FINE], right, way, strict=True):
            assert difference(one, other, 2e-2) == "", name


@pytest.mark.parametrize("name", BAD)
def test_a_bad_picture_is_refused_at_every_door_and_the_next_one_is_answered(url, exported, model, name):
    picture, message = BAD[name]
    for door in (model, LiteModel(exported / "assets.extra/lite")):
        with pytest.raises(ValueError, match=f"image: {message}"):
            door.answer([picture])
    status, reply = ask(url, picture)
    assert status == 400
    assert message in reply["error"]
    assert 10 < len(reply["error"]) < 1000
    status, reply = ask(url, SCENE.read())
    assert (status, reply["predictions"][0]["text"]) == (200, SCENE.caption)


def test_one_bad_picture_of_a_batch_is_named_and_no_other_is_lost(url):
    rows = [{"image": {"b64": base64.b64encode(data).decode()}} for data in (SCENE.read(), b"none")]
    status, reply = post(url.rest_url, {"instances": rows}, f"/v1/models/{NAME}:predict")
    assert status == 400
    assert "image: expected a JPEG, PNG or BMP picture" in reply["error"]


def test_a_hundred_megapixels_take_no_memory(url):
    """Measures the server, which runs in this process: its peak memory is printed relative to the start."""
    peak = Path("/proc/self/status")
    if not peak.is_file():
        pytest.skip("needs /proc")

    def kilobytes(what):
        return next(int(line.split()[1]) for line in peak.read_text().splitlines() if line.startswith(what))

    ask(url, SCENE.read())
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = kilobytes("VmHWM")
    assert ask(url, BAD["100 megapixels"][0])[0] == 400
    grown = (kilobytes("VmHWM") - before) / 1000
    print(f"100 megapixels: {grown:.1f} MB more at the peak; decoded it would have 300")
    assert grown < 50


def test_the_command_line_answers_and_refuses(url, tmp_path, capsys):
    good, bad = tmp_path / "good.jpg", tmp_path / "bad.png"
    good.write_bytes(SCENE.read())  # a PNG with another suffix
    bad.write_bytes(BAD["half a png"][0])
    assert cli.main(["query", NAME, f"image=@{good}", "--url", url.rest_url]) == 0
    assert SCENE.caption in capsys.readouterr().out
    with answering_eagerly():
        assert cli.main(["query", NAME, f"image=@{bad}"]) == 2
    assert "image: expected a JPEG, PNG or BMP picture. Received: a corrupt one" in capsys.readouterr().err
    with answering_eagerly():
        assert cli.main(["explain", NAME, f"image=@{good}", "-o", str(tmp_path / "looks.png")]) == 0
    assert (tmp_path / "looks.png").stat().st_size > 5000


def test_the_page_shows_where_each_word_looked(url, model, open_page, expect):
    shown = read_config(find(NAME))["record"]["examples"][1]["image"]["b64"]
    [answer] = model.answer([base64.b64decode(shown)])
    words = answer.text.split()
    page = open_page(url.rest_url, f"#model={NAME}")
    page.get_by_role("group", name="Examples").get_by_role("button").nth(1).click()
    expect(page.locator("#answer .said")).to_have_text(answer.text)
    expect(page.locator(".tile .token")).to_have_text(words)
    expect(page.locator(".over.picture img")).to_have_count(len(words))
    looks = page.get_by_role("application", name=f"Attention maps, one for each of {len(words)}.")
    page.mouse.move(0, 0)
    looks.focus()
    page.keyboard.press("ArrowRight")
    reading = page.get_by_role("figure").get_by_role("status")
    expect(reading).to_contain_text(f"{words[0]} attends most to row ")
