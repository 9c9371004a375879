"""Toy tasks over sequences of numbers, which an exact rule solves at every length.

sum      "3 1 4"    -> "8"
compare  "3:5 1:0"  -> "second"   whose total is larger, the first or the second of each step; or "same"
parity   "1 0 1 1"  -> "odd"      the number of ones
"""

import random

from seqattn_tf.training.data.examples import Example, Splits, from_text


def _sum(digits: list[int], rng: random.Random) -> Example:
    return from_text(" ".join(map(str, digits)), str(sum(digits)))


def _compare(digits: list[int], rng: random.Random) -> Example:
    others = [rng.randrange(10) for _ in digits]
    if rng.random() < 0.2:  # the same in another order: by chance alone "same" is too rare to learn
        others = rng.sample(digits, len(digits))
    difference = sum(digits) - sum(others)
    answer = "same" if difference == 0 else "first" if difference > 0 else "second"
    return from_text(" ".join(f"{a}:{b}" for a, b in zip(digits, others, strict=True)), answer)


def _parity(digits: list[int], rng: random.Random) -> Example:
    bits = [digit % 2 for digit in digits]
    return from_text(" ".join(map(str, bits)), "odd" if sum(bits) % 2 else "even")


TASKS = {"sum": _sum, "compare": _compare, "parity": _parity}


def make(task: str, count: int, longest: int, seed: int, shortest: int = 1) -> list[Example]:
    """Random examples of a task, all lengths from `shortest` to `longest` equally often.

    >>> [(example.key, example.target) for example in make("sum", 2, longest=4, seed=0)]
    [('6 2 6', '14'), ('5', '5')]
    """
    if task not in TASKS:
        raise ValueError(f"task: expected one of {sorted(TASKS)}. Received: {task!r}")
    if not 1 <= shortest <= longest:
        raise ValueError(f"shortest, longest: expected 1 <= shortest <= longest. Received: {shortest}, {longest}")
    rng = random.Random(f"{task} {seed}")
    return [TASKS[task]([rng.randrange(10) for _ in range(rng.randint(shortest, longest))], rng) for _ in range(count)]


def load(task: str, longest: int = 10, *, train: int = 20_000, held: int = 1_000, seed: int = 0) -> Splits:
    """Splits by length: `train` up to `longest`, `dev` longer, up to twice that, `test` exactly four times that."""
    return Splits(
        make(task, train, longest, seed),
        make(task, held, 2 * longest, seed, shortest=longest + 1),
        make(task, held, 4 * longest, seed, shortest=4 * longest),
        f"{task} of up to {longest} numbers, dev up to {2 * longest}, test {4 * longest}, seed {seed}",
    )
