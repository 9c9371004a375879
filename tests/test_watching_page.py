"""docs/watching.md: what it shows runs, and what it says of numbers is so."""

import re

from support.pages import python_of, text_of

from seqattn_tf.training.data import clips, formulas
from seqattn_tf.training.tasks.watching import FORMS


def test_the_python_of_the_page_runs():
    scope = {}
    exec("\n".join(python_of("watching.md")), scope)
    assert scope["heard"].looks["sound"].places[1] == "0.04 s"
    assert scope["figure"].axes


def test_what_the_page_says_is_so():
    page = text_of("watching.md")
    assert f"grammar of {len(formulas.SYMBOLS)} symbols" in page
    assert f"have {clips.FRAMES} frames" in page
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == ["form", *FORMS]
