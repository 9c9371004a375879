"""Movie reviews in ten folds."""

import lzma

import pytest

from seqattn_tf.training.data import DataWarning, Example
from seqattn_tf.training.data.corpora import movie_reviews
from seqattn_tf.training.data.corpora.movie_reviews import FOLDS, load

ROWS = [(label, f"cv{number:03d}_{number * 7}.txt") for number in range(0, 1000, 25) for label in (0, 1)]


@pytest.fixture
def reviews(tmp_path):
    path = tmp_path / "polarity2.0.tsv"
    path.write_text("".join(f"{label}\t{name}\ta film . ||| by {name} \n" for label, name in ROWS))
    return path


def test_a_document_has_a_sentence_a_line(tmp_path):
    path = tmp_path / "polarity.tsv"
    path.write_text('1\tcv123_4\tfirst , " one " ||| |||second one|||\n0\tcv200_1\tno break\n0\tcv999_1\tlast\n')
    splits = load(path, 1)
    assert splits.test == [Example("1 cv123_4", {"text": 'first , " one "\nsecond one'}, "positive")]
    assert splits.dev == [Example("0 cv200_1", {"text": "no break"}, "negative")]
    assert splits.train == [Example("0 cv999_1", {"text": "last"}, "negative")]
    assert splits.origin == "polarity.tsv, fold 1 to test, the next for development"


def test_folds_are_disjoint_and_complete(reviews):
    assert FOLDS == 10
    tested = []
    for fold in range(FOLDS):
        splits = load(reviews, fold)
        parts = [{example.key for example in part} for part in (splits.train, splits.dev, splits.test)]
        assert [len(part) for part in parts] == [64, 8, 8]
        assert set.union(*parts) == {f"{label} {name}" for label, name in ROWS}
        assert {key.split()[1][2] for key in parts[2]} == {str(fold)}
        assert {key.split()[1][2] for key in parts[1]} == {str((fold + 1) % FOLDS)}
        assert [example.target for example in splits.test].count("positive") == 4
        tested += parts[2]
    assert sorted(tested) == sorted(f"{label} {name}" for label, name in ROWS)
    assert load(reviews) == load(reviews, 0)


@pytest.mark.parametrize("fold", [-1, 10])
def test_a_fold_that_is_not_there_is_refused(reviews, fold):
    with pytest.raises(ValueError, match=rf"test_fold: expected a number from 0 to 9\. Received: {fold}"):
        load(reviews, fold)


@pytest.mark.parametrize(("label", "name"), [("2", "cv000_1"), ("pos", "cv000_1"), ("0", "cv00_1"), ("1", "xcv000")])
def test_a_wrong_label_or_name_is_refused(reviews, label, name):
    with reviews.open("a") as file:
        file.write(f"{label}\t{name}\ttext\n")
    message = f"polarity2.0.tsv: expected 0 or 1 and a name like cv012_345. Received: '{label}', '{name}'"
    with pytest.raises(ValueError, match=r"polarity") as error:
        load(reviews)
    assert str(error.value) == message


@pytest.mark.usefixtures("bad_rows_allowed")
def test_a_line_without_a_text_is_passed_over(reviews):
    before = load(reviews)
    with reviews.open("a") as file:
        file.write("0\tcv000_1\n1\tcv000_2\t \n")
    with pytest.warns(DataWarning) as caught:
        assert load(reviews) == before
    assert [str(warning.message).partition(":")[0] for warning in caught] == [
        "polarity2.0.tsv, line 81",
        "polarity2.0.tsv, line 82",
    ]


def test_the_file_or_its_folder(reviews, tmp_path):
    assert load(tmp_path) == load(reviews)
    (tmp_path / "polarity2.0.tsv.xz").write_bytes(lzma.compress(reviews.read_bytes()))
    reviews.unlink()
    assert movie_reviews.find(tmp_path) == tmp_path / "polarity2.0.tsv.xz"
    assert len(load(tmp_path).test) == 8


def test_other_files_are_not_the_reviews(tmp_path):
    other = tmp_path / "own.tsv"
    other.write_text("0\tcv000_1\ttext\n")
    for data in (None, other, tmp_path, tmp_path / "nowhere"):
        assert movie_reviews.find(data) is None
    with pytest.raises(ValueError, match=r"data: expected a folder with polarity2\.0\.tsv.*Received: none"):
        load(None)
    with pytest.raises(ValueError, match=r"data: expected a folder with polarity2\.0\.tsv.*own\.tsv, a file"):
        load(other)
    with pytest.raises(ValueError, match=r"expected polarity2\.0\.tsv\. Received: \['own\.tsv'\]"):
        load(tmp_path)


def test_reviews_whole(shared_data):
    splits = load(shared_data / "movie_reviews", 9)
    assert [len(part) for part in (splits.train, splits.dev, splits.test)] == [1_600, 200, 200]
    for part in (splits.train, splits.dev, splits.test):
        assert [example.target for example in part].count("positive") == len(part) // 2
    assert all("|||" not in example.inputs["text"] for example in splits.train)
    assert len({example.key for part in (splits.train, splits.dev, splits.test) for example in part}) == 2_000
