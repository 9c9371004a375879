"""The page on custom systems: its code runs, trains, and gives the same results in every exported form."""

import re
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from seqattn_tf.inputs import graph_field
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Target
from seqattn_tf.models import Model, load
from seqattn_tf.serving.client import connect
from seqattn_tf.serving.server import Server, ServerConfig

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The names defined by the code and the folder in which it ran; registered names are removed afterwards."""
    folder, names = tmp_path_factory.mktemp("page"), {}
    families = (Field, Model, Target)
    held = [dict(family.registry) for family in families]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in re.findall(r"```python\n(.*?)```", PAGE, re.S):
            exec(block, names)
        yield names, folder
    for family, known in zip(families, held, strict=True):
        family.registry.clear()
        family.registry.update(known)


def test_the_page_is_short():
    assert len(PAGE.splitlines()) <= 180


def test_the_system_learns_and_looks(page):
    names, folder = page
    assert names["report"].metrics["accuracy"] > 0.8
    look = names["answer"].attention["story"]
    assert names["answer"].text == "blue"
    assert look.queries == ("which", "colour", "is", "the", "cup")
    assert look.keys == ("a", "red", "ball", "and", "a", "blue", "cup")
    np.testing.assert_allclose(look.weights.sum(1), 1, atol=1e-5)
    assert (folder / "colours.png").is_file()
    [nothing] = names["model"].answer([{**names["row"], "story": ""}])
    assert (nothing.text, nothing.score) == ("", -np.inf)


def test_every_form_says_the_same(page):
    names, folder = page
    expected = names["answer"]
    [again] = load(folder / "runs/colours").answer([names["row"]])
    running = Server(ServerConfig(folder / "models", rest_api_port=0, port=0))
    with running as server, closing(connect(server.rest_url)) as client:
        [served] = client.answer("colours", [names["row"]])
        [mixed] = client.answer("mixer", ["1.5 2 -3"])
    for other in (again, served, names["on_a_device"]):
        assert (other.text, other.tokens) == (expected.text, expected.tokens)
        np.testing.assert_allclose(other.attention["story"].weights, expected.attention["story"].weights, atol=1e-3)
    assert {mixed.text, *names["texts"]} == {mixed.text}


def test_the_field_and_its_twin(page):
    names, folder = page
    field = names["Readings"]()
    values = field.sample_inputs(5)
    found = graph_field(field, "x").encode(np.array(values, object))["values"]
    np.testing.assert_array_equal(found, [field.arrays(value)["values"] for value in values])
    names["mixer"].save(folder / "mixer")
    assert load(folder / "mixer").answer(values) == names["mixer"].answer(values)
    for wrong in ("1 2", "1 2 3 4", "1 2 x", ""):
        with pytest.raises(ValueError, match="sensors: "):
            names["mixer"].answer([wrong])
