"""The gallery: a page with an input, an answer and a picture for each system that has a model."""

import pytest

from seqattn_tf import cli
from seqattn_tf.presets import open_model
from seqattn_tf.training import recipes
from seqattn_tf.training.gallery import _judged, _quoted, _shown, write_gallery


def test_a_page_shows_each_system_with_its_picture(tmp_path, capsys):
    page = tmp_path / "docs" / "gallery.md"
    assert cli.main(["gallery", "pronounce", "caption_scene", "-o", str(page)]) == 0
    said = capsys.readouterr().out
    assert str(page) in said
    assert "recipes without a model: answer, answer_image" in said
    text = page.read_text()
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## caption", "## pronounce"]
    for recipe in ("caption", "pronounce"):
        assert (page.parent / "images" / f"gallery_{recipe}.png").stat().st_size > 3000
        assert f"(images/gallery_{recipe}.png)" in text
        assert recipes.get(recipe).summary in text
    assert "- image: a image" not in text
    assert "- image: a picture" in text
    word = text.split("- text: `")[1].split("`")[0]
    assert f"- answer: `{open_model('pronounce', 'keras').answer([word])[0].text}` \u2713\n- reference: `" in text


def test_values_are_shown_as_they_are_and_never_as_markup():
    assert _shown("text", "a\n`b`", "text") == "- text: `a / 'b'`"
    assert _shown("sound", b"\xff\xfe", "sound") == "- sound: a sound"
    assert _quoted("") == "nothing"
    assert len(_quoted("x" * 900)) < 420


def test_an_answer_stands_beside_its_reference_with_a_mark():
    """Wrong answers must be marked as such."""
    assert _judged("4", ["4"]) == ["- answer: `4` \u2713", "- reference: `4`"]
    assert _judged("5", ["4"]) == ["- answer: `5` \u2717", "- reference: `4`"]
    assert _judged("b", ["a", "b", "c"]) == ["- answer: `b` \u2713", "- reference: `b`, and 2 more"]
    assert _judged("d", ["a", "b"]) == ["- answer: `d` \u2717", "- reference: `a`, and 1 more"]
    assert _judged("once upon", []) == ["- answer: `once upon`", "- reference: none"]


def test_what_has_no_model_is_said(tmp_path):
    with pytest.raises(ValueError, match="model: expected one of the presets"):
        write_gallery([tmp_path], tmp_path / "gallery.md")
    assert not (tmp_path / "gallery.md").exists()
