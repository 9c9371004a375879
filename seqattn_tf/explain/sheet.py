"""What all pictures share: paper and ink, letters of any script, a page with a title."""

import itertools
import logging
import textwrap
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
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
_TITLE_SIZE, TITLE_LINE = 12, 0.22
_LONGEST_LABEL = 24  # characters
LONGEST_TITLE = 160  # characters
_WORD_MARK = "\u2581"  # stands for the space before a word

# DejaVu Sans comes with matplotlib; the others show other scripts where they are installed.
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
_NORMAL = (400, "normal", "regular", "book")  # weights
_NO_LETTERS = ("Last Resort", "STIX", "cm", "cs")  # matplotlib's own, for formulas, or with boxes for all there is
_LOG = logging.getLogger(__name__)
_found: list[str] = []  # fonts with other names that had a character
_warned: list[str] = []  # the character that no font has, once


# text: symbols are data, never markup


def text_style(size: float, colour: str = INK, **style: Any) -> dict[str, Any]:
    """Arguments of a matplotlib text."""
    return {"fontsize": size, "color": colour, "family": _families(), "parse_math": False, "usetex": False, **style}


@lru_cache(maxsize=1)
def _installed() -> dict[str, str]:
    """Upright fonts of normal weight and their files, also those that were installed after matplotlib listed them."""
    manager = font_manager.fontManager
    for path in sorted({*font_manager.findSystemFonts()} - {entry.fname for entry in manager.ttflist}):
        try:
            manager.addfont(path)
        except Exception:  # whatever is wrong with a font that nobody asked for
            _LOG.debug("matplotlib cannot read %s", path, exc_info=True)
    plain = [entry for entry in manager.ttflist if entry.style == "normal" and entry.weight in _NORMAL]
    return {entry.name: entry.fname for entry in sorted(plain, key=lambda entry: (entry.name, entry.fname))}


def _families() -> list[str]:
    """The fonts that texts are set in, the first that has a character for each; more of them as they are needed."""
    return [*(name for name in _FONTS if name in _installed()), *_found]


@lru_cache(maxsize=256)
def _charmap(path: str) -> frozenset[int]:
    return frozenset(font_manager.get_font(path).get_charmap())


@lru_cache(maxsize=4096)
def _has_font(character: str) -> bool:
    """Whether an installed font has a character; one of another name than ours is used from then on."""
    fonts = _installed()
    if any(ord(character) in _charmap(fonts[name]) for name in _families()):
        return True
    if unicodedata.category(character)[0] == "C":  # no letter in any font
        return False
    for name in sorted(fonts, key=lambda name: (not name.startswith("Noto Sans"), "Mono" in name, name)):
        if not name.startswith(_NO_LETTERS) and ord(character) in _charmap(fonts[name]):
            _found.append(name)
            return True
    if not _warned:
        _warned.append(character)
        _LOG.warning(
            "No installed font has %r (U+%04X): such characters are drawn as code points. Install a font with them: "
            "on Debian and Ubuntu fonts-noto-cjk for Chinese, Japanese and Korean, fonts-noto-core for other scripts.",
            character,
            ord(character),
        )
    return False


def _shown(character: str) -> str:
    character = _VISIBLE.get(character, character)
    seen = unicodedata.category(character) != "Cc" and _has_font(character)
    return character if seen else f"<{ord(character):04X}>"


def make_legible(symbol: str, longest: int = _LONGEST_LABEL) -> str:
    """A symbol on one line, every character visible, cut where it is very long; a word without its space's mark."""
    symbol = symbol[1:] if symbol[:1] == _WORD_MARK and len(symbol) > 1 else symbol
    if symbol and not symbol.strip(" "):
        return "␣" * min(len(symbol), longest)
    shown = "".join(map(_shown, symbol[: longest + 1]))
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def widths(labels: Sequence[str], size: float) -> list[float]:
    """Inches that each label takes, as matplotlib measures it."""
    scratch = Figure(dpi=_DPI)
    renderer = FigureCanvasAgg(scratch).get_renderer()
    texts = {label: Text(text=label, figure=scratch, **text_style(size)) for label in labels}
    measured = {label: text.get_window_extent(renderer, dpi=_DPI).width / _DPI for label, text in texts.items()}
    return [measured[label] for label in labels]


