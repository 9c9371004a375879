"""A tagged text: every word above its tag or every segment above its label, in the color of the tag.

the   dog   barked   at    the   gate          the dog   barked   at   the gate
DET  NOUN    VERB    ADP   DET   NOUN            NP        VP     PP      NP
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from seqattn_tf.explain.sheet import (
    INK,
    MARGIN,
    QUIET,
    Sheet,
    empty_answer,
    flow,
    make_legible,
    text_style,
    widths,
)

# Sizes in inches, fonts in points.
_SIZE, _LABEL_SIZE = 12, 8
_ROOM, _NARROWEST = 7.6, 2.4  # widths of a line
_LINE, _BOX, _NOTE = 0.58, 0.28, 0.2
_PAD, _GAP, _SPACE = 0.06, 0.07, 0.07  # inside a box, between boxes, between the words of a box
MOST = 400  # the maximum number of words
_SURE = 0.9  # the probability of a tag is printed if it is smaller

# A dozen hues, dark and lighter, each with its tags. The web page uses the same colors, in views/tones.js.
TONES = {
    "#8d1828": "VERB VP VB VBD VBG VBN VBP VBZ PER PERSON",
    "#7b3702": "INTJ UH",
    "#654704": "MISC",
    "#505103": "UCP TO",
    "#185d00": "ADJ ADJP JJ JJR JJS LOC GPE",
    "#095b46": "EX WRB",
    "#04585c": "NUM CD LST",
    "#0a5470": "POS",
    "#12479d": "NOUN NP NN NNS ORG",
    "#4f3797": "WP WDT",
    "#6f287e": "ADP IN PP",
    "#841c58": "SCONJ SBAR",
    "#b5494e": "FW",
    "#b0540e": "AUX MD",
    "#93690d": "DET DT",
    "#767700": "PART PRT RP",
    "#3f842e": "SYM",
    "#118568": "ADV ADVP RB RBR RBS",
    "#118186": "PDT",
    "#127ca3": "PROPN NNP NNPS",
    "#3e6fc2": "X",
    "#7260bd": "PRON PRP PRP$",
    "#9553a4": "LS",
    "#ab4a7d": "CCONJ CC CONJP",
}
_TONE_OF = {tag: tone for tone, tags in TONES.items() for tag in tags.split()}
UNREAD = "_"  # the tag of a word that was not read
NONE = ("O", UNREAD)
BIO = re.compile("([BIESLU])-(.+)")


class Segment(NamedTuple):
    """Words with a common label."""

    first: int
    last: int  # inclusive
    label: str
    share: float = 1.0  # the lowest probability of its tags


def segments_of(tags: Sequence[str], shares: Sequence[float]) -> list[Segment]:
    """Return the segments of BIO or BIOES tags; `O` and all other tags form segments of one word.

    >>> [segment[:3] for segment in segments_of(["B-NP", "I-NP", "O", "B-VP"], [1.0] * 4)]
    [(0, 1, 'NP'), (2, 2, 'O'), (3, 3, 'VP')]
    """
    parts = [BIO.fullmatch(tag) for tag in tags]
    if not all(part or tag in NONE for part, tag in zip(parts, tags, strict=True)):
        return [Segment(place, place, tag, share) for place, (tag, share) in enumerate(zip(tags, shares, strict=True))]
    found: list[Segment] = []
    open_label = ""
    for place, (part, tag, share) in enumerate(zip(parts, tags, shares, strict=True)):
        kind, label = part.groups() if part else ("", tag)
        if kind in ("I", "E", "L") and label == open_label:
            found[-1] = found[-1]._replace(last=place, share=min(found[-1].share, share))
        else:
            found.append(Segment(place, place, label, share))
        open_label = label if kind in ("B", "I") else ""
    return found


def _is_plain(label: str) -> bool:
    """Return whether a tag has no color, like those of punctuation and of words without a label."""
    return label in (*NONE, "PUNCT") or not any(map(str.isalpha, label))


def colour_of(label: str) -> str:
    """Return the color of a tag, which is the same in every figure and dark enough for text on white paper."""
    number = 0
    for character in label:
        number = (31 * number + ord(character)) % 65521
    return QUIET if _is_plain(label) else _TONE_OF.get(label) or list(TONES)[number % len(TONES)]


def draw_tags(
    words: Sequence[str],
    tags: Sequence[str],
    shares: Sequence[float] | np.ndarray | None = None,
    *,
    title: str | None = None,
) -> Figure:
    """Draw words as running text, each above its tag; the words of a segment (`B-NP I-NP`) share a label.

    Less probable tags are paler, and their probability is printed if it is below 0.9. At most 400 words are shown.

    Args:
        words: The words of the text, in order.
        tags: One tag for each word.
        shares: The probability of each tag; by default 1 for all of them.
        title: A sentence above the figure.

    >>> figure = draw_tags(["the", "dog", "barked"], ["DET", "NOUN", "VERB"], [0.99, 0.95, 0.6])
    """
    if len(tags) != len(words):
        raise ValueError(f"tags: expected {len(words)}, one for each word. Received: {len(tags)}")
    sure = np.ones(len(words)) if shares is None else np.asarray(shares, float)
    if sure.shape != (len(words),) or not ((sure >= -1e-3) & (sure <= 1 + 1e-3)).all():
        raise ValueError(f"shares: expected {len(words)} numbers from 0 to 1. Received: {sure!r:.80}")
    if not len(words):
        return empty_answer(title)
    segments = segments_of(tags[:MOST], sure.clip(0, 1).tolist()[:MOST])
    pieces = _pieces([make_legible(word) for word in words[:MOST]], segments)
    places = flow([piece.width for piece in pieces], _ROOM, _GAP)

    notes = [f"\u2026 and {len(words) - MOST} more words"] if len(words) > MOST else []
    notes += ["paler: less certain (with probability)"] if any(piece.segment.share < _SURE for piece in pieces) else []
    used = max(x + piece.width for piece, (x, _) in zip(pieces, places, strict=True))
    width = 2 * MARGIN + max(used, _NARROWEST if title or notes else 0)
    sheet = Sheet(width, _LINE * (places[-1][1] + 1) + _NOTE * bool(notes), title)
    for piece, (x, line) in zip(pieces, places, strict=True):
        _draw(sheet.axes, piece, MARGIN + x, sheet.top - _LINE * line - 0.05 - _BOX)
    if notes:
        sheet.axes.text(MARGIN, MARGIN, "; ".join(notes), **text_style(9, QUIET, va="bottom"))
    return sheet.figure


class _Piece(NamedTuple):
    """A segment, or the part of it that fits on a line."""

    segment: Segment
    label: str
    words: list[str]
    cells: list[float]  # widths

    @property
    def width(self) -> float:
        return sum(self.cells) + _SPACE * (len(self.cells) - 1) + 2 * _PAD

    def at_least(self, width: float) -> "_Piece":
        """Return the piece with cells wide enough for its label."""
        missing = max(width + 2 * _PAD - self.width, 0) / len(self.cells)
        return self._replace(cells=[cell + missing for cell in self.cells])


def _pieces(words: Sequence[str], segments: Sequence[Segment]) -> list[_Piece]:
    measured, pieces = widths(words, _SIZE), []
    for segment in segments:
        lines = [line for _, line in flow(measured[segment.first : segment.last + 1], _ROOM - 2 * _PAD, _SPACE)]
        for line in range(lines[-1] + 1):
            here = [segment.first + index for index, its_line in enumerate(lines) if its_line == line]
            label = ("\u2026 " if line else "") + _label(segment) + (" \u2026" if line < lines[-1] else "")
            pieces.append(_Piece(segment, label, [words[place] for place in here], [measured[place] for place in here]))
    wide = widths([piece.label for piece in pieces], _LABEL_SIZE)
    return [piece.at_least(width) for piece, width in zip(pieces, wide, strict=True)]


def _label(segment: Segment) -> str:
    if segment.label in NONE and segment.share >= _SURE:
        return ""
    label = make_legible(segment.label)
    return label if segment.share >= _SURE else f"{label} {segment.share:.2f}"


def _draw(axes: Axes, piece: _Piece, x: float, y: float) -> None:
    colour, share = colour_of(piece.segment.label), piece.segment.share
    if not _is_plain(piece.segment.label):
        shape = FancyBboxPatch((x, y), piece.width, _BOX, boxstyle="round,pad=0,rounding_size=0.05", linewidth=0)
        shape.set(facecolor=colour, alpha=0.05 + 0.2 * share**2)
        axes.add_patch(shape)
    style = text_style(_LABEL_SIZE, colour, ha="center", va="baseline")
    weight = "bold" if share >= _SURE and not _is_plain(piece.segment.label) else "normal"
    axes.text(x + piece.width / 2, y - 0.13, piece.label, fontweight=weight, **style)
    x += _PAD
    for word, cell in zip(piece.words, piece.cells, strict=True):
        axes.text(x + cell / 2, y + 0.085, word, **text_style(_SIZE, INK, ha="center", va="baseline"))
        x += cell + _SPACE
