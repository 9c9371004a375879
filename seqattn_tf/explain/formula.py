"""Formulas rendered as images, by matplotlib's mathtext."""

import contextlib
import functools
import logging
import threading
from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser

FONTS = ("cm", "dejavusans", "dejavuserif", "stix", "stixsans")
_DPI = 100
_ONE = threading.Lock()  # mathtext's parser is not thread-safe


@functools.lru_cache(maxsize=1)
def _parser() -> MathTextParser:
    return MathTextParser("agg")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress mathtext's warnings about lines that do not fill their space."""
    log = logging.getLogger("matplotlib._mathtext")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def render(formula: str, size: float = 12.0, font: str = FONTS[0]) -> np.ndarray:
    r"""Render a LaTeX formula as ink from 0 to 255, `[y, x]`.

    Raises:
        ValueError: If the formula cannot be parsed.

    >>> render(r"\frac { x } { 2 }").ndim
    2
    """
    style = FontProperties(size=size, math_fontfamily=font)
    try:
        with _ONE, _quiet():
            found = _parser().parse(f"${_close(formula)}$", dpi=_DPI, prop=style)
    except (ValueError, RuntimeError) as error:
        raise ValueError(f"formula: expected LaTeX that matplotlib can render. Received: {formula!r:.80}") from error
    return np.asarray(found.image, np.uint8)


def _close(formula: str) -> str:
    """Remove spaces except after command names, because mathtext separates scripts at spaces."""
    return "".join(token + " " if token[:1] == "\\" else token for token in formula.split())


def formula_of(tokens: Sequence[str]) -> np.ndarray | None:
    r"""Render symbols that form a formula as an image `[y, x, 3]`; return None if they contain no LaTeX command.

    >>> formula_of(["a", "dog"]) is None, formula_of([r"\alpha", "^", "{", "2", "}"]).shape[2]
    (True, 3)
    """
    if not any((token[:1] == "\\" and token[1:].isalpha()) or token in ("^", "_") for token in tokens):
        return None
    try:
        ink = render(" ".join(tokens), 20)
    except ValueError:
        return None
    return np.repeat(255 - ink[..., None], 3, axis=2)


def looks_alike(first: str, second: str) -> bool:
    """Return whether two formulas are rendered identically; an invalid formula is not like any other.

    >>> looks_alike("x _ { 1 } ^ { 2 }", "x ^ { 2 } _ { 1 }"), looks_alike("x", "y"), looks_alike("x", "{")
    (True, False, False)
    """
    try:
        one, other = render(first), render(second)
    except ValueError:
        return False
    return one.shape == other.shape and bool((one == other).all())
