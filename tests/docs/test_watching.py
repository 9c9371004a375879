"""docs/watching.md: its examples run, and its numbers are correct."""

import re

from support.pages import python_of, text_of

from seqattn_tf.presets import open_model
from seqattn_tf.training import recipes
from seqattn_tf.training.data.corpora import clips, digits, formulas
from seqattn_tf.training.tasks.videos import FORMS


def test_the_python_of_the_page_runs():
    scope = {}
    exec("\n".join(python_of("watching.md")), scope)
    assert scope["heard"].attention["sound"].keys[1] == "0.04 s"
    assert scope["figure"].axes


def test_what_the_page_says_is_so():
    page = text_of("watching.md")
    assert f"grammar of {len(formulas.SYMBOLS)} symbols" in page
    assert f"have {clips.FRAMES} frames" in page
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == ["attention_form", *FORMS]


def test_the_shipped_model_reads_formulas_that_it_has_never_seen():
    model = open_model("image_to_latex", "keras").with_settings(beam_width=1, alternatives=0)
    figures = recipes.get("image_to_latex").task.measure(model, formulas.load(1, 40).test).metrics
    assert figures["accuracy"] >= 0.8


def test_the_shipped_model_hears_digits_of_the_test_split(shared_data):
    model, task = open_model("transcribe", "keras"), recipes.get("transcribe").task
    spoken = digits.load(shared_data / "fsdd", (3, 5), num_examples=1)
    assert task.measure(model, spoken.test[:60]).metrics["symbol_error_rate"] <= 0.03
    alone = digits.load(shared_data / "fsdd").test
    assert task.measure(model, alone[::5]).metrics["symbol_error_rate"] <= 0.03
