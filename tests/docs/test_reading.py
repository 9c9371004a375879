"""docs/reading.md: its answers are those of the shipped models."""

import json
import re
from pathlib import Path

import pytest
from support.pages import python_of

from seqattn_tf.export.comparison import difference
from seqattn_tf.export.package import export
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.presets import FOLDER, LITE, find, open_model

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reading.md"
SHOWN = re.findall(r"^(I saw .*?) {2,}(\S.*?) {3}(-[\d.]+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_python_of_the_page_runs():
    scope = {}
    exec("\n".join(python_of("reading.md")), scope)
    assert scope["answer"].tokens[2:] == ("ADP", "DET", "NOUN", "PUNCT")  # the tag of "flies" is less certain
    assert len(scope["answer"].alternatives) == 2
    assert scope["given"].attention["text"].keys[-1] == "arrow."
    assert len(scope["pair"].extra["premise_heads"]) == 3
    assert scope["figure"].axes
    assert scope["supported"].extra["facts"].shape == (2,)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("tag", SHOWN[0]), ("parse", SHOWN[1])],
    ids=["tag", "parse"],
)
@pytest.mark.slow
def test_a_shipped_model_answers_alike_in_every_form(name, shown, tmp_path):
    text, _, _ = shown
    model = open_model(name, "keras")
    exported = export(find(name), tmp_path / "models" / name)
    assert exported.agreeing["SavedModel"] == exported.rows
    texts = [text, "", "Hm", "\u0417\u0434\u0440\u0430\u0432\u0441\u0442\u0432\u0443\u0439, \u043c\u0438\u0440!"]
    for one, other in zip(model.answer(texts), LiteModel(exported.lite).answer(texts), strict=True):
        assert difference(one, other, 2e-3) == ""


@pytest.mark.parametrize(("name", "shown"), [("tag", SHOWN[0]), ("parse", SHOWN[1])], ids=["tag", "parse"])
def test_a_shipped_model_answers_as_the_page_says(name, shown):
    text, right, score = shown
    [answer] = open_model(name, "keras").answer([text])
    assert (answer.text, f"{answer.score:.3f}") == (right, score)


@pytest.mark.parametrize("name", ["tag", "parse"])
def test_a_shipped_model_is_small_and_says_where_it_comes_from(name):
    files = [path for path in (FOLDER / name).rglob("*") if path.is_file() and path.parent.name != LITE]
    assert sum(path.stat().st_size for path in files) < 4e6
    record = json.loads((FOLDER / name / "config.json").read_text())["record"]
    assert "English-EWT (CC BY-SA 4.0)" in record["data"]
    assert name in (FOLDER / "NOTICE.md").read_text()
