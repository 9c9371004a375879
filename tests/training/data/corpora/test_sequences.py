"""Sort, copy and recall: correct answers by independent rules, disjoint splits, lengths."""

import itertools
from collections import Counter

import pytest

from seqattn_tf.training.data.corpora import sequences


def is_right(task, text, target):
    read, said = text.split(), target.split()
    if task == "sort":
        rising = all(int(a) <= int(b) for a, b in itertools.pairwise(said))
        return Counter(read) == Counter(said) and rising
    if task == "copy":
        return len(read) == len(said) and all(a == b for a, b in zip(read, said, strict=True))
    *items, mark, asked = read
    return mark == "?" and len(set(items)) == len(items) and (asked, *said) in itertools.pairwise(items)


@pytest.mark.parametrize("task", sorted(sequences.TASKS))
def test_answers_are_right_and_no_example_is_in_two_parts(task):
    splits = sequences.load(task, max_length=6, train=400, held=60, seed=3)
    parts = {part: {example.key for example in getattr(splits, part)} for part in ("train", "dev", "test")}
    for part in parts:
        examples = getattr(splits, part)
        assert all(is_right(task, example.inputs["text"], example.target) for example in examples)
        assert len(parts[part]) == len(examples)
    assert not parts["train"] & parts["dev"]
    assert not (parts["train"] | parts["dev"]) & parts["test"]


def test_parts_are_apart_where_there_are_only_a_hundred_texts():
    splits = sequences.load("copy", max_length=2, train=1000, held=400)
    train, dev = ({example.key for example in part} for part in (splits.train, splits.dev))
    test = {example.key for example in splits.test if len(example.key) == 3}
    assert not train & dev | train & test | dev & test
    assert len(train | dev | test) > 90


@pytest.mark.parametrize("task", sorted(sequences.TASKS))
def test_lengths(task):
    splits = sequences.load(task, max_length=6, train=600, held=60)

    def length(example):
        words = len(example.key.split())
        return words - 2 if task == "recall" else words

    assert {length(example) for example in splits.train} == set(range(2 if task == "recall" else 1, 7))
    assert {length(example) for example in splits.dev} == {3, 4, 5, 6}
    tested = Counter(map(length, splits.test))
    assert set(tested) == {3, 4, 5, 6, 9, 12, 24}
    assert tested[24] == 60 // 7
    assert all(splits.notes[example.key] == str(length(example)) for example in (*splits.dev, *splits.test))


def test_one_seed_gives_one_set():
    one, same, other = (sequences.load("copy", train=50, held=10, seed=seed) for seed in (0, 0, 1))
    assert one.fingerprint == same.fingerprint != other.fingerprint


def test_faults_are_said():
    with pytest.raises(ValueError, match=r"task: expected one of \['copy', 'recall', 'sort'\]\. Received: 'shuffle'"):
        sequences.load("shuffle")
    with pytest.raises(ValueError, match=r"max_length: expected a number from 2 to 1000000 for copy\. Received: 1"):
        sequences.load("copy", max_length=1)
    with pytest.raises(ValueError, match=r"max_length: expected a number from 2 to 26 for recall\. Received: 27"):
        sequences.load("recall", max_length=27)
    assert set(sequences.load("recall", max_length=20, train=20, held=20).notes.values()) >= {"20", "26"}