def widest(labels: Sequence[str], size: float) -> float:
    """Inches that the widest label takes."""
    return max(widths(labels, size))


def flow(sizes: Sequence[float], room: float, gap: float) -> list[tuple[float, int]]:
    """Where things of these widths stand in lines of so many inches: `(x, line)` of each.

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
    r"""As `flow` without gaps, for a text: a line break stands at the end of its line.

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
    """A title in lines that fit so many inches."""
    if not title:
        return []
    fit = int(width * 72 / (_TITLE_SIZE * 0.62))  # characters: 0.62 em is a wide average of DejaVu Sans
    shown = make_legible(title, len(title) * len("<10FFFF>"))
    if len(shown) > LONGEST_TITLE:
        whole, space, _ = shown[:LONGEST_TITLE].rpartition(" ")  # no symbol is cut in two, unless it is all there is
        shown = (whole if space else make_legible(title, LONGEST_TITLE - 2).removesuffix("…")) + " …"
    return textwrap.wrap(shown, max(fit, 16), break_on_hyphens=False)


# pages


def page(width: float, height: float, lines: Sequence[str] = ()) -> Figure:
    """An empty page with a title."""
    figure = Figure(figsize=(width, height), dpi=_DPI, facecolor=PAPER)
    figure.set_layout_engine("none")
    FigureCanvasAgg(figure)
    for index, line in enumerate(lines):
        x, y = MARGIN / width, 1 - (MARGIN + TITLE_LINE * index) / height
        figure.text(x, y, line, va="top", ha="left", **text_style(_TITLE_SIZE))
    return figure


def inches(figure: Figure) -> Axes:
    """Axes over a whole page, in inches from its lower left corner."""
    axes = figure.add_axes((0, 0, 1, 1))
    width, height = figure.get_size_inches()
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    return axes


def empty_answer(title: str | None) -> Figure:
    """A page that says that there is nothing to show."""
    lines = title_lines(title, 3.2 - 2 * MARGIN)
    height = 1.0 + TITLE_LINE * len(lines)
    figure = page(3.2, height, lines)
    figure.text(0.5, 0.5 / height, "nothing to show", va="center", ha="center", **text_style(11, QUIET))
    return figure


def curve_page(title: str) -> tuple[Figure, Axes]:
    """A page with axes for curves."""
    figure = Figure(figsize=(6.4, 3.8), dpi=_DPI, facecolor=PAPER, layout="constrained")
    FigureCanvasAgg(figure)
    axes = plain(figure.add_subplot())
    if title:
        axes.set_title(title, color=INK, loc="left", fontsize=11)
    return figure, axes


def two_pages(title: str, depth: bool = False) -> tuple[Figure, Axes, Axes]:
    """A page with two axes for curves side by side; with depth, the left ones have three dimensions."""
    figure = Figure(figsize=(7.8, 3.5), dpi=_DPI, facecolor=PAPER, layout="constrained")
    FigureCanvasAgg(figure)
    left = figure.add_subplot(1, 2, 1, projection="3d") if depth else plain(figure.add_subplot(1, 2, 1))
    if title:
        figure.suptitle(title, color=INK, x=0.02, ha="left", fontsize=11, parse_math=False)
    return figure, left, plain(figure.add_subplot(1, 2, 2))


def name_curves(axes: Axes, **style: Any) -> None:
    """A legend; names are data, never markup."""
    for text in axes.legend(labelcolor=INK, **style).get_texts():
        text.set_parse_math(False)


def plain(axes: Axes) -> Axes:
    """The same axes without a frame, quiet but for what is written beside them."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.tick_params(colors=QUIET, labelcolor=INK)
    return axes
