"""Nested expressions, from operators before their operands to operators between them.

    ( * ( + 3 7 ) 1 )   ->   ( ( 3 + 7 ) * 1 )

What comes out has a symbol for each that goes in, but for operators of three operands, which are said twice: where a
symbol goes is decided by the operator far to its left, its parent in the tree.
"""

import random

from seqattn_tf.training.data.examples import Example, Splits, from_text, share

_OPERATORS = ("+", "-", "*", "/")
_OPERANDS = tuple(map(str, range(10)))
_SHALLOW, _DEEP = 2, 12  # deeper ones are too long, nearly all
_PARTS = {"dev": (0.0, 0.1), "test": (0.1, 0.2), "train": (0.2, 1.0)}  # of the hashes
_NESTED = 0.25  # how often an operand beside the deepest one is nested, too
_LARGEST = 64  # symbols of what goes in


def draw(depth: int, rng: random.Random) -> tuple[str, str]:
    """A random expression of exactly this depth: before, and between.

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


def load(deepest: int = 6, *, train: int = 15_000, held: int = 1_000, seed: int = 0) -> Splits:
    """Expressions of depths from 2 on, all equally often, parted by their hash; the notes say how deep each is."""
    if not _SHALLOW <= deepest <= _DEEP:
        raise ValueError(f"deepest: expected from {_SHALLOW} to {_DEEP}. Received: {deepest}")
    counts = {"dev": held, "test": held, "train": train}
    notes: dict[str, str] = {}
    parts = {part: _part(counts[part], deepest, _PARTS[part], f"{part} {seed}", notes) for part in counts}
    origin = f"expressions of depth {_SHALLOW} to {deepest}, seed {seed}"
    return Splits(parts["train"], parts["dev"], parts["test"], origin, notes)


def _part(count: int, deepest: int, hashes: tuple[float, float], seed: str, notes: dict[str, str]) -> list[Example]:
    rng, (low, high), depths = random.Random(seed), hashes, deepest - _SHALLOW + 1
    found: list[Example] = []
    while len(found) < count:
        depth = _SHALLOW + len(found) % depths
        before, between = draw(depth, rng)
        if low <= share(before) < high and before.count(" ") < _LARGEST:
            found.append(from_text(before, between))
            notes[before] = str(depth)
    return found
