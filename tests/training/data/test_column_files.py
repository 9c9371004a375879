"""Column files in the formats of CoNLL and CoNLL-U, and all kinds of invalid lines and sentences."""

import gzip
import lzma
import warnings

import pytest

from seqattn_tf.training.data import DataWarning, Example, column_files
from seqattn_tf.training.data.column_files import load
from seqattn_tf.training.data.finding import find_files
from seqattn_tf.training.recipes.parse import tree_of

CHUNKS = "He PRP B-NP\nreckons VBZ B-VP\n\nin IN B-PP\nSeptember NNP B-NP\n. . O\n"
FOUND = [("He\nreckons\n", "B-NP B-VP"), ("in\nSeptember\n.\n", "B-PP B-NP O")]
UNIVERSAL = """# sent_id = 1
# text = I'm here
1-2\tI'm\t_\t_\t_\t_\t_\t_\t_\t_
1\tI\tI\tPRON\tPRP\t_\t3\tnsubj\t_\t_
2\t'm\tbe\tAUX\tVBP\t_\t3\tcop\t_\t_
3\there\there\tADV\tRB\t_\t0\troot\t_\tSpaceAfter=No
3.1\tgone\tgo\tVERB\tVBN\t_\t_\t_\t1:conj\t_

# sent_id = 2
1\t#\t#\tSYM\t#\t_\t0\troot\t_\t_
2\t1 000\t1000\tNUM\tCD\t_\t1\tnummod:gov\t_\t_
"""
TREES = [("I\n'm\nhere\n", "3:nsubj 3:cop 0:root"), ("#\n1\u00a0000\n", "0:root 1:nummod:gov")]


def tags_of(rows):
    return " ".join(tag for _, tag in rows)


def write(folder, train, dev="a X Y\n", test="b X Y\n"):
    for part, text in (("train", train), ("dev", dev), ("test", test)):
        (folder / f"{part}.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def examples(pairs):
    return [Example(text, {"text": text}, target) for text, target in pairs]


def reported(data, columns, target):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        splits = load(data, columns, target)
    assert all(warning.category is DataWarning for warning in caught)
    return [example.inputs["text"].split() for example in splits.train], [str(warning.message) for warning in caught]


def test_a_relation_of_two_words_is_one_symbol():
    assert tree_of([("a", "0", "root"), ("b", "1", "nmod poss")]) == "0:root 1:nmod_poss"


def test_where_a_document_begins_is_no_sentence(tmp_path):
    folder = write(tmp_path, f"-DOCSTART- -X- O\n\n{CHUNKS}\n-DOCSTART- -X- O\n")
    assert load(folder, ["0", "-1"], tags_of).train == examples(FOUND)


@pytest.mark.parametrize("between", [" ", "  ", "\t", " \t"])
@pytest.mark.parametrize(
    "made",
    [
        lambda text: text,
        lambda text: text.rstrip("\n"),
        lambda text: f"\n\n{text}\n \n\n",
        lambda text: text.replace("\n\n", "\n\n \t\n\n"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
    ],
)
def test_a_blank_line_ends_a_sentence_and_more_change_nothing(tmp_path, made, between):
    folder = write(tmp_path, made(CHUNKS.replace(" ", between)))
    assert load(folder, ["0", "-1"], tags_of).train == examples(FOUND)
    assert load(folder, ["0", "2"], tags_of).train == examples(FOUND)
    assert load(folder, ["-3", "-2"], tags_of).train[0].target == "PRP VBZ"


@pytest.mark.parametrize("word", ["form", "1", "-9"])
def test_ranges_empty_words_and_comments_of_conllu_are_no_words(tmp_path, word):
    folder = write(tmp_path, UNIVERSAL, UNIVERSAL, UNIVERSAL)
    splits = load(folder, [word, "head", "deprel"], tree_of)
    assert splits.train == splits.dev == splits.test == examples(TREES)
    assert load(folder, ["lemma", "upos"], tags_of).train[0] == Example(
        "I\nbe\nhere\n", {"text": "I\nbe\nhere\n"}, "PRON AUX ADV"
    )


def test_five_columns_have_names_and_a_word_may_be_a_hash(tmp_path):
    lines = ["#\tSYM\t#\t2\tdep", "a\tDET\tDT\t0\troot", "# \tPUNCT\t.\t2\tpunct"]
    folder = write(tmp_path, "\n".join(lines), lines[1], lines[1])
    splits = load(folder, ["form", "head", "deprel"], tree_of)
    assert splits.train == examples([("#\na\n#\n", "2:dep 0:root 2:punct")])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"only two", "line 4: expected 3 columns, as in the first line. Received: 'only two'"),
        (b"one too many here", "line 4: expected 3 columns, as in the first line. Received: 'one too many here'"),
        (b"a\t \tX", r"line 4: expected nonempty text in each column. Received: 'a\t \tX'"),
        (b"\tX\tX", r"line 4: expected nonempty text in each column. Received: '\tX\tX'"),
        (b"\xff X X", "line 4: expected UTF-8. Received: 'invalid start byte'"),
    ],
)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.usefixtures("bad_rows_allowed")
def test_a_sentence_with_a_malformed_line_is_passed_over(tmp_path, line, said, last):
    lines = [b"a X X", b"", b"b X X", line, b"c X X", b"", b"d X X"]
    folder = write(tmp_path, b"\n".join(lines[:4] if last else lines))
    texts, found = reported(folder, ["0", "1"], tags_of)
    assert texts == ([["a"]] if last else [["a"], ["d"]])
    assert found == [f"train.txt, {said}"]


