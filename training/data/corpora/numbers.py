"""Toy tasks over sequences of numbers, each solved at every length by an exact rule.

sum      "3 1 4"    -> "8"
compare  "3:5 1:0"  -> "second"   which numbers of the pairs have the larger total, or "same"
parity   "1 0 1 1"  -> "odd"      the parity of the number of ones
"""

import random

from seqattn_tf.training.data.examples import Example, Splits, from_text


def _sum(digits: list[int], rng: random.Random) -> Example:
    return from_text(" ".join(map(str, digits)), str(sum(digits)))


def _compare(digits: list[int], rng: random.Random) -> Example:
    others = [rng.randrange(10) for _ in digits]
    if rng.random() < 0.2:  # the same digits in another order, because "same" would otherwise be too rare to learn
        others = rng.sample(digits, len(digits))
    difference = sum(digits) - sum(others)
    answer = "same" if difference == 0 else "first" if difference > 0 else "second"
    return from_text(" ".join(f"{a}:{b}" for a, b in zip(digits, others, strict=True)), answer)


def _parity(digits: list[int], rng: random.Random) -> Example:
    bits = [digit % 2 for digit in digits]
    return from_text(" ".join(map(str, bits)), "odd" if sum(bits) % 2 else "even")


TASKS = {"sum": _sum, "compare": _compare, "parity": _parity}


def make(task: str, count: int, max_length: int, seed: int, shortest: int = 1) -> list[Example]:
    """Return random examples of a task, with lengths drawn uniformly from `shortest` to `max_length`.

    >>> [(example.key, example.target) for example in make("sum", 2, max_length=4, seed=0)]
    [('6 2 6', '14'), ('5', '5')]
    """
    if task not in TASKS:
        raise ValueError(f"task: expected one of {sorted(TASKS)}. Received: {task!r}")
    if not 1 <= shortest <= max_length:
        raise ValueError(
            f"shortest, max_length: expected 1 <= shortest <= max_length. Received: {shortest}, {max_length}"
        )
    rng = random.Random(f"{task} {seed}")
    return [
        TASKS[task]([rng.randrange(10) for _ in range(rng.randint(shortest, max_length))], rng) for _ in range(count)
    ]


def load(task: str, max_length: int = 10, *, train: int = 20_000, held: int = 1_000, seed: int = 0) -> Splits:
    """Return splits by length: `train` up to `max_length`, `dev` longer, up to twice that, `test` four times that."""
    return Splits(
        make(task, train, max_length, seed),
        make(task, held, 2 * max_length, seed, shortest=max_length + 1),
        make(task, held, 4 * max_length, seed, shortest=4 * max_length),
        f"{task} of up to {max_length} numbers, dev up to {2 * max_length}, test {4 * max_length}, seed {seed}",
    )
