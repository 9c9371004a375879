"""Data read as a test set: the test part of a folder, or all rows of a file, in every format."""

import io

import numpy as np
import pytest
from PIL import Image

from seqattn_tf.training import recipes
from seqattn_tf.training.data import column_files, files, pictures
from seqattn_tf.training.data.corpora import cmudict
from seqattn_tf.training.data.sources import read_for_test, reads_for_test

TEXT = {"text": "a"}


def test_all_rows_of_a_file_in_order_and_only_the_test_part_of_a_folder(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "".join(f"x{i},y\n" for i in range(30)))
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.tsv").write_text(f"a\tb\n{part}\ty\n")
    with read_for_test():
        found = files.load(tmp_path / "rows.csv", TEXT, "b", stream="always")
        folder = files.load(tmp_path, TEXT, "b")
    assert [example.key for example in found.test] == [f"x{i}" for i in range(30)]
    assert (found.train, found.dev, found.origin) == ([], [], "rows.csv")
    assert [example.key for example in folder.test] == ["test"]
    assert not reads_for_test()
    assert files.load(tmp_path / "rows.csv", TEXT, "b").train  # as before


def test_column_files(tmp_path):
    (tmp_path / "some.conllu").write_text("a D\nb N\n\nc N\n")
    with read_for_test():
        found = column_files.load(tmp_path / "some.conllu", ["0", "1"], lambda rows: " ".join(tag for _, tag in rows))
    assert [(example.key.split(), example.target) for example in found.test] == [(["a", "b"], "D N"), (["c"], "N")]


def test_images_with_a_table(tmp_path):
    data = io.BytesIO()
    Image.fromarray(np.zeros([4, 4, 3], np.uint8)).save(data, "PNG")
    (tmp_path / "one.png").write_bytes(data.getvalue())
    (tmp_path / "captions.csv").write_text("image,caption\none.png,black\n")
    with read_for_test():
        [example] = pictures.load(tmp_path / "captions.csv").test
    assert (example.target, example.inputs["image"].read()) == ("black", data.getvalue())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("own.dict", "dog D AO1 G\ndog(2) D AA1 G # a comment\nCAT K AE1 T\n"),
        ("own.tsv", "dog\tD AO1 G\ndog\tD AA1 G\nCAT\tK AE1 T\n"),
        ("own.csv", "word,phonemes\ndog,D AO1 G\ndog,D AA1 G\nCAT,K AE1 T\n"),
    ],
)
def test_dictionaries_for_pronounce(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    recipe = recipes.get("pronounce")
    with read_for_test():
        found = recipe.load(tmp_path / name, recipe.settings)
        marked = cmudict.load(tmp_path / name, stress=True)
    assert [(example.key, example.target) for example in found.test] == [
        ("dog", "D AO G"),
        ("dog", "D AA G"),
        ("cat", "K AE T"),
    ]
    assert marked.test[0].target == "D AO1 G"


def test_a_dictionary_of_ones_own_is_split_by_word(tmp_path):
    (tmp_path / "own.dict").write_text("".join(f"word{chr(97 + i)} W ER1 D\n" for i in range(26)))
    found = cmudict.load(tmp_path / "own.dict")
    assert min(len(found.train), len(found.dev), len(found.test)) > 0
    assert found.origin.startswith("own.dict (dev and test held out")