@pytest.mark.parametrize("bad", [b"bad\n\xff X X\nworse", b"\xff X X\nbad", b"\xff X X"])
def test_sentences_that_are_lost_are_counted_once_and_too_many_refused(tmp_path, bad):
    folder = write(tmp_path, b"a X X\n\n" * 99 + bad + b"\n")
    with pytest.warns(DataWarning):
        assert len(load(folder, ["0", "1"], tags_of).train) == 99  # 1 of 100 is skipped
    folder = write(tmp_path, b"a X X\n\n" * 98 + bad + b"\n")
    with pytest.warns(DataWarning), pytest.raises(ValueError, match=r"malformed sentences. Received: 1 of 99 "):
        load(folder, ["0", "1"], tags_of)


@pytest.mark.usefixtures("bad_rows_allowed")
def test_every_malformed_line_is_told_and_the_rest_counted(tmp_path):
    folder = write(tmp_path, "a X X\n\n" + "bad\nworse\n\n" * 30)
    _, found = reported(folder, ["0", "1"], tags_of)
    assert [text.partition(":")[0] for text in found[:3]] == [f"train.txt, line {n}" for n in (3, 4, 6)]
    assert found[-1] == "train.txt: 40 more malformed lines skipped"


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        ("2 4 0", "expected heads from 0 to 3. Received: '4'"),
        ("2 -1 0", "expected heads from 0 to 3. Received: '-1'"),
        ("2 _ 0", "expected heads from 0 to 3. Received: '_'"),
        ("2 1 0", "expected a tree with one root. Received: 'heads [2, 1, 0]'"),
        ("1 0 2", "expected a tree with one root. Received: 'heads [1, 0, 2]'"),
        ("0 0 1", "expected a tree with one root. Received: 'heads [0, 0, 1]'"),
        ("2 3 1", "expected a tree with one root. Received: 'heads [2, 3, 1]'"),
    ],
)
@pytest.mark.usefixtures("bad_rows_allowed")
def test_a_sentence_that_is_no_tree_is_passed_over(tmp_path, heads, said):
    rows = "".join(f"w{i} X X {head} r\n" for i, head in enumerate(heads.split()))
    good = "a X X 0 root\n"
    texts, found = reported(write(tmp_path, f"{good}\n{rows}\n{good}", good, good), ["form", "head", "deprel"], tree_of)
    assert texts == [["a"], ["a"]]
    assert found == [f"train.txt, line 3: {said}"]


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ("1 3", "line 2: expected 2, the number of the word, in the first column"),
        ("2 3", "line 1: expected 1, the number of the word, in the first column"),
        ("1 x", "line 2: expected 2, the number of the word, in the first column"),
        ("1 2-", "line 2: expected 2, the number of the word, in the first column"),
    ],
)
@pytest.mark.usefixtures("bad_rows_allowed")
def test_words_of_conllu_are_numbered(tmp_path, ids, said):
    rows = "".join("\t".join([number, *"abcdefghi"]) + "\n" for number in ids.split())
    good = "\t".join(["1", *"abcdefghi"]) + "\n"
    texts, found = reported(write(tmp_path, f"{rows}\n{good}", good, good), ["form", "upos"], tags_of)
    assert texts == [["a"]]
    assert [text.partition(". Received")[0] for text in found] == [f"train.txt, {said}"]


