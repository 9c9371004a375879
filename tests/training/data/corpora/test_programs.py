"""Programs compared with Python itself, curricula, and the toy tasks."""

import contextlib
import io
import random
from collections import Counter

import pytest

from seqattn_tf.training.data.corpora import numbers, programs
from seqattn_tf.training.data.examples import share


def printed(text):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(text, {})
    return out.getvalue().rstrip("\n")


def test_python_prints_what_we_say():
    rng = random.Random(0)
    kinds = dict.fromkeys(["+", "-", "*", " if ", "=", "for x in range("], 0)
    for _ in range(3000):
        length, nesting = rng.randint(1, 5), rng.randint(1, 5)
        text, answer = programs.program(length, nesting, rng)
        assert printed(text) == answer, text
        assert text.rpartition("\n")[2].startswith("print(")
        assert max(len(run) for run in "".join(c if c.isdigit() else " " for c in text).split()) <= max(length, 2)
        for kind in kinds:
            kinds[kind] += kind in text
    assert min(kinds.values()) > 500


def test_deepest_programs_and_their_limit():
    for seed in range(50):
        text, answer = programs.program(2, 25, random.Random(seed))
        assert printed(text) == answer
    with pytest.raises(ValueError, match=r"nesting: expected at most 25\. Received: 26"):
        programs.program(1, 26, random.Random(0))


def test_curricula():
    rng = random.Random(0)
    draws = {name: programs.curriculum(name, 3, 2) for name in programs.CURRICULA}
    everything = {(length, nesting) for length in (1, 2, 3) for nesting in (1, 2)}
    assert {draws["baseline"](f / 9, rng) for f in range(10)} == {(3, 2)}
    assert {draws["mix"](0.0, rng) for _ in range(500)} == everything
    climbed = [draws["naive"](f / 100, rng) for f in range(101)]
    assert list(dict.fromkeys(climbed)) == [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (3, 2)]
    assert set(climbed[75:]) == {(3, 2)}
    assert climbed[74] == (2, 2)
    early = [draws["combined"](0.0, rng) for _ in range(1200)]
    assert set(early) == everything
    assert 600 < early.count((1, 1)) < 800  # one half, and one sixth of the other half


def test_programs_follow_the_curriculum_and_repeat_by_seed():
    draw = programs.curriculum("naive", 4, 1)
    found = programs.pairs(400, draw, seed=1)
    assert found == programs.pairs(400, draw, seed=1)
    assert found != programs.pairs(400, draw, seed=2)
    early, late = (max(int(c) for p in half for c in _numbers(p.key)) for half in (found[:50], found[-50:]))
    assert early < 10 < 1000 < late
    last = programs.pairs(50, draw, seed=1, start=0.75, stop=1.0)
    assert max(int(c) for p in last for c in _numbers(p.key)) > 1000


def _numbers(text):
    return "".join(c if c.isdigit() else " " for c in text).split()


def test_no_program_is_in_two_splits():
    splits = programs.load("combined", 2, 2, train=5000, held=200)
    assert (len(splits.train), len(splits.dev), len(splits.test)) == (5000, 200, 200)
    sources = [{example.key for example in part} for part in (splits.train, splits.dev, splits.test)]
    assert len(sources[1]) == len(sources[2]) == 200
    assert not sources[0] & (sources[1] | sources[2])
    assert not sources[1] & sources[2]
    assert all(share(text) >= 0.15 for text in sources[0])


def test_grid_and_sums():
    cells = programs.grid(20, 2, 3)
    assert sorted(cells) == [(a, b) for a in (1, 2) for b in (1, 2, 3)]
    assert {len(cell) for cell in cells.values()} == {20}
    found = programs.sums(300, 3)
    assert len({example.key for example in found}) == 300
    for example in found:
        assert printed(example.inputs["text"]) == example.target
        assert [len(number) for number in _numbers(example.key)] == [3, 3]
    few = programs.sums(100, 1)  # about a tenth of all 81 sums is for the test split
    assert 1 < len(few) < 25


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: programs.program(0, 1, random.Random()), r"length: expected at least 1\. Received: 0"),
        (lambda: programs.pairs(0, programs.curriculum("mix", 1, 1), 0), r"count: expected at least 1"),
        (lambda: programs.curriculum("hard", 1, 1), r"curriculum: expected one of .*Received: 'hard'"),
        (lambda: programs.curriculum("mix", 1, 1, climb=0), r"climb: expected a fraction above 0"),
        (lambda: programs.sums(1, 2, part="all"), r"part: expected one of .*Received: 'all'"),
        (lambda: numbers.make("product", 1, 1, 0), r"task: expected one of .*Received: 'product'"),
        (lambda: numbers.make("sum", 1, 1, 0, shortest=2), r"shortest <= max_length\. Received: 2, 1"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def answer(task, source):
    cells = source.split()
    if task == "compare":
        first, second = (sum(int(cell.split(":")[i]) for cell in cells) for i in (0, 1))
        return {0: "same", 1: "first", -1: "second"}[(first > second) - (first < second)]
    total = sum(map(int, cells))
    return str(total) if task == "sum" else ["even", "odd"][total % 2]


@pytest.mark.parametrize("task", numbers.TASKS)
def test_toy_tasks_are_right_and_tested_at_four_times_the_length(task):
    splits = numbers.load(task, 5, train=2000, held=100)
    parts = (splits.train, splits.dev, splits.test)
    for part in parts:
        assert all(example.target == answer(task, example.key) for example in part)
        if task != "sum":
            assert min(Counter(example.target for example in part).values()) >= 5
    lengths = [{len(example.key.split()) for example in part} for part in parts]
    assert lengths == [{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}, {20}]
    assert splits.train == numbers.load(task, 5, train=2000, held=100).train
