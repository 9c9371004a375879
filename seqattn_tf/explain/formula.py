"""Formulas as pictures, by matplotlib's mathtext."""

import functools
import threading

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser

FONTS = ("cm", "dejavusans", "dejavuserif", "stix", "stixsans")
DPI = 100
_ONE = threading.Lock()  # mathtext's parser reads one formula at a time


@functools.lru_cache(maxsize=1)
def _parser() -> MathTextParser:
    return MathTextParser("agg")


def render(formula: str, size: float = 12.0, font: str = FONTS[0]) -> np.ndarray:
    r"""A formula of LaTeX as ink from 0 to 255, `[y, x]`.

    Raises:
        ValueError: it is none that can be read.

    >>> render(r"\frac { x } { 2 }").ndim
    2
    """
    style = FontProperties(size=size, math_fontfamily=font)
    try:
        with _ONE:
            found = _parser().parse(f"${_close(formula)}$", dpi=DPI, prop=style)
    except (ValueError, RuntimeError) as error:
        raise ValueError(f"formula: expected LaTeX that can be read. Received: {formula!r:.80}") from error
    return np.asarray(found.image, np.uint8)


def _close(formula: str) -> str:
    """Symbols without spaces between them, which mathtext takes scripts apart by; but after the name of a command."""
    return "".join(token + " " if token[:1] == "\\" else token for token in formula.split())


def looks_alike(first: str, second: str) -> bool:
    """Whether two formulas are one when they are rendered; what cannot be read is like nothing.

    >>> looks_alike("x _ { 1 } ^ { 2 }", "x ^ { 2 } _ { 1 }"), looks_alike("x", "y"), looks_alike("x", "{")
    (True, False, False)
    """
    try:
        one, other = render(first), render(second)
    except ValueError:
        return False
    return one.shape == other.shape and bool((one == other).all())