def test_nothing_good_is_refused(tmp_path):
    folder = write(tmp_path, "a X Y\nb\n\nc\n")
    with (
        pytest.warns(DataWarning, match=r"train\.txt, line [24]: expected 3 columns"),
        pytest.raises(
            ValueError, match=r"train\.txt: expected at least one valid sentence\. Received: 2 malformed ones"
        ),
    ):
        load(folder, ["0", "1"], tags_of)
    with pytest.raises(ValueError, match=r"train\.txt: expected at least one valid sentence\. Received: no malformed"):
        load(write(folder, "\n\n"), ["0", "1"], tags_of)
    with pytest.raises(ValueError, match=r"train\.txt: expected at least one valid sentence\. Received: no malformed"):
        load(write(folder, "# comments\n\n# alone\n"), ["0", "1"], tags_of)
    with pytest.raises(ValueError, match=r"train\.txt: expected at least one line\. Received: an empty file"):
        load(write(folder, ""), ["0", "1"], tags_of)


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        (CHUNKS, "3", "expected a column from -3 to 2. Received: '3'"),
        (CHUNKS, "-4", "expected a column from -3 to 2. Received: '-4'"),
        (CHUNKS, "--1", "expected a column from -3 to 2. Received: '--1'"),
        (CHUNKS, "", "expected a column from -3 to 2. Received: ''"),
        (CHUNKS, "upos", "expected a column from -3 to 2. Received: 'upos'"),
        (
            "a X X 0 r\n",
            "lemma",
            "expected a column from -5 to 4, or one of form, upos, xpos, head, deprel. Received: 'lemma'",
        ),
        (
            UNIVERSAL,
            "pos",
            "expected a column from -10 to 9, or one of id, form, lemma, upos, xpos, feats, head, deprel, deps, misc. "
            "Received: 'pos'",
        ),
    ],
)
def test_columns_that_are_not_there_are_refused(tmp_path, text, column, said):
    with pytest.raises(ValueError, match=r"^train\.txt: ") as error:
        load(write(tmp_path, text), ["0", column], tags_of)
    assert str(error.value) == f"train.txt: {said}"


def test_a_single_file_is_split_by_a_hash_of_the_words(tmp_path):
    path = tmp_path / "mine.iob2"
    path.write_text("".join(f"word{i} X\nend Y\n\n" for i in range(400)))
    splits = load(path, ["0", "1"], tags_of)
    parts = [{example.key for example in part} for part in (splits.train, splits.dev, splits.test)]
    assert set.union(*parts) == {f"word{i}\nend\n" for i in range(400)}
    assert sum(map(len, parts)) == 400
    assert min(map(len, parts)) >= 20
    assert splits.origin == "mine.iob2 (dev and test held out of train by hash of the source)"
    assert load(path, ["0", "1"], tags_of) == splits


