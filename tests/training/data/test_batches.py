"""Batches: their contents, their order and their padding."""

import numpy as np
import pytest
import tensorflow as tf
from support.slow import slow

from seqattn_tf.inputs import graph_field
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.targets import Label, Number, Symbols
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import EncoderDecoder, Seq2Seq
from seqattn_tf.outputs import graph_target
from seqattn_tf.training.data import Example, Examples, from_text
from seqattn_tf.training.data.batches import Batching, Columns, Order, batches, plan

LETTERS = SymbolRules(tuple("abc"))
WORDS = ["ab", "b", "aabb", "", "abc", "ba", "cab", "bbbb", "a", "cc", "abcabc"]
BEGIN, END, FIRST = 1, 2, 3  # ids


def columns_of(rows, target=None):
    """Return columns of examples; each is a tuple of texts, with the inputs `a`, `b` and so on, and the target last."""
    *inputs, targets = zip(*rows, strict=True)
    fields = {
        name: graph_field(Text(LETTERS), name).column(list(texts)) for name, texts in zip("ab", inputs, strict=False)
    }
    says = graph_target(target or Symbols(LETTERS))
    return Columns(fields, says.column(list(targets)), says)


def spelled(row):
    return "".join("abc"[i - FIRST] for i in row if i >= FIRST)


def rows_in(data):
    """Return the rows of each batch as texts."""
    found = []
    for inputs, right in data:
        sides = [inputs[name].numpy() for name in sorted(inputs) if name.endswith("_ids")] + [right.numpy()]
        found.append([tuple(spelled(row) for row in rows) for rows in zip(*sides, strict=True)])
    return found


def shuffled(columns, size, seed=0, rows=None, epochs=range(1), step=0, **how):
    rows = np.arange(len(columns.target.lengths)) if rows is None else rows
    parts = how.pop("parts", 1)
    return Order(columns, rows, Batching(size, seed, **how), parts).batches(epochs, step)


@pytest.fixture(scope="module")
def spread():
    """The columns of 203 different examples with two inputs and a target, of many lengths."""
    rng = np.random.default_rng(0)
    made = set()
    while len(made) < 203:
        made.add(tuple("".join(rng.choice(list("abc"), rng.integers(1, 7))) for _ in range(3)))
    rows = sorted(made)
    rng.shuffle(rows)
    rows = [tuple(map(str, row)) for row in rows]
    return rows, columns_of(rows)


def test_a_model_has_a_column_for_each_input_and_one_for_its_target():
    network = EncoderDecoder.of_symbols(LETTERS.size, LETTERS.size, units=4, embedding=4)
    model = Seq2Seq(network, {"text": Text(LETTERS)}, Symbols(LETTERS))
    columns = Columns.of(model, Examples([from_text(word, word[::-1]) for word in WORDS]))
    assert list(columns.inputs) == ["text"]
    np.testing.assert_array_equal(columns.inputs["text"].lengths, [len(word) for word in WORDS])
    np.testing.assert_array_equal(columns.target.lengths, [len(word) for word in WORDS])
    inputs, right = columns.batch(tf.constant([2, 1]))
    assert inputs["text_ids"].numpy().tolist() == [[3, 3, 4, 4], [4, 0, 0, 0]]
    assert right.numpy().tolist() == [[4, 4, 3, 3, END], [4, END, 0, 0, 0]]
    assert inputs["shifted"].numpy().tolist() == [[BEGIN, 4, 4, 3, 3], [BEGIN, 4, END, 0, 0]]
    assert model.network(inputs).shape == (2, 5, LETTERS.size)
    with pytest.raises(ValueError, match=r"examples: expected an input 'text' in each\. Received: \['image'\]"):
        Columns.of(model, Examples([Example("a", {"image": b""}, "a")]))


def test_a_batch_is_padded_to_its_own_longest(spread):
    _, columns = spread
    widths = set()
    for inputs, right in shuffled(columns, 8, seed=1):
        assert right.shape == inputs["shifted"].shape
        assert (inputs["shifted"][:, 0].numpy() == BEGIN).all()
        np.testing.assert_array_equal(inputs["shifted"][:, 1:], right[:, :-1])
        for ids in (inputs["a_ids"], inputs["b_ids"], right):
            assert ids.numpy().any(axis=0).all()  # no column consists of padding only
            padding = ids.numpy() == 0
            assert (padding[:, 1:] >= padding[:, :-1]).all()  # no padding precedes a symbol
        lengths = (right.numpy() != 0).sum(axis=1)
        assert (right.numpy()[np.arange(8), lengths - 1] == END).all()
        widths.add((inputs["a_ids"].shape[1], inputs["b_ids"].shape[1], right.shape[1]))
    assert len(widths) > 10


def test_without_a_seed_every_example_comes_once_ordered_by_the_lengths_of_all_inputs_and_of_the_target(spread):
    rows, columns = spread
    found = rows_in(batches(columns, 8))
    assert [len(batch) for batch in found] == [8] * 25 + [3]
    assert [row for batch in found for row in batch] == sorted(rows, key=lambda row: tuple(map(len, row)))


def test_shuffled_batches_hold_examples_of_like_lengths(spread):
    """A batch is a range of the rows ordered by length, so the lengths of two batches overlap only at their ends."""
    _, columns = spread
    found = rows_in(shuffled(columns, 8, seed=7))
    keys = [sorted(tuple(map(len, row)) for row in batch) for batch in found]
    assert keys != sorted(keys)
    for before, after in zip(sorted(keys)[:-1], sorted(keys)[1:], strict=True):
        assert before[-1] <= after[0]


