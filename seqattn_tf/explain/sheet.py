"""The common parts of all figures: colors, fonts for any script, and a page with a title."""

import itertools
import logging
import textwrap
import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.text import Text

_DPI = 160
PAPER, INK, QUIET = "white", "#1c2430", "#66707f"
BLUES = LinearSegmentedColormap.from_list(
    "seqattn", ["#eef3f9", "#c9dcf0", "#93bae2", "#5793cf", "#2a6cb2", "#14498a", "#0a2d5e"]
)
COLOURS = ("#14498a", "#c0532b", "#3a8f5c", "#8a5fa8", "#b08a1e", "#4f6d7a")

# Sizes in inches, fonts in points.
MARGIN = 0.2
_TITLE_SIZE, _TITLE_LINE = 12, 0.22
_LONGEST_LABEL = 24  # characters
LONGEST_TITLE = 160  # characters
_WORD_MARK = "\u2581"  # represents the space before a word

# DejaVu Sans comes with matplotlib; the others are used for other scripts if they are installed.
_FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK JP",
    "Noto Sans JP",
    "Hiragino Sans",
    "Yu Gothic",
    "IPAexGothic",
    "Noto Sans Devanagari",
    "Kohinoor Devanagari",
    "Nirmala UI",
    "Noto Sans Bengali",
    "Noto Sans Tamil",
    "Arial Unicode MS",
)
_VISIBLE = {"\n": "↵", "\t": "⇥"}
_NORMAL = (400, "normal", "regular", "book")  # font weights
_NO_LETTERS = ("Last Resort", "STIX", "cm", "cs")  # matplotlib's fonts for formulas, and fonts of placeholder boxes
_LOG = logging.getLogger(__name__)
_found: list[str] = []  # fonts not in `_FONTS` that are used for some character
_warned: list[str] = []  # the first character that no font has, so that there is only one warning


# Text: symbols are data and never parsed as markup


def text_style(size: float, colour: str = INK, **style: Any) -> dict[str, Any]:
    """Return the arguments of a matplotlib text."""
    return {"fontsize": size, "color": colour, "family": _families(), "parse_math": False, "usetex": False, **style}


@lru_cache(maxsize=1)
def _installed() -> dict[str, str]:
    """Return upright fonts of normal weight and their files, including those installed after matplotlib listed them."""
    manager = font_manager.fontManager
    for path in sorted({*font_manager.findSystemFonts()} - {entry.fname for entry in manager.ttflist}):
        try:
            manager.addfont(path)
        except Exception:  # a font that cannot be read is simply not used
            _LOG.debug("matplotlib cannot read %s", path, exc_info=True)
    plain = [entry for entry in manager.ttflist if entry.style == "normal" and entry.weight in _NORMAL]
    return {entry.name: entry.fname for entry in sorted(plain, key=lambda entry: (entry.name, entry.fname))}


def _families() -> list[str]:
    """Return the fonts of all texts, in order of preference; others are added when a character needs them."""
    return [*(name for name in _FONTS if name in _installed()), *_found]


@lru_cache(maxsize=256)
def _charmap(path: str) -> frozenset[int]:
    return frozenset(font_manager.get_font(path).get_charmap())


@lru_cache(maxsize=4096)
def _has_font(character: str) -> bool:
    """Return whether an installed font has a character; if it is not one of `_FONTS`, it is used from then on."""
    fonts = _installed()
    if any(ord(character) in _charmap(fonts[name]) for name in _families()):
        return True
    if unicodedata.category(character)[0] == "C":  # control characters have no glyph in any font
        return False
    for name in sorted(fonts, key=lambda name: (not name.startswith("Noto Sans"), "Mono" in name, name)):
        if not name.startswith(_NO_LETTERS) and ord(character) in _charmap(fonts[name]):
            _found.append(name)
            return True
    if not _warned:
        _warned.append(character)
        _LOG.warning(
            "No installed font has %r (U+%04X): such characters are drawn as code points. "
            "Install a font that has them: on Debian and Ubuntu, fonts-noto-cjk for Chinese, Japanese and Korean, "
            "fonts-noto-core for other scripts.",
            character,
            ord(character),
        )
    return False


def _shown(character: str) -> str:
    character = _VISIBLE.get(character, character)
    seen = unicodedata.category(character) != "Cc" and _has_font(character)
    return character if seen else f"<{ord(character):04X}>"


def make_legible(symbol: str, longest: int = _LONGEST_LABEL) -> str:
    """Return a symbol on one line with all characters visible, truncated if it is long.

    The mark of the space before a word is removed.
    """
    symbol = symbol[1:] if symbol[:1] == _WORD_MARK and len(symbol) > 1 else symbol
    if symbol and not symbol.strip(" "):
        return "␣" * min(len(symbol), longest)
    shown = "".join(map(_shown, symbol[: longest + 1]))
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def widths(labels: Sequence[str], size: float) -> list[float]:
    """Measure the width of each label in inches, with matplotlib."""
    scratch = Figure(dpi=_DPI)
    renderer = FigureCanvasAgg(scratch).get_renderer()
    texts = {label: Text(text=label, figure=scratch, **text_style(size)) for label in labels}
    measured = {label: text.get_window_extent(renderer, dpi=_DPI).width / _DPI for label, text in texts.items()}
    return [measured[label] for label in labels]


def widest(labels: Sequence[str], size: float) -> float:
    """Return the width of the widest label in inches."""
    return max(widths(labels, size))


