r"""Pictures of formulas with their LaTeX, rendered when their batch is made.

    \frac { x _ { 1 } + 2 } { \sqrt { \alpha } } \leq \sum _ { i = 0 } ^ { n } y ^ { i }

Formulas have 5 to 40 symbols, with fractions, roots and scripts nested up to three deep. They are rendered in five
fonts and several sizes, at random places of a noisy page. No formula of one split occurs in another.
"""

import dataclasses
import functools
import random
import zlib

import numpy as np

from seqattn_tf.explain.formula import FONTS, render
from seqattn_tf.training.data.examples import Example, Splits, share
from seqattn_tf.training.data.stored import png_of

TALL, WIDE = 96, 416  # the size of a page in pixels
SHORTEST, LONGEST, DEEPEST = 5, 40, 3
_LETTERS = tuple("abcdefghijkmnpqrstuvwxyz")
_NAMES = ("alpha", "beta", "gamma", "delta", "theta", "lambda", "mu", "pi", "sigma", "phi", "omega")
_GREEK = tuple(f"\\{name}" for name in _NAMES)
_DIGITS = tuple("0123456789")
RELATIONS = ("=", "<", ">", r"\leq", r"\geq", r"\in", r"\to")
_OPERATORS = ("+", "-", r"\times", r"\cdot", r"\pm")
_FUNCTIONS = (r"\sin", r"\cos", r"\log")
_LARGE = (r"\sum", r"\int", r"\prod")
_OTHERS = (r"\infty", r"\partial")
_MARKS = (r"\frac", r"\sqrt", "^", "_", "{", "}", "(", ")")
SYMBOLS = (*_LETTERS, *_GREEK, *_DIGITS, *RELATIONS, *_OPERATORS, *_FUNCTIONS, *_LARGE, *_OTHERS, *_MARKS)
PARTS = {"dev": (0.0, 0.08), "test": (0.08, 0.2), "train": (0.2, 1.0)}  # ranges of hashes of formulas
_DEPTHS = (0, 1, 1, 1, 2, 2, 2, 3)  # the depth of a formula is drawn from these
_SIZES = (17.0, 22.0)  # points; the smallest script of a script is still five pixels high
_NESTS = ("frac", "sqrt", "sup", "sub", "both", "large")


class _Grammar:
    """A grammar of random formulas, determined by the state of the generator."""

    def __init__(self, generator: random.Random) -> None:
        self.generator = generator

    def formula(self, depth: int = DEEPEST) -> list[str]:
        """Return a sum, or a relation between two sums."""
        sides = 1 + (self.generator.random() < 0.4)
        found = self.sum(depth)
        for _ in range(sides - 1):
            found += [self.generator.choice(RELATIONS), *self.sum(depth)]
        return found

    def sum(self, depth: int) -> list[str]:
        """Return terms with operators between them."""
        found = self.term(depth)
        while self.generator.random() < 0.45:
            found += [self.generator.choice(_OPERATORS), *self.term(depth)]
        return found

    def term(self, depth: int) -> list[str]:
        """Return a symbol, or a construct such as a fraction, a root or a symbol with scripts."""
        kind = self.generator.random()
        if depth == 0 or kind < 0.35:
            return [self.atom()]
        if kind < 0.45:
            return ["(", *self.sum(depth - 1), ")"]
        if kind < 0.52:
            return [self.generator.choice(_FUNCTIONS), *self.term(depth - 1)]
        return getattr(self, f"_{self.generator.choice(_NESTS)}")(depth - 1)

    def atom(self) -> str:
        """Return a single symbol, more often a letter than a digit."""
        pools = (_LETTERS, _LETTERS, _DIGITS, _GREEK, _OTHERS if self.generator.random() < 0.3 else _LETTERS)
        return self.generator.choice(self.generator.choice(pools))

    def _frac(self, depth: int) -> list[str]:
        return [r"\frac", "{", *self.sum(depth), "}", "{", *self.sum(depth), "}"]

    def _sqrt(self, depth: int) -> list[str]:
        return [r"\sqrt", "{", *self.sum(depth), "}"]

    def _sup(self, depth: int) -> list[str]:
        return [self.atom(), "^", "{", *self.sum(min(depth, 1)), "}"]

    def _sub(self, depth: int) -> list[str]:
        return [self.atom(), "_", "{", self.atom(), "}"]

    def _both(self, depth: int) -> list[str]:
        return [*self._sub(depth), "^", "{", self.atom(), "}"]

    def _large(self, depth: int) -> list[str]:
        low, high = self.generator.choice(_LETTERS), self.generator.choice((*_LETTERS, r"\infty"))
        sign = self.generator.choice(_LARGE)
        return [sign, "_", "{", low, "=", self.generator.choice(_DIGITS), "}", "^", "{", high, "}", *self.term(depth)]


