"""Toy tasks whose answer is a sequence of input symbols.

sort     "31 4 15"      -> "4 15 31"   the same numbers in order
copy     "c a b"        -> "c a b"     the same symbols
recall   "f b k t ? b"  -> "k"         the symbol that follows the given one: associative recall
"""

import random
import string
from collections.abc import Sequence

from seqattn_tf.training.data.examples import Example, Splits, from_text, share

_LARGEST = 99  # the largest number to sort
SYMBOLS = string.ascii_lowercase[:10]
_ITEMS = string.ascii_lowercase  # all items of an example are different
_ASKED = "?"  # precedes the item whose successor is the answer
_PARTS = {"dev": (0.0, 0.1), "test": (0.1, 0.2), "train": (0.2, 1.0)}  # ranges of hashes
_SHORTEST = 2  # the minimum length of held-out examples; there are too few single symbols
_BEYOND = (1.5, 2, 4)  # multiples of the longest training length that are also tested


def _sort(length: int, rng: random.Random) -> Example:
    found = [rng.randint(0, _LARGEST) for _ in range(length)]
    return from_text(" ".join(map(str, found)), " ".join(map(str, sorted(found))))


def _copy(length: int, rng: random.Random) -> Example:
    text = " ".join(rng.choices(SYMBOLS, k=length))
    return from_text(text, text)


def _recall(length: int, rng: random.Random) -> Example:
    items = rng.sample(_ITEMS, length)
    asked = rng.randrange(length - 1)
    return from_text(" ".join([*items, _ASKED, items[asked]]), items[asked + 1])


TASKS = {"sort": _sort, "copy": _copy, "recall": _recall}


def make(task: str, lengths: Sequence[int], part: str, seed: int) -> dict[str, tuple[int, Example]]:
    """Return random examples of these lengths that belong to a part, by their keys, each with its length.

    >>> {key: (length, example.target) for key, (length, example) in make("sort", [3, 2], "train", seed=0).items()}
    {'49 53 17': (3, '17 49 53'), '82 46': (2, '46 82')}
    """
    if task not in TASKS:
        raise ValueError(f"task: expected one of {sorted(TASKS)}. Received: {task!r}")
    rng, (least, most) = random.Random(f"{task} {part} {seed}"), _PARTS[part]
    found: dict[str, tuple[int, Example]] = {}
    for length in lengths:
        example = TASKS[task](length, rng)
        while not least <= share(example.key) < most:
            example = TASKS[task](length, rng)
        found[example.key] = length, example
    return found


def load(task: str, max_length: int = 10, *, train: int = 20_000, held: int = 1_000, seed: int = 0) -> Splits:
    """Return splits by hash: `train` has all lengths up to `max_length`, `dev` the upper half of them.

    The test split has the lengths of `dev` and some longer ones (`_BEYOND`), equally often; the notes contain the
    length of each example.
    """
    most = len(_ITEMS) if task == "recall" else 10**6
    if not _SHORTEST <= max_length <= most:
        raise ValueError(f"max_length: expected a number from {_SHORTEST} to {most} for {task}. Received: {max_length}")
    first = _SHORTEST if task == "recall" else 1  # nothing follows a single item
    within = list(range(max(max_length // 2, _SHORTEST), max_length + 1))
    tested = sorted({*within, *(min(int(times * max_length), most) for times in _BEYOND)})
    lengths = {
        "train": [first + i % (max_length - first + 1) for i in range(train)],
        "dev": [within[i % len(within)] for i in range(held)],
        "test": [length for length in tested for _ in range(max(held // len(tested), 1))],
    }
    made = {part: make(task, wanted, part, seed) for part, wanted in lengths.items()}
    parts = {part: [example for _, example in found.values()] for part, found in made.items()}
    notes = {key: str(length) for part in ("dev", "test") for key, (length, _) in made[part].items()}
    origin = f"{task} of up to {max_length}, tested up to {tested[-1]}, seed {seed}"
    return Splits(parts["train"], parts["dev"], parts["test"], origin, notes)
