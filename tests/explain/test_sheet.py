"""Labels and titles: on one line if they fit, shortened otherwise, but never within a symbol."""

import pytest
from matplotlib import font_manager

from seqattn_tf.explain import sheet
from seqattn_tf.explain.sheet import LONGEST_TITLE, make_legible, running, title_lines


def test_a_short_title_is_whole():
    assert title_lines("hello → HH AH L OW", 8.0) == ["hello → HH AH L OW"]
    assert title_lines("", 8.0) == title_lines(None, 8.0) == []


def test_a_long_title_ends_after_a_symbol():
    said = " ".join(["I_TURN_LEFT", "I_JUMP"] * 20)
    shown = " ".join(title_lines(said, 6.0))
    assert shown.endswith(" …")
    assert len(shown) <= LONGEST_TITLE + 2
    assert set(shown.removesuffix(" …").split()) == {"I_TURN_LEFT", "I_JUMP"}
    assert said.startswith(shown.removesuffix(" …"))


@pytest.mark.parametrize("width", [1.0, 3.0, 8.0])
def test_lines_break_between_symbols(width):
    lines = title_lines("I_TURN-LEFT I_JUMP " * 4, width)
    assert {word for line in lines for word in line.split()} == {"I_TURN-LEFT", "I_JUMP"}


def test_one_endless_symbol_is_cut():
    [*_, last] = lines = title_lines("x" * 500, 3.0)
    assert sum(map(len, lines)) <= LONGEST_TITLE
    assert last.endswith("…")


def test_what_no_font_shows_is_named_whole():
    assert make_legible("a\x00b") == "a<0000>b"
    assert title_lines("a\x00b", 8.0) == ["a<0000>b"]


def test_a_text_runs_in_lines():
    assert running([*"ab\n\nc"], [1.0] * 5, room=9.0) == [(0, 0), (1, 0), (2, 0), (0, 1), (0, 2)]
    assert running([*"abc\n"], [2.0] * 4, room=4.0) == [(0, 0), (2, 0), (0, 1), (2, 1)]
    assert running([], [], room=4.0) == []


@pytest.fixture
def fonts(monkeypatch):
    """A function that sets the installed fonts and their characters; the real fonts are restored at the end."""

    def install(**installed):
        monkeypatch.setattr(sheet, "_installed", lambda: {name.replace("_", " "): name for name in installed})
        monkeypatch.setattr(sheet, "_charmap", lambda path: frozenset(map(ord, installed[path])))
        monkeypatch.setattr(sheet, "_found", [])
        monkeypatch.setattr(sheet, "_warned", [])
        sheet._has_font.cache_clear()

    yield install
    sheet._has_font.cache_clear()


def test_a_font_of_any_name_that_has_the_characters_is_used(fonts, caplog):
    """Any font with the required characters is used, whatever its name, so that katakana are not drawn as boxes."""
    fonts(DejaVu_Sans="abc", Some_Kana_Mono="スペイン", Some_Kana="スペイン", STIXNonUnicode="ก", Last_Resort="ก")
    assert make_legible("aス") == "aス"
    assert sheet.text_style(9)["family"] == ["DejaVu Sans", "Some Kana"]
    assert make_legible("ペイン") == "ペイン"
    assert sheet._families() == ["DejaVu Sans", "Some Kana"]
    assert not caplog.records


def test_it_is_said_once_which_font_to_install(fonts, caplog):
    """There must be a warning if code points are drawn instead of letters."""
    fonts(DejaVu_Sans="abc", STIXNonUnicode="ก\ue000", Last_Resort_High="ก")
    assert make_legible("a\x07\ue000") == "a<0007><E000>"
    assert not caplog.records  # no font has glyphs for these characters
    assert make_legible("スก") == "<30B9><0E01>"
    [record] = caplog.records
    assert "No installed font has 'ス' (U+30B9)" in record.getMessage()
    assert "fonts-noto-cjk" in record.getMessage()


def test_fonts_that_were_installed_after_matplotlib_listed_them_are_found(monkeypatch, tmp_path):
    """matplotlib caches its list of fonts in a file, which does not contain fonts that were just installed."""
    known = font_manager.findfont("DejaVu Sans Mono")
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    left = [entry for entry in font_manager.fontManager.ttflist if entry.name != "DejaVu Sans Mono"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", left)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [known, str(tmp_path / "broken.ttf")])
    assert sheet._installed.__wrapped__()["DejaVu Sans Mono"] == known
