"""Toy tasks whose answer is a sequence, made of what was read.

sort     "31 4 15"      -> "4 15 31"   the same numbers in order
copy     "c a b"        -> "c a b"     the same symbols
recall   "f b k t ? b"  -> "k"         what came after a symbol: associative recall, of items of one symbol
"""

import random
import string
from collections.abc import Sequence

from seqattn_tf.training.data.examples import Example, Splits, from_text, share

_LARGEST = 99  # of the numbers that are sorted
SYMBOLS = string.ascii_lowercase[:10]
_ITEMS = string.ascii_lowercase  # all different in one example
_ASKED = "?"  # stands before the item whose next is wanted
_PARTS = {"dev": (0.0, 0.1), "test": (0.1, 0.2), "train": (0.2, 1.0)}  # of the hashes
_SHORTEST = 2  # of what is held out: of a single symbol there are too few
_BEYOND = (1.5, 2, 4)  # how many times the longest training example a test example is, beside those of its lengths


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
    """Random examples of these lengths that belong to a part, by their keys, each with its length.

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


def load(task: str, longest: int = 10, *, train: int = 20_000, held: int = 1_000, seed: int = 0) -> Splits:
    """Splits by a hash: `train` of all lengths up to `longest`, `dev` of the upper half of them.

    The test split is of those lengths and of longer ones (`_BEYOND`), as many of each; the notes say how long each is.
    """
    most = len(_ITEMS) if task == "recall" else 10**6
    if not _SHORTEST <= longest <= most:
        raise ValueError(f"longest: expected from {_SHORTEST} to {most} for {task}. Received: {longest}")
    first = _SHORTEST if task == "recall" else 1  # there is nothing after a single item
    within = list(range(max(longest // 2, _SHORTEST), longest + 1))
    tested = sorted({*within, *(min(int(times * longest), most) for times in _BEYOND)})
    lengths = {
        "train": [first + i % (longest - first + 1) for i in range(train)],
        "dev": [within[i % len(within)] for i in range(held)],
        "test": [length for length in tested for _ in range(max(held // len(tested), 1))],
    }
    made = {part: make(task, wanted, part, seed) for part, wanted in lengths.items()}
    parts = {part: [example for _, example in found.values()] for part, found in made.items()}
    notes = {key: str(length) for part in ("dev", "test") for key, (length, _) in made[part].items()}
    origin = f"{task} of up to {longest}, tested up to {tested[-1]}, seed {seed}"
    return Splits(parts["train"], parts["dev"], parts["test"], origin, notes)
