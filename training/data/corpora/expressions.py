"""Nested expressions, to be converted from prefix to infix notation.

    ( * ( + 3 7 ) 1 )   ->   ( ( 3 + 7 ) * 1 )

The output has one symbol for each input symbol, except that the operator of three operands occurs twice. The position
of an output symbol depends on an operator far to its left in the input, its parent in the tree.
"""

import random

from seqattn_tf.training.data.examples import Example, Splits, from_text, share

_OPERATORS = ("+", "-", "*", "/")
_OPERANDS = tuple(map(str, range(10)))
_SHALLOW, _DEEP = 2, 12  # almost all deeper ones are too long
_PARTS = {"dev": (0.0, 0.1), "test": (0.1, 0.2), "train": (0.2, 1.0)}  # ranges of hashes
_NESTED = 0.25  # the probability that an operand next to the deepest one is nested, too
_LARGEST = 64  # the maximum number of input symbols


def draw(depth: int, rng: random.Random) -> tuple[str, str]:
    """Return a random expression of exactly this depth, in prefix and in infix notation.

    >>> draw(2, random.Random(0))
    ('( / ( * 4 7 3 ) 4 )', '( ( 4 * 7 * 3 ) / 4 )')
    """
    if depth == 0:
        operand = rng.choice(_OPERANDS)
        return operand, operand
    operator, count = rng.choice(_OPERATORS), rng.choice((2, 2, 3))
    deepest = rng.randrange(count)
    below = [
        draw(depth - 1 if place == deepest else rng.randrange(depth) if rng.random() < _NESTED else 0, rng)
        for place in range(count)
    ]
    before, between = zip(*below, strict=True)
    return f"( {operator} {' '.join(before)} )", f"( {f' {operator} '.join(between)} )"


def load(max_depth: int = 6, *, train: int = 15_000, held: int = 1_000, seed: int = 0) -> Splits:
    """Return expressions of depths from 2 on, all equally often, split by hash; the notes contain the depth of each."""
    if not _SHALLOW <= max_depth <= _DEEP:
        raise ValueError(f"max_depth: expected a number from {_SHALLOW} to {_DEEP}. Received: {max_depth}")
    counts = {"dev": held, "test": held, "train": train}
    notes: dict[str, str] = {}
    parts = {part: _part(counts[part], max_depth, _PARTS[part], f"{part} {seed}", notes) for part in counts}
    origin = f"expressions of depth {_SHALLOW} to {max_depth}, seed {seed}"
    return Splits(parts["train"], parts["dev"], parts["test"], origin, notes)


def _part(count: int, max_depth: int, hashes: tuple[float, float], seed: str, notes: dict[str, str]) -> list[Example]:
    rng, (low, high), depths = random.Random(seed), hashes, max_depth - _SHALLOW + 1
    found: list[Example] = []
    while len(found) < count:
        depth = _SHALLOW + len(found) % depths
        before, between = draw(depth, rng)
        if low <= share(before) < high and before.count(" ") < _LARGEST:
            found.append(from_text(before, between))
            notes[before] = str(depth)
    return found
