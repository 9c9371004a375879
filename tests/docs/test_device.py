"""docs/device.md: its program answers as the package does, without the package."""

import pytest
from support.pages import python_of
from support.systems import small_seq2seq

from seqattn_tf.export.describe import describe
from seqattn_tf.export.forms import Lite
from seqattn_tf.lite import LiteModel
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.presets import FOLDER, LITE


def test_the_first_block_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / LITE).symlink_to(FOLDER / "pronounce" / LITE)
    scope = {}
    exec(python_of("device.md")[0], scope)
    assert scope["answer"].text == "HH AH L OW"


@pytest.mark.parametrize("name", ["pronounce", "transliterate"])
def test_the_program_answers_as_the_package_does(name):
    """Another encoding of the inputs, or another meaning of the outputs, than the program assumes."""
    [program] = [block for block in python_of("device.md") if "class Device" in block]
    scope = {"__name__": "device"}
    exec(program, scope)
    assert "seqattn_tf" not in program
    device, model = scope["Device"](FOLDER / name / LITE), LiteModel(FOLDER / name / LITE)
    for word in ("hello", "Zürich", "O\u2019Neil", "naïve", "a"):
        [answer] = model.answer([word])
        text, score, attention = device.answer(word)
        assert (text, score) == (answer.text, pytest.approx(answer.score, abs=1e-5))
        assert attention == pytest.approx(answer.attention["text"].weights, abs=1e-5)
    with pytest.raises(ValueError, match="expected 1 to"):
        device.encode("")


def test_the_program_pads_to_a_fixed_length(tmp_path):
    """A program that fails on every export with `--static`, which the page describes next."""
    letters, symbols = SymbolRules(tuple("abc")), SymbolRules(("A", "B"), tokenizer="spaces")
    model = small_seq2seq(letters, symbols, max_target_length=6, units=6)
    form = Lite(length=5)
    form.write(model, tmp_path, describe(model, {}))
    [program] = [block for block in python_of("device.md") if "class Device" in block]
    scope = {"__name__": "device"}
    exec(program, scope)
    device, lite = scope["Device"](tmp_path), LiteModel(tmp_path)
    for word in ("a", "cab", "abcab"):
        [answer] = lite.answer([word])
        assert device.answer(word)[:2] == (answer.text, pytest.approx(answer.score, abs=1e-5))
    with pytest.raises(ValueError, match=r"expected 1 to 5 characters\. Received: 6"):
        device.encode("abcabc")
