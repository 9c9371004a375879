"""The page on systems of one's own: its code runs, learns, and says the same in every form."""

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
    """The names that the blocks define, and the folder that they ran in; what they named is forgotten afterwards."""
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
    assert names["report"].figures["accuracy"] > 0.8
    look = names["answer"].looks["story"]
    assert names["answer"].text == "blue"
    assert look.rows == ("which", "colour", "is", "the", "cup")
    assert look.places == ("a", "red", "ball", "and", "a", "blue", "cup")
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
        np.testing.assert_allclose(other.looks["story"].weights, expected.looks["story"].weights, atol=1e-3)
    assert {mixed.text, *names["said"]} == {mixed.text}


def test_the_field_and_its_twin(page):
    names, folder = page
    field = names["Readings"]()
    values = field.made_up(5)
    found = graph_field(field, "x").encode(np.array(values, object))["values"]
    np.testing.assert_array_equal(found, [field.arrays(value)["values"] for value in values])
    names["mixer"].save(folder / "mixer")
    assert load(folder / "mixer").answer(values) == names["mixer"].answer(values)
    for wrong in ("1 2", "1 2 3 4", "1 2 x", ""):
        with pytest.raises(ValueError, match="sensors: "):
            names["mixer"].answer([wrong])
