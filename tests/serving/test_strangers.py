"""An external field, two systems and their recipes in every interface, without any change to the package."""

import base64
import dataclasses
import random
from contextlib import closing

import numpy as np
import pytest
from serving_toys import config, post
from support import strangers

from seqattn_tf.explain import save_figure
from seqattn_tf.export.comparison import difference
from seqattn_tf.export.package import export
from seqattn_tf.lite import manifest
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.models import load
from seqattn_tf.serving.client import connect
from seqattn_tf.serving.server import Server
from seqattn_tf.training import run
from seqattn_tf.training.data.stored import Stored

PICTURE = strangers.draw("red", "right", random.Random(3))
ROWS = {
    "match": [
        {"first": "abca", "second": "abca", "when": "2024-02-29"},
        {"first": "ab", "second": "dd", "when": "1999-12-31"},
    ],
    "toy_caption": [{"image": PICTURE}, {"image": strangers.draw("blue", "left", random.Random(4))}],
}
LOOKED = {"match": ("second", (4, 4)), "toy_caption": ("image", (2, 4, 4))}

pytestmark = pytest.mark.slow  # trains and exports two systems


@dataclasses.dataclass
class Stranger:
    """A trained and exported system."""

    recipe: object
    trained: object
    folder: object
    version: object


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("strangers")


@pytest.fixture(scope="module")
def systems(home):
    data = {"match": None, "toy_caption": strangers.write_pictures(home / "pictures.tar")}
    found = {}
    for recipe in (strangers.match, strangers.caption):
        folder = home / "runs" / recipe.name
        trained = run.train(recipe, recipe.settings, folder, data[recipe.name])
        done = export(folder, home / "models" / recipe.name)
        assert set(done.agreeing.values()) == {done.rows}  # both forms agree on every row
        found[recipe.name] = Stranger(recipe, trained, folder, done.version)
    return found


@pytest.fixture(scope="module")
def url(systems, home):
    with Server(config(home / "models")) as server:
        yield server


@pytest.fixture(params=["match", "toy_caption"])
def system(request, systems):
    return systems[request.param]


def test_it_learns_and_its_saved_run_answers_the_same(system, home):
    data = home / "pictures.tar"
    accuracy = system.recipe.task.measure(system.trained, system.recipe.load(data, None).test).metrics["accuracy"]
    assert accuracy > 0.5  # four classes: by chance 0.25
    again, rows = load(system.folder), ROWS[system.recipe.name]
    for one, other in zip(system.trained.answer(rows), again.answer(rows), strict=True):
        assert difference(one, other, 1e-6) == ""
    look, shape = LOOKED[system.recipe.name]
    assert system.trained.answer(rows)[0].attention[look].weights.shape == shape


def test_it_is_explained(system, tmp_path):
    save_figure(system.trained.explain(ROWS[system.recipe.name][0]), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5000


def test_the_edge_answers_the_same_and_refuses_the_same(system):
    edge, rows = LiteModel(system.version / "assets.extra/lite"), ROWS[system.recipe.name]
    for one, other in zip(system.trained.answer(rows), edge.answer(rows), strict=True):
        assert difference(one, other, 1e-3) == ""
    for name, broken in (("when", "2024-13-01"), ("image", b"GIF89a")):
        if name in rows[0]:
            for model in (system.trained, edge):
                with pytest.raises(ValueError, match=f"^{name}: expected "):
                    model.answer([{**rows[0], name: broken}])


def test_clients_answer_the_same_by_rest_and_grpc(system, url):
    rows, name = ROWS[system.recipe.name], system.recipe.name
    for address in (url.rest_url, f"grpc://{url.grpc_address}"):
        with closing(connect(address)) as client:
            found = client.answer(name, rows)
            bare = client.answer(name, [row["image"] for row in rows]) if "image" in rows[0] else found
        for one, other, same in zip(system.trained.answer(rows), found, bare, strict=True):
            assert difference(one, other, 1e-4) == ""
            assert difference(one, same, 1e-4) == ""


def test_plain_rest_gets_rows(system, url):
    """A plain request in TF Serving's row format: every output must have the batch as its first axis."""
    rows = [
        {
            name: {"b64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
            for name, value in row.items()
        }
        for row in ROWS[system.recipe.name]
    ]
    status, reply = post(url.rest_url, {"instances": rows}, f"/v1/models/{system.recipe.name}:predict")
    assert status == 200, reply
    said = [row["text"] for row in reply["predictions"]]
    assert said == [answer.text for answer in system.trained.answer(ROWS[system.recipe.name])]
    status, reply = post(url.rest_url, {"instances": [{"when": "x"}]}, f"/v1/models/{system.recipe.name}:predict")
    assert status == 400


def test_the_manifest_tells_what_the_page_needs(systems):
    told = manifest.read(systems["match"].version / "assets.extra")
    assert told["summary"] == strangers.match.summary
    assert [(name, one["field"], one["widget"]) for name, one in told["inputs"].items()] == [
        ("first", "text", "text"),
        ("second", "text", "text"),
        ("when", "date", "text"),
    ]
    assert len(told["examples"]) == 6
    pictures = manifest.read(systems["toy_caption"].version / "assets.extra")
    assert pictures["inputs"]["image"]["widget"] == "image"
    assert base64.b64decode(pictures["examples"][0]["image"]["b64"]).startswith(b"\x89PNG")


def test_the_page_asks_two_texts_and_a_day(url, systems, open_page, expect):
    page = open_page(url.rest_url, "#model=match", refused=True)
    [row] = ROWS["match"][:1]
    for name, value in row.items():
        page.get_by_label(name, exact=True).fill(value)
    page.get_by_role("button", name="Ask").click()
    [answer] = systems["match"].trained.answer([row])
    expect(page.locator("#answer .said")).to_have_text(answer.text)
    expect(page.get_by_text(strangers.match.summary)).to_be_visible()
    expect(page.locator(".map")).to_have_count(1)
    page.get_by_label("when", exact=True).fill("tomorrow")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("alert")).to_contain_text("when: expected YYYY-MM-DD")


def test_the_page_asks_with_a_picture_and_draws_where_it_looked(url, systems, open_page, expect):
    page = open_page(url.rest_url, "#model=toy_caption")
    page.get_by_label("image").set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": PICTURE})
    page.get_by_role("button", name="Ask").click()
    [answer] = systems["toy_caption"].trained.answer([PICTURE])
    expect(page.locator("#answer .said")).to_have_text(answer.text)
    expect(page.locator(".tile .token")).to_have_text(list(answer.tokens))
    expect(page.locator(".over.picture img")).to_have_count(len(answer.tokens))
    page.get_by_role("group", name="Examples").get_by_role("button").first.click()
    expect(page.locator("#answer .said")).to_be_visible()


def test_pictures_wait_in_their_tar_until_their_batch_comes(tmp_path, monkeypatch):
    path, opened, read = strangers.write_pictures(tmp_path / "some.tar"), [], Stored.read
    splits = strangers.load_pictures(path, None).at_most(0)
    monkeypatch.setattr(Stored, "read", lambda stored: (stored.path == path and opened.append(stored)) or read(stored))
    training = strangers.caption.task.open(strangers.caption.settings, splits)
    assert not opened
    inputs, right = next(iter(training.batches(0).take(1)))
    assert inputs["image_pixels"].shape == (20, 16, 16, 3)
    assert 20 <= len(opened) <= 120  # a few batches ahead, not all
    assert np.asarray(right).shape == (20, 3)
