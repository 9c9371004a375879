"""Small programs and what they print, by length and nesting, and curricula over both.

    length   the numbers in a program are drawn uniformly from 1 to 10^length - 1
    nesting  the number of composed operations: sums, differences, products with a small number, conditional
             expressions, assignments, loops

After Zaremba and Sutskever, "Learning to Execute" (2014). A program is one text that may contain line feeds; its
symbols are characters. Programs are split by their hash: those in `dev` or `test` never occur in `train`, regardless
of the seed.
"""

import functools
import random
from collections.abc import Callable, Iterator
from string import ascii_lowercase

from seqattn_tf.training.data.examples import Example, Splits, from_text, share

Draw = Callable[[float, random.Random], tuple[int, int]]

CURRICULA = ("baseline", "naive", "mix", "combined")
_PARTS = {"dev": (0.0, 0.05), "test": (0.05, 0.15), "train": (0.15, 1.0)}  # ranges of hashes
_NAMES = ascii_lowercase.replace("x", "")  # x is the loop variable
_REUSE = 0.25  # the probability that an operand is an earlier variable, if there is one
_TRIES = 1000  # attempts before the programs of a kind are considered exhausted


class _Writer:
    """A program under construction: the lines so far, and the expression that the next operation uses."""

    def __init__(self, length: int, rng: random.Random) -> None:
        self.rng = rng
        self.largest, self.few = 10**length - 1, 4 * length
        self.lines: list[str] = []
        self.variables: dict[str, int] = {}
        self.value = self.number()
        self.text = str(self.value)
        self.bare = True  # whether the text needs no brackets inside another expression

    def number(self) -> int:
        """Return a number from 1 to the largest. (`randrange` would take most of the running time.)"""
        return int(self.rng.random() * self.largest) + 1

    def small(self) -> int:
        return int(self.rng.random() * self.few) + 1

    def operand(self) -> tuple[str, int]:
        others = [name for name in self.variables if name != self.text]
        if others and self.rng.random() < _REUSE:
            name = self.rng.choice(others)
            return name, self.variables[name]
        number = self.number()
        return str(number), number

    def inner(self) -> str:
        return self.text if self.bare else f"({self.text})"

    def become(self, text: str, value: int) -> None:
        self.text, self.value, self.bare = text, value, False

    def name_it(self) -> str:
        """Assign the expression to a new variable, which becomes the expression; return its name."""
        name = self.rng.choice([name for name in _NAMES if name not in self.variables])
        self.lines.append(f"{name}={self.text}")
        self.variables[name] = self.value
        self.text, self.bare = name, True
        return name

    # The operations. Each one replaces the expression by one that contains it.

    def add(self) -> None:
        text, value = self.operand()
        first, second = (self.inner(), text) if self.rng.random() < 0.5 else (text, self.inner())
        self.become(f"{first}+{second}", self.value + value)

    def subtract(self) -> None:
        text, value = self.operand()
        if self.rng.random() < 0.5:
            self.become(f"{self.inner()}-{text}", self.value - value)
        else:
            self.become(f"{text}-{self.inner()}", value - self.value)

    def multiply(self) -> None:
        factor = self.small()
        first, second = (self.inner(), factor) if self.rng.random() < 0.5 else (factor, self.inner())
        self.become(f"{first}*{second}", self.value * factor)

    def choose(self) -> None:
        """Make `a if b<c else d`, where the expression is any of `a`, `b` and `d`."""
        parts = [self.operand() for _ in range(4)]
        parts[self.rng.choice((0, 1, 3))] = (self.inner(), self.value)
        (yes, yes_value), (left, left_value), (right, right_value), (no, no_value) = parts
        sign = self.rng.choice("<>")
        holds = left_value < right_value if sign == "<" else left_value > right_value
        self.become(f"{yes} if {left}{sign}{right} else {no}", yes_value if holds else no_value)

    def assign(self) -> None:
        self.name_it()

    def loop(self) -> None:
        name, times = self.name_it(), self.small()
        text, value = self.operand()
        sign = self.rng.choice("+-")
        self.lines.append(f"for x in range({times}):{name}{sign}={text}")
        self.value += times * value if sign == "+" else -times * value
        self.variables[name] = self.value


_OPERATIONS = (_Writer.add, _Writer.subtract, _Writer.multiply, _Writer.choose, _Writer.assign, _Writer.loop)


def program(length: int, nesting: int, rng: random.Random) -> tuple[str, str]:
    """Return a random program and what it prints.

    >>> program(2, 2, random.Random(1))
    ('print(47 if (14+26)>21 else 49)', '47')
    """
    _positive(length=length, nesting=nesting)
    if nesting > len(_NAMES):  # each operation may need a variable
        raise ValueError(f"nesting: expected at most {len(_NAMES)}. Received: {nesting}")
    writer = _Writer(length, rng)
    for _ in range(nesting):
        rng.choice(_OPERATIONS)(writer)
    return "\n".join([*writer.lines, f"print({writer.text})"]), str(writer.value)