def depth_of(tokens: list[str]) -> int:
    r"""Return how deep braces are nested.

    >>> depth_of(r"\frac { x _ { 1 } } { 2 }".split())
    2
    """
    depth = deepest = 0
    for token in tokens:
        depth += (token == "{") - (token == "}")
        deepest = max(deepest, depth)
    return deepest


@dataclasses.dataclass(frozen=True)
class Formula:
    """A picture that is rendered when it is read.

    >>> draw(3).read()[:4]
    b'\\x89PNG'
    """

    latex: str
    number: int  # seed of the appearance: font, size, position and noise

    def pixels(self) -> np.ndarray:
        """Return the picture: `[y, x, 3]` from 0 to 255."""
        generator = np.random.default_rng(self.number)
        ink = _ink(self.latex, round(float(generator.uniform(*_SIZES)), 1), FONTS[generator.integers(len(FONTS))])
        height, width = ink.shape
        top, left = generator.integers(TALL - height + 1), generator.integers(min(WIDE - width, 40) + 1)
        page = np.zeros([TALL, WIDE])
        page[top : top + height, left : left + width] = ink / 255
        ground, dark = generator.uniform(215, 255), generator.uniform(0, 90)
        found = ground + (dark - ground) * page + generator.normal(0, generator.uniform(0, 12), page.shape)
        return np.repeat(np.clip(found, 0, 255).astype(np.uint8)[..., None], 3, axis=2)

    def read(self) -> bytes:
        """Return the bytes of a PNG file."""
        return png_of(self.pixels())


def _ink(latex: str, size: float, font: str) -> np.ndarray:
    """Return the rendered formula, reduced in size if it does not fit on a page."""
    width, packed = _packed(latex, size, font)
    return np.frombuffer(zlib.decompress(packed), np.uint8).reshape(-1, width)


@functools.lru_cache(maxsize=100_000)
def _packed(latex: str, size: float, font: str) -> tuple[int, bytes]:
    """Return the width and the compressed pixels of a formula.

    Rendering takes ten times as long as everything else and is needed in every epoch, so the result is cached.
    """
    while True:
        found = render(latex, size, font)
        if found.shape[0] <= TALL and found.shape[1] <= WIDE:
            return found.shape[1], zlib.compress(found.tobytes())
        size *= 0.9


def draw(number: int, part: str = "train") -> Formula:
    """Return the formula with this number in a part."""
    generator = random.Random(f"{part}/{number}")
    grammar, depth = _Grammar(generator), generator.choice(_DEPTHS)
    low, high = PARTS[part]
    while True:
        tokens = grammar.formula(min(depth + 1, DEEPEST))
        latex = " ".join(tokens)
        if SHORTEST <= len(tokens) <= LONGEST and depth_of(tokens) == depth and low <= share(latex) < high:
            return Formula(latex, zlib.crc32(f"{part}/{number}".encode()))


def load(train: int = 40_000, held: int = 1_000, seed: int = 0) -> Splits:
    """Return formulas, each in one split only; the notes contain their length and depth."""
    parts: dict[str, list[Example]] = {}
    notes = {}
    for part, count in (("train", train), ("dev", held), ("test", held)):
        parts[part] = []
        for number in range(seed * count, (seed + 1) * count):
            formula, key = draw(number, part), f"{part}/{number}"
            tokens = formula.latex.split()
            notes[key] = f"{len(tokens)} {depth_of(tokens)}"
            parts[part].append(Example(key, {"image": formula}, formula.latex))
    return Splits(parts["train"], parts["dev"], parts["test"], "formulas (generated)", notes)