def test_shuffled_batches_change_every_epoch_and_repeat_by_seed(spread):
    rows, columns = spread
    data = rows_in(shuffled(columns, 8, seed=7, epochs=range(3)))
    epochs = [data[:25], data[25:50], data[50:]]
    for epoch in epochs:
        assert [len(batch) for batch in epoch] == [8] * 25
        seen = [row for batch in epoch for row in batch]
        assert len(set(seen)) == 200
        assert set(seen) <= set(rows)
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    assert rows_in(shuffled(columns, 8, seed=7)) == epochs[0]
    assert rows_in(shuffled(columns, 8, seed=8)) != epochs[0]


@pytest.mark.parametrize("how", [{}, slow({"by_length": False}), {"parts": 3}])
def test_any_step_can_be_gone_on_from(spread, how):
    _, columns = spread
    steps = 8 if how.get("parts") else 25
    data = rows_in(shuffled(columns, 8, seed=7, epochs=range(3), **how))
    assert len(data) == 3 * steps
    for epoch, step in ((2, steps - 1), (1, steps)):
        place = epoch * steps + step
        found = shuffled(columns, 8, seed=7, epochs=range(epoch, 3), step=step, **how)
        assert rows_in(found.take(9)) == data[place : place + 9]
    assert rows_in(shuffled(columns, 8, seed=7, epochs=range(3), step=3, **how)) == data[3:]


def test_parts_of_examples_that_stand_in_an_order(spread):
    rows, columns = spread
    data = rows_in(shuffled(columns, 8, seed=7, epochs=range(3), parts=3))
    for part in range(3):
        seen = [row for batch in data[part * 8 : part * 8 + 8] for row in batch]
        assert len(set(seen)) == 64
        assert set(seen) <= set(rows[part * 67 : part * 67 + 67])


def test_lengths_together_are_hardly_padded():
    generator = np.random.default_rng(0)
    columns = columns_of([("a" * n, "b" * n) for n in generator.integers(1, 9, 200)])
    padding = [float((inputs["a_ids"].numpy() == 0).mean()) for inputs, _ in shuffled(columns, 16, seed=7)]
    assert np.mean(padding) < 0.1


def test_every_example_gets_its_turn():
    """The remainder without a full batch is random, so over many epochs all rows are used almost equally often."""
    columns = columns_of([("a" * n, "b") for n in range(1, 36)])
    seen = np.zeros(36, int)
    epochs = 60
    for inputs, _ in shuffled(columns, 8, seed=3, epochs=range(epochs)):
        seen[(inputs["a_ids"].numpy() != 0).sum(axis=1)] += 1
    expected = epochs * 32 / 35
    assert seen[1:].min() > 0.8 * expected


def test_all_lengths_in_every_batch(spread):
    rows, columns = spread
    data = rows_in(shuffled(columns, 8, seed=5, rows=np.arange(200), by_length=False, epochs=range(2)))
    epochs = [data[:25], data[25:]]
    for epoch in epochs:
        assert sorted(row for batch in epoch for row in batch) == sorted(rows[:200])  # each once
        spreads = [np.ptp([len(row[0]) for row in batch]) for batch in epoch]
        assert np.mean(spreads) > 3  # of 5; ordered by length, a batch contains one or two lengths
    assert epochs[0] != epochs[1]


@pytest.mark.parametrize("by_length", [True, False])
def test_only_the_rows_that_are_meant(spread, by_length):
    rows, columns = spread
    chosen = np.array([5, 190, 17, 100, 3, 202, 44, 45])
    found = rows_in(shuffled(columns, 4, seed=2, rows=chosen, by_length=by_length))
    assert sorted(row for batch in found for row in batch) == sorted(rows[i] for i in chosen)


def test_labels_and_numbers_are_whole_and_teach_nothing():
    columns = columns_of([("ab", "yes"), ("a", "no"), ("abc", "no")], Label(("no", "yes")))
    [(inputs, right)] = batches(columns, 3)
    assert list(inputs) == ["a_ids"]
    assert right.numpy().tolist() == [0, 1, 0]  # of a, ab, abc
    [(_, right)] = batches(columns_of([("ab", "-2"), ("a", "7")], Number()), 2)
    assert right.numpy().tolist() == [[7.0], [-2.0]]


def test_fewer_examples_than_a_batch_and_none_at_all(spread):
    rows, columns = spread
    [only] = rows_in(shuffled(columns, 1000, seed=1))
    assert sorted(only) == sorted(rows)
    with pytest.raises(ValueError, match=r"examples: expected at least 1\. Received: 0"):
        shuffled(columns, 4, rows=np.array([], int))


def test_what_fills_no_batch_is_left_out_by_chance():
    """Neither the longest rows nor the last ones may be omitted in every epoch."""
    keys, cuts = tf.constant([5, 1, 4, 2, 3], tf.int64), tf.constant([0, 2, 4], tf.int64)
    left = []
    for epoch in range(40):
        found = plan(keys, cuts, tf.constant([0, epoch], tf.int64)).flat_values.numpy().tolist()
        left += set(range(5)) - set(found)
    assert len(left) == 40
    assert set(left) == set(range(5))
    assert max(map(left.count, range(5))) < 20