def curriculum(name: str, length: int, nesting: int, climb: float = 0.75) -> Draw:
    """Return a function `draw(fraction, rng)` that draws the difficulty of a program at a fraction of training.

    Args:
        name: `baseline` is always the full difficulty. `naive` proceeds in steps: through all lengths, then through all
            lengths with one more nesting, and so on. `mix` is any difficulty up to the full one. `combined` chooses
            `naive` or `mix` with equal probability.
        length: The maximum length.
        nesting: The maximum nesting.
        climb: The fraction of training after which `naive` reaches the full difficulty.

    >>> draw = curriculum("naive", length=2, nesting=2, climb=1.0)
    >>> [draw(fraction, random.Random()) for fraction in (0.0, 0.25, 0.5, 0.99)]
    [(1, 1), (2, 1), (1, 2), (2, 2)]
    """
    _positive(length=length, nesting=nesting)
    if not 0 < climb <= 1:
        raise ValueError(f"climb: expected a fraction above 0 and at most 1. Received: {climb}")
    steps = [(digits, depth) for depth in range(1, nesting + 1) for digits in range(1, length + 1)]

    def naive(fraction: float, rng: random.Random) -> tuple[int, int]:
        rise = len(steps) - (climb < 1)  # the last step takes the rest of training
        return steps[min(int(fraction / climb * rise), len(steps) - 1)]

    def mix(fraction: float, rng: random.Random) -> tuple[int, int]:
        return rng.randint(1, length), rng.randint(1, nesting)

    def combined(fraction: float, rng: random.Random) -> tuple[int, int]:
        return (naive if rng.random() < 0.5 else mix)(fraction, rng)

    plans = {"baseline": lambda fraction, rng: (length, nesting), "naive": naive, "mix": mix, "combined": combined}
    if name not in plans:
        raise ValueError(f"curriculum: expected one of {CURRICULA}. Received: {name!r}")
    return plans[name]


def pairs(
    count: int, draw: Draw, seed: int, *, part: str = "train", start: float = 0.0, stop: float = 1.0
) -> list[Example]:
    """Return programs and their outputs in curriculum order, for the fractions `start` to `stop` of training.

    >>> pairs(1, curriculum("baseline", 1, 1), seed=2)
    [Example(key='print(9+1)', inputs={'text': 'print(9+1)'}, target='10')]
    """
    _positive(count=count)
    rng = random.Random(seed)
    found: list[Example] = []
    while len(found) < count:
        length, nesting = draw(start + (stop - start) * len(found) / count, rng)
        found.append(_next(functools.partial(program, length, nesting, rng), part))
    return found


def grid(
    count: int, length: int, nesting: int, seed: int = 0, part: str = "test"
) -> dict[tuple[int, int], list[Example]]:
    """Return `count` distinct programs for every `(length, nesting)` up to the maximum, for evaluation."""
    _positive(count=count, length=length, nesting=nesting)
    rng = random.Random(seed)
    seen: set[str] = set()
    cells = [(digits, depth) for digits in range(1, length + 1) for depth in range(1, nesting + 1)]
    return {cell: list(_distinct(count, functools.partial(program, *cell, rng), part, seen)) for cell in cells}


def sums(count: int, digits: int, seed: int = 0, part: str = "test") -> list[Example]:
    """Return one-line sums of two numbers with this many digits, without duplicates; fewer if not enough of them exist.

    >>> sums(1, 3)
    [Example(key='print(356+645)', inputs={'text': 'print(356+645)'}, target='1001')]
    """
    _positive(count=count, digits=digits)
    rng = random.Random(seed)

    def one() -> tuple[str, str]:
        first, second = (rng.randrange(10 ** (digits - 1), 10**digits) for _ in range(2))
        return f"print({first}+{second})", str(first + second)

    return list(_distinct(count, one, part, set()))


def load(
    name: str = "combined", length: int = 3, nesting: int = 3, *, train: int = 200_000, held: int = 2_000, seed: int = 0
) -> Splits:
    """Return splits: `train` in curriculum order; `dev` and `test` with about `held` programs of all difficulties."""
    drawn = pairs(train, curriculum(name, length, nesting), seed)
    every = max(held // (length * nesting), 1)
    grids = (grid(every, length, nesting, seed + 1, part) for part in ("dev", "test"))
    held_out = [(cell, made) for cells in grids for cell, made in cells.items()]
    notes = {example.key: f"length {cell[0]}, nesting {cell[1]}" for cell, made in held_out for example in made}
    dev, test = (
        [example for _, made in part for example in made]
        for part in (held_out[: len(held_out) // 2], held_out[len(held_out) // 2 :])
    )
    return Splits(drawn, dev, test, f"programs of length {length}, nesting {nesting}, {name}, seed {seed}", notes)


def _next(make: Callable[[], tuple[str, str]], part: str, seen: set[str] | frozenset[str] = frozenset()) -> Example:
    """Return the next program that belongs to the part and is not in `seen`."""
    if part not in _PARTS:
        raise ValueError(f"part: expected one of {sorted(_PARTS)}. Received: {part!r}")
    least, most = _PARTS[part]
    for _ in range(_TRIES):
        text, printed = make()
        if least <= share(text) < most and text not in seen:
            return from_text(text, printed)
    raise LookupError(f"no more {part} programs")


def _distinct(count: int, make: Callable[[], tuple[str, str]], part: str, seen: set[str]) -> Iterator[Example]:
    for _ in range(count):
        try:
            example = _next(make, part, seen)
        except LookupError:
            return
        seen.add(example.key)
        yield example


def _positive(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name}: expected at least 1. Received: {count}")