def flow(sizes: Sequence[float], room: float, gap: float) -> list[tuple[float, int]]:
    """Arrange items of these widths in lines of `room` inches, and return `(x, line)` of each.

    >>> flow([2.0, 1.0, 3.0], room=4.0, gap=0.5)
    [(0.0, 0), (2.5, 0), (0.0, 1)]
    """
    places, x, line = [], 0.0, 0
    for size in sizes:
        if x > 0 and x + size > room:
            x, line = 0.0, line + 1
        places.append((x, line))
        x += size + gap
    return places


def running(symbols: Sequence[str], sizes: Sequence[float], room: float) -> list[tuple[float, int]]:
    r"""Arrange the symbols of a text as `flow` does without gaps; a line break is at the end of its line.

    >>> running(["a", "\n", "b"], [1.0, 1.0, 1.0], room=4.0)
    [(0.0, 0), (1.0, 0), (0.0, 1)]
    """
    places: list[tuple[float, int]] = []
    ends = [number for number, symbol in enumerate(symbols, 1) if symbol == "\n"]
    for first, last in itertools.pairwise([0, *ends, len(symbols)]):
        line = places[-1][1] + 1 if places else 0
        places += [(x, line + row) for x, row in flow(sizes[first:last], room, 0.0)]
    return places


def title_lines(title: str | None, width: float) -> list[str]:
    """Split a title into lines that fit a width in inches."""
    if not title:
        return []
    fit = int(width * 72 / (_TITLE_SIZE * 0.62))  # characters: 0.62 em is a wide average of DejaVu Sans
    shown = make_legible(title, len(title) * len("<10FFFF>"))
    if len(shown) > LONGEST_TITLE:
        whole, space, _ = shown[:LONGEST_TITLE].rpartition(" ")  # truncate between symbols if there are several
        shown = (whole if space else make_legible(title, LONGEST_TITLE - 2).removesuffix("…")) + " …"
    return textwrap.wrap(shown, max(fit, 16), break_on_hyphens=False)


# Pages


class Sheet:
    """A page with a title, measured in inches from its lower left corner.

    Args:
        width: The width of the page.
        content: The height of the content below the title, without margins.
        title: A sentence above the content, wrapped into as many lines as needed.

    Attributes:
        figure: The matplotlib figure of the page.
        width, height: The size of the page.
        top: The upper edge of the content.

    >>> sheet = Sheet(width=4.0, content=1.0, title="a word")
    >>> sheet.top, round(sheet.height, 2)
    (1.2, 1.62)
    """

    def __init__(self, width: float, content: float, title: str | None = None) -> None:
        lines = title_lines(title, width - 2 * MARGIN)
        self.width, self.top = width, MARGIN + content
        self.height = self.top + _TITLE_LINE * len(lines) + MARGIN
        self.figure = Figure(figsize=(self.width, self.height), dpi=_DPI, facecolor=PAPER)
        self.figure.set_layout_engine("none")
        FigureCanvasAgg(self.figure)
        for index, line in enumerate(lines):
            y = self.height - MARGIN - _TITLE_LINE * index
            self.label(MARGIN, y, line, va="top", ha="left", **text_style(_TITLE_SIZE))

    @cached_property
    def axes(self) -> Axes:
        """Axes over the whole page, in inches."""
        axes = self.figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, self.width), ylim=(0, self.height))
        axes.set_axis_off()
        return axes

    def add_axes(self, x: float, y: float, width: float, height: float) -> Axes:
        """Add separate axes over a part of the page."""
        across, up = self.width, self.height
        return self.figure.add_axes((x / across, y / up, width / across, height / up))

    def label(self, x: float, y: float, words: str, **style: Any) -> None:
        """Write a text on the page."""
        self.figure.text(x / self.width, y / self.height, words, **style)


def empty_answer(title: str | None) -> Figure:
    """Return a page with the note that there is nothing to show."""
    sheet = Sheet(3.2, 1.0 - 2 * MARGIN, title)
    sheet.label(sheet.width / 2, 0.5, "nothing to show", va="center", ha="center", **text_style(11, QUIET))
    return sheet.figure


def curve_page(title: str) -> tuple[Figure, Axes]:
    """Return a page with axes for curves."""
    figure = Figure(figsize=(6.4, 3.8), dpi=_DPI, facecolor=PAPER, layout="constrained")
    FigureCanvasAgg(figure)
    axes = plain(figure.add_subplot())
    if title:
        axes.set_title(title, color=INK, loc="left", fontsize=11)
    return figure, axes


def two_pages(title: str, depth: bool = False) -> tuple[Figure, Axes, Axes]:
    """Return a page with two axes side by side; with `depth`, the left ones are three-dimensional."""
    figure = Figure(figsize=(7.8, 3.5), dpi=_DPI, facecolor=PAPER, layout="constrained")
    FigureCanvasAgg(figure)
    left = figure.add_subplot(1, 2, 1, projection="3d") if depth else plain(figure.add_subplot(1, 2, 1))
    if title:
        figure.suptitle(title, color=INK, x=0.02, ha="left", fontsize=11, parse_math=False)
    return figure, left, plain(figure.add_subplot(1, 2, 2))


def name_curves(axes: Axes, **style: Any) -> None:
    """Add a legend, whose names are data and never parsed as markup."""
    for text in axes.legend(labelcolor=INK, **style).get_texts():
        text.set_parse_math(False)


def plain(axes: Axes) -> Axes:
    """Return the axes after removing their frame and muting the colors of everything but the tick labels."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.tick_params(colors=QUIET, labelcolor=INK)
    return axes
