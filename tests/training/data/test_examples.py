"""Examples: their lines, the fingerprint of their splits, splits by key, and the number used for training."""

import dataclasses
import zlib

import pytest

from seqattn_tf.lite.text import Texts
from seqattn_tf.training.data import Example, Examples, Splits, from_text
from seqattn_tf.training.data.examples import group_targets, hold_out, hold_out_dev, share
from seqattn_tf.training.data.stored import Stored


def numbered(count):
    return [from_text(str(i), "x") for i in range(count)]


@pytest.mark.parametrize(
    ("example", "line"),
    [
        (from_text("cat", "K AE T"), "cat\tK AE T"),
        (Example("", {}, "to be or not"), "to be or not"),
        (Example("k", {"premise": "It rains.", "hypothesis": "It is wet."}, "yes"), "It rains.\tIt is wet.\tyes"),
        (Example("1.jpg", {"image": b"\x89PNG"}, "a dog"), "1.jpg\ta dog"),
        (Example("1.jpg", {"image": Stored("somewhere/else")}, "a dog"), "1.jpg\ta dog"),
        (Example("k", {"text": "a b"}, ["D", "N"]), "a b\t['D', 'N']"),
        (Example("k", {"text": "a"}, 5), "a\t5"),
    ],
)
def test_an_example_is_one_line(example, line):
    assert example.line == line


def test_the_fingerprint_is_the_checksum_of_all_lines():
    """The fingerprint of texts must never change, because models contain it."""
    parts = [[("cat", "K AE T"), ("a", "AH")], [("dog", "D AO G")], [("\u00e9t\u00e9", "EY T EY")]]
    raw = b"".join("".join("\t".join(pair) for pair in part).encode() + b"\n\n" for part in parts)
    splits = Splits(*([from_text(*pair) for pair in part] for part in parts), "made")
    assert splits.fingerprint == f"{zlib.crc32(raw):08x}"
    moved = Splits(splits.train[:1], [splits.train[1], *splits.dev], splits.test, "made")
    assert moved.fingerprint != splits.fingerprint
    assert Splits(splits.train, splits.dev, splits.test, "elsewhere").fingerprint == splits.fingerprint
    assert splits.at_most(0).fingerprint == splits.fingerprint


def test_hold_out_depends_on_the_key_alone():
    examples = numbered(2000)
    kept, held = hold_out(examples, 0.1)
    assert 120 < len(held) < 280
    assert hold_out(reversed(examples), 0.1)[1][::-1] == held
    assert len(kept) + len(held) == 2000
    assert all(share(example.key) < 0.1 for example in held)
    others = [Example(example.key, {"image": b""}, "y") for example in examples]
    assert [example.key for example in hold_out(others, 0.1)[1]] == [example.key for example in held]


def test_what_belongs_together_is_in_one_split():
    """Several captions of a picture, or several pictures with one key: the key determines the split, not the input."""
    examples = [Example(f"{i % 300}", {"text": f"caption {i}"}, str(i)) for i in range(1500)]
    kept, held = hold_out(examples, 0.2)
    assert held
    assert not {example.key for example in kept} & {example.key for example in held}
    assert len(held) % 5 == 0
    assert group_targets(held)[held[0].key] == [example.target for example in held if example.key == held[0].key]


def test_a_small_set_gives_more_to_development():
    assert len(hold_out_dev(numbered(100))[1]) == pytest.approx(20, abs=10)
    assert len(hold_out_dev(numbered(20_000))[1]) == pytest.approx(400, rel=0.2)


def test_at_most_so_many_are_trained_on_and_all_others_stay():
    splits = Splits(numbered(10), numbered(6), numbered(7), "made", {"1": "odd"}, labels=("low", "high"))
    few = splits.at_most(4)
    assert [list(part) for part in (few.train, few.dev, few.test)] == [numbered(4), numbered(6), numbered(7)]
    assert (few.origin, few.notes, few.labels) == ("made", {"1": "odd"}, ("low", "high"))
    assert dataclasses.replace(splits, labels=()).fingerprint == splits.fingerprint  # it depends on the examples only
    for count in (0, 10, 99):
        assert list(splits.at_most(count).train) == numbered(10)
    assert list(few.at_most(0).train) == numbered(4)
    assert all(isinstance(part, Examples) for part in (few.train, few.dev, few.test))


def test_columns_of_texts_remember_and_others_are_lists():
    rows = [Example("1", {"image": b"1", "text": "a b"}, "c"), Example("2", {"image": b"2", "text": "b"}, "d")]
    examples = Examples(rows)
    assert Examples.of(examples) is examples
    assert examples.inputs("text") is examples.inputs("text")
    assert isinstance(examples.inputs("text"), Texts)
    assert list(examples.inputs("text")) == ["a b", "b"]
    assert examples.inputs("image") == [b"1", b"2"]
    assert isinstance(examples.targets, Texts)
    assert (len(examples), examples[1], examples[:1], list(examples)) == (2, rows[1], rows[:1], rows)
    with pytest.raises(
        ValueError, match=r"examples: expected an input 'sound' in each\. Received: \['image', 'text'\]"
    ):
        examples.inputs("sound")