def test_what_is_missing_is_held_out_of_train(tmp_path):
    write(tmp_path, "".join(f"word{i} X Y\n\n" for i in range(400)))
    (tmp_path / "dev.txt").unlink()
    splits = load(tmp_path, ["0", "1"], tags_of)
    assert len(splits.train) + len(splits.dev) == 400
    assert len(splits.dev) >= 30
    assert splits.test == examples([("b\n", "X")])
    assert splits.origin == "train.txt, test.txt (dev held out of train by hash of the source)"


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"data: expected a folder with train, dev and test files of columns.*none"):
        load(None, ["0", "1"], tags_of)
    with pytest.raises(ValueError, match=r"data: expected a folder with train.*nowhere, a path that does not exist"):
        load(tmp_path / "nowhere", ["0", "1"], tags_of)
    write(tmp_path, CHUNKS)
    (tmp_path / "train.txt").rename(tmp_path / "training.doc")
    with pytest.raises(ValueError, match=r"expected train, dev and test .*\['dev.txt', 'test.txt', 'training.doc'\]"):
        load(tmp_path, ["0", "1"], tags_of)


@pytest.mark.parametrize("ending", ["txt", "tsv", "conll", "conllu", "iob", "iob2", "bio"])
def test_files_by_their_names(tmp_path, ending):
    (tmp_path / f"en_ewt-ud-train.{ending}.gz").write_bytes(gzip.compress(CHUNKS.encode()))
    (tmp_path / f"en_ewt-ud-dev.{ending}.xz").write_bytes(lzma.compress(CHUNKS.encode()))
    (tmp_path / f"en_ewt-ud-test.{ending}").write_text(CHUNKS)
    (tmp_path / "README.md").write_text("train, dev and test")
    splits = load(tmp_path, ["0", "-1"], tags_of)
    assert splits.train == splits.dev == splits.test == examples(FOUND)
    found = find_files(tmp_path, column_files.ENDINGS)
    assert list(found) == ["train", "dev", "test"]
    assert found["dev"].name == f"en_ewt-ud-dev.{ending}.xz"


def test_two_files_of_one_part_are_refused(tmp_path):
    write(tmp_path, CHUNKS)
    assert {part: path.name for part, path in find_files(tmp_path, ("txt",)).items()} == {
        "train": "train.txt",
        "dev": "dev.txt",
        "test": "test.txt",
    }
    assert find_files(tmp_path, ("conllu",)) == {}
    assert list(find_files(tmp_path, ("txt",), test="test_b")) == ["train", "dev"]
    (tmp_path / "train.conll").write_text(CHUNKS)
    assert find_files(tmp_path, column_files.ENDINGS)["train"].name == "train.conll"  # there are text files beside it
    (tmp_path / "train.conll").rename(tmp_path / "train_a.conll")
    (tmp_path / "train_b.conll").write_text(CHUNKS)
    with pytest.raises(ValueError, match=r"expected one train set\. Received: \['train_a\.conll', 'train_b\.conll'\]"):
        find_files(tmp_path, column_files.ENDINGS)


def test_chunks_whole(shared_data):
    splits = load(shared_data / "conll2000", ["0", "-1"], tags_of)
    assert (len(splits.train) + len(splits.dev), len(splits.test)) == (8_936, 2_012)
    counts = [sum(len(example.target.split()) for example in part) for part in (splits.train, splits.dev, splits.test)]
    assert (counts[0] + counts[1], counts[2]) == (211_727, 47_377)
    tags = {tag for example in splits.train for tag in example.target.split()}
    assert {tag[:2] for tag in tags} == {"B-", "I-", "O"}


def test_trees_whole(shared_data):
    """All of them are valid trees: a skipped one would cause a warning."""
    splits = load(shared_data / "ud_ewt", ["form", "head", "deprel"], tree_of)
    assert [len(part) for part in (splits.train, splits.dev, splits.test)] == [12_544, 2_001, 2_077]
    for example in splits.test[:100]:
        assert example.inputs["text"].count("\n") == len(example.target.split())
