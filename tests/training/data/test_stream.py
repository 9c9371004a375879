"""Batches of a corpus on disk: formed within windows, with each row once, and resumable at any step."""

import dataclasses
import itertools

import numpy as np
import pytest
import tensorflow as tf
from support.slow import slow

from seqattn_tf.training import recipes
from seqattn_tf.training.data import DataWarning, from_text, stream, windows
from seqattn_tf.training.data.batches import Batching, whole
from seqattn_tf.training.data.skipped import SkippedExamples
from seqattn_tf.training.data.sources import Source, split_sources
from seqattn_tf.training.tasks import base as tasks_base

SETTINGS = dataclasses.replace(
    recipes.get("translate").small,
    source_tokenizer="characters",
    target_tokenizer="characters",
    units=4,
    embedding=4,
    batch_size=16,
    epochs=3,
    max_source_length=9,
    max_target_length=9,
    max_length_ratio=0,
    vocabulary=0,
)


@pytest.fixture(scope="module")
def examples():
    rng = np.random.default_rng(0)
    words = {"".join(rng.choice(list("abcdef"), rng.integers(1, 10))) for _ in range(900)}
    return [from_text(str(word), str(word)[::-1]) for word in sorted(words)]


@pytest.fixture(scope="module", autouse=True)
def splits(examples, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(windows, "WINDOW", 1500)
        yield split_sources({"train": Source("made", lambda: iter(examples), 9000, "")}, "always")


def opened(splits, **changed):
    return recipes.get("translate").task.open(dataclasses.replace(SETTINGS, **changed), splits)


@pytest.fixture(scope="module")
def training(splits):
    return opened(splits)


def spelled(training, data):
    """Return each batch as the pairs in it."""
    read, said = training.model.inputs["text"].rules, training.model.target.rules
    return [
        [
            (read.decode(a), said.decode(b))
            for a, b in zip(inputs["text_ids"].numpy().tolist(), right.numpy().tolist(), strict=True)
        ]
        for inputs, right in data
    ]


def pairs(examples):
    return sorted((example.inputs["text"], example.target) for example in examples)


def test_an_epoch_has_every_row_once_but_for_what_fills_no_batch(training, splits):
    found = spelled(training, training.batches(0).take(training.steps))
    assert {len(batch) for batch in found} == {16}
    rows = [row for batch in found for row in batch]
    assert len(rows) == len(set(rows)) == 16 * training.steps
    assert set(rows) <= set(pairs(splits.train))
    assert training.steps == sum(rows // 16 for rows in splits.train.rows)
    assert splits.train.windows > 4
    assert training.batch_size == 16


def test_with_a_budget_every_row_comes_once_and_no_batch_holds_more(splits):
    training = opened(splits, batch_tokens=128)
    data = list(training.batches(0).take(training.steps))
    assert pairs(splits.train) == sorted(row for batch in spelled(training, data) for row in batch)
    places = [
        inputs["text_ids"].shape[0] * (inputs["text_ids"].shape[1] + right.shape[1] - 1) for inputs, right in data
    ]
    assert max(places) <= 128
    assert np.mean(places) > 100
    assert training.symbols == pytest.approx(
        sum(len(a) + len(b) for a, b in pairs(splits.train)) / training.steps, rel=1e-6
    )


def test_a_batch_is_of_like_lengths_and_padded_to_its_own_longest(training):
    widths = set()
    for inputs, right in training.batches(0).take(training.steps):
        ids = inputs["text_ids"].numpy()
        assert ids.any(axis=0).all()
        assert right.shape == inputs["shifted"].shape
        lengths = (ids != 0).sum(axis=1)
        assert np.ptp(lengths) <= 4
        widths.add(ids.shape[1])
    assert len(widths) > 5


@pytest.mark.parametrize("budget", [slow(0), 128])
def test_it_is_taken_up_at_any_step(splits, budget):
    training = opened(splits, batch_tokens=budget)
    whole = spelled(training, training.batches(0))
    assert len(whole) == 3 * training.steps
    ends = np.cumsum(training.order.of_window)  # ends of windows in the order of the epoch
    for step in (int(ends[0]), int(ends[0]) + 1, training.steps):
        assert spelled(training, training.batches(0, step).take(9)) == whole[step : step + 9]
    assert spelled(training, training.batches(0, 1)) == whole[1:]
    assert spelled(training, training.batches(2, 3)) == whole[2 * training.steps + 3 :]
    epochs = [whole[n * training.steps : (n + 1) * training.steps] for n in range(3)]
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    together = [{frozenset(batch) for batch in epoch} for epoch in epochs]
    assert together[0] != together[1] != together[2] != together[0]  # not only another order of the same batches


def test_the_order_follows_from_the_seed(splits, training):
    first = spelled(training, training.batches(0))
    assert spelled(opened(splits), opened(splits).batches(0)) == first
    assert spelled(training, opened(splits, seed=1).batches(0)) != first


def test_windows_are_read_when_their_turn_comes(training, monkeypatch):
    read = []
    arrays = stream.Encoded.arrays
    monkeypatch.setattr(stream.Encoded, "arrays", lambda self, window: read.append(window) or arrays(self, window))
    assert len(list(training.batches(0).take(2))) == 2
    assert 1 <= len(read) <= 4 < training.order.encoded.windows  # this one, the next one, and those that are prefetched


def test_workers_take_their_part_of_every_batch(training):
    def second_half(rows):
        return rows.map(lambda batch: batch[8:])

    whole = spelled(training, training.batches(0, 5))
    assert spelled(training, training.batches(0, 5, second_half)) == [batch[8:] for batch in whole]


def test_texts_are_cut_once_and_again_where_a_file_is_damaged(splits, training, monkeypatch):
    path = sorted(training.order.encoded.folder.iterdir())[2]
    before = spelled(training, training.batches(0))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    written = []
    write = stream._write
    monkeypatch.setattr(stream, "_write", lambda path, *rest: written.append(path) or write(path, *rest))
    assert spelled(training, opened(splits).batches(0)) == before
    assert written == [path]
    path.unlink()
    assert spelled(training, opened(splits).batches(0)) == before
    assert written == [path, path]


def test_other_vocabularies_have_files_of_their_own(splits, training):
    other = opened(splits, vocabulary=4)
    assert other.model.inputs["text"].rules.size < training.model.inputs["text"].rules.size
    assert other.order.encoded.folder != training.order.encoded.folder


def test_what_is_left_out_is_said_of_all_windows(splits):
    long = [pair for pair in pairs(splits.train) if len(pair[0]) > 7]
    kept = dataclasses.replace(
        splits, dev=[e for e in splits.dev if len(e.key) < 8], test=[e for e in splits.test if len(e.key) < 8]
    )
    with pytest.warns(DataWarning) as said:
        training = opened(kept, max_source_length=7, max_target_length=7, batch_tokens=64)
    assert (
        f"{len(long)} of {len(splits.train)} training examples are too long; skipped: "
        "text has up to 9 positions, the maximum is 7, target has up to 9 positions, the maximum is 7 "
        "(max_source_length, max_target_length)"
    ) in [str(warning.message) for warning in said]
    rows = [row for batch in spelled(training, training.batches(0).take(training.steps)) for row in batch]
    assert sorted(rows) == [pair for pair in pairs(splits.train) if len(pair[0]) <= 7]


def test_labels_are_streamed_and_pictures_refused(examples, splits):
    recipe = recipes.get("classify")
    labelled = [from_text(example.key, "long" if len(example.key) > 4 else "short") for example in examples]
    found = split_sources({"train": Source("labels", lambda: iter(labelled), 9000, "labels")}, "always")
    settings = dataclasses.replace(
        recipe.small, encoder="bidirectional", tokenizer="characters", min_count=1, batch_size=16, epochs=1
    )
    training = recipe.task.open(settings, found)
    labels = training.model.target.labels
    seen = 0
    for inputs, right in training.batches():
        lengths = (inputs["text_ids"].numpy() != 0).reshape([16, -1]).sum(axis=1)
        assert [labels[label] for label in right.numpy()] == ["long" if length > 4 else "short" for length in lengths]
        seen += 16
    assert seen == 16 * training.steps
    columns, rows, left = recipes.get("translate").task.open(SETTINGS, splits).read(splits.train.window(0))
    raw = dataclasses.replace(columns, inputs={"image": _raw(len(rows))})
    with pytest.raises(ValueError, match=r"stream: expected texts and labels only\. Received: LazyColumn"):
        stream._write(splits.train.folder / "x.npz", raw, rows, left)


def _raw(count):
    from seqattn_tf.core.columns import LazyColumn

    return LazyColumn([b"x"] * count, lambda raw: {"size": tf.strings.length(raw)})


def test_examples_in_an_order_are_not_streamed(splits):
    task = dataclasses.replace(recipes.get("translate").task, ordered=True)
    with pytest.raises(ValueError, match=r"stream: expected never for examples in a fixed order"):
        task.open(SETTINGS, splits)


@pytest.mark.parametrize("budget", [1, 10, 40, 1000])
def test_budgets_are_kept_and_used(budget):
    """Compared with a loop over the sorted rows."""
    rng = np.random.default_rng(budget)
    lengths = [rng.integers(0, 9, 200), rng.integers(1, 9, 200)]
    batching = Batching(1, budget=budget)
    order = sorted(range(200), key=lambda row: (lengths[0][row], lengths[1][row]))
    cuts, batch = [0], []
    for place, row in enumerate(order):
        grown = [*batch, row]
        places = len(grown) * sum(max(column[one] for one in grown) for column in lengths)
        if batch and places > budget:
            cuts.append(place)
            grown = [row]
        batch = grown
    assert batching.cuts(lengths).tolist() == [*cuts, 200]
    assert batching.cuts([np.zeros(0, np.int64)]).tolist() == [0]


def test_a_budget_needs_batches_by_length():
    with pytest.raises(ValueError, match=r"batch_tokens: expected 0 for data that cannot be batched by length"):
        Batching(4, by_length=False, budget=10)


def test_left_out_add_up():
    both = SkippedExamples(3, 1, 1, {"text": (9, 8)}) + SkippedExamples(4, 0, 2, {"text": (12, 8), "target": (5, 4)})
    assert both == SkippedExamples(7, 1, 3, {"text": (12, 8), "target": (5, 4)})


def test_windows_that_other_code_split_are_not_read(splits, training, monkeypatch):
    """After a change of the code that tokenizes texts, windows on disk must be written again."""
    assert opened(splits).order.encoded.folder == training.order.encoded.folder
    monkeypatch.setattr(tasks_base, "code_version", lambda *modules: "another")
    other = opened(splits).order.encoded
    assert other.folder != training.order.encoded.folder
    assert len(list(other.folder.iterdir())) == other.windows


def test_windows_come_in_another_order_in_every_epoch_and_for_every_seed(training):
    """The windows, not only their batches, must have another order in each epoch."""

    def orders(seed):
        part = stream.Stream.__new__(stream.Stream)
        part.batching, part.of_window = Batching(16, seed), np.full(20, 3)
        return [[window for _, window, _ in part._windows(range(epoch, epoch + 1), 0)] for epoch in range(4)]

    found = [*orders(0), *orders(1), list(range(20))]
    assert all(sorted(order) == list(range(20)) for order in found)
    assert len(set(map(tuple, found))) == 9
    assert orders(0) == orders(0)


def test_every_window_of_every_epoch_is_shuffled_by_a_seed_of_its_own(training, monkeypatch):
    """The seed must depend on both the window and the epoch."""
    seeds = []

    def plan(keys, cuts, seed):
        seeds.append(tuple(seed.numpy()))
        raise StopIteration

    monkeypatch.setattr(stream, "plan", plan)
    windows, none = training.order.encoded.windows, tf.zeros([0], tf.int64)
    for place in itertools.product(range(3), range(windows), [0]):
        with pytest.raises(StopIteration):
            training.order._batches(whole, tf.constant(place, tf.int64), none, none, none)
    assert len(set(seeds)) == 3 * windows
    assert {seed for seed, _ in seeds} == {SETTINGS.seed}


def test_the_longest_of_all_windows_is_said():
    """The maximum is that of all windows, not only of the last one."""
    windows = [SkippedExamples(3, long=1, longest={"text": (most, 8)}) for most in (9, 12, 10)]
    assert sum(windows, SkippedExamples()) == SkippedExamples(9, long=3, longest={"text": (12, 8)})


def test_an_array_whose_header_cpython_fails_to_parse_is_read_again():
    """CPython may fail to parse while another thread does so, too; training must not stop."""

    class Stored(dict):
        failures = 3

        def __getitem__(self, name):
            self.failures -= 1
            if self.failures >= 0:
                raise SystemError("AST constructor recursion depth mismatch (before=30, after=26)")
            return super().__getitem__(name)

    assert stream._array(Stored(rows=7), "rows") == 7
    broken = Stored(rows=7)
    broken.failures = 99
    with pytest.raises(SystemError, match="AST constructor"):
        stream._array(broken, "rows")
