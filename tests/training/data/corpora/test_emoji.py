"""Emoji with their names: real ones, and invalid folders."""

import io
import json
import lzma

import numpy as np
import pytest
from PIL import Image as Pillow

from seqattn_tf.training import recipes
from seqattn_tf.training.data.corpora import emoji

NAMES = [
    {"code": f"{number}-{skin}", "base": str(number), "en": f"thing {number}", "de": f"Ding {number}", "tags": []}
    for number in range(60)
    for skin in "ab"
]
TABLE = np.random.default_rng(0).integers(0, 256, [len(NAMES), 4, 5, 3], np.uint8)


def write(folder, table=TABLE, names=NAMES):
    np.savez(folder / "emoji5.npz", x=table)
    with lzma.open(folder / "names.json.xz", "wt") as file:
        json.dump(names, file)
    return folder


def parts(splits):
    return {name: getattr(splits, name) for name in ("train", "dev", "test")}


def test_a_picture_comes_with_its_name_in_the_language_that_is_asked_for(tmp_path):
    splits = emoji.load(write(tmp_path), "de")
    found = [example for part in parts(splits).values() for example in part]
    assert {example.key: example.target for example in found} == {entry["code"]: entry["de"] for entry in NAMES}
    codes = [entry["code"] for entry in NAMES]
    for example in found[::7]:
        pixels = np.asarray(Pillow.open(io.BytesIO(example.inputs["image"].read())))
        np.testing.assert_array_equal(pixels, TABLE[codes.index(example.key)])
    assert len({example.inputs["image"] for example in found}) == len(
        NAMES
    )  # identifies its feature map in a frozen backbone


def test_all_skins_of_one_are_in_one_split(tmp_path):
    held = {
        name: {example.key.partition("-")[0] for example in part}
        for name, part in parts(emoji.load(write(tmp_path))).items()
    }
    assert all(held.values())
    assert len(set.union(*held.values())) == sum(map(len, held.values()))


@pytest.mark.parametrize(
    ("table", "names", "message"),
    [
        (TABLE[:-1], NAMES, "expected a name for each picture. Received: 120 names, 119"),
        (TABLE[..., :1], NAMES, r"expected x \[pictures, height, width, 3\] of uint8"),
        (TABLE / 2, NAMES, "of uint8. Received: float64"),
        (TABLE, [{"code": "a", "base": "b"}] * 120, "expected 'en' for every emoji. Received: \\['base', 'code'\\]"),
        (TABLE, {"a": 1}, "expected a list of names"),
        (TABLE[:2], NAMES[:2], "expected emoji in each split"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(tmp_path, table, names, message):
    write(tmp_path, table, names)
    with pytest.raises(ValueError, match=message):
        emoji.load(tmp_path)


def test_a_folder_without_one_of_them_is_none(tmp_path):
    assert not emoji.is_emoji(tmp_path)
    with pytest.raises(ValueError, match=r"expected emoji\*\.npz and names\.json\. Received: \[\]"):
        emoji.load(tmp_path)
    (tmp_path / "emoji.npz").write_bytes(b"no table")
    (tmp_path / "names.json").write_text("[]")
    with pytest.raises(ValueError, match=r"emoji\.npz: expected an array of pictures named x"):
        emoji.load(tmp_path)


def test_the_recipe_knows_real_ones(shared_data):
    recipe = recipes.get("caption")
    splits = recipe.load(shared_data / "emoji", recipe.settings)
    assert sum(map(len, parts(splits).values())) == 3786
    assert "grinning face" in {example.target for part in parts(splits).values() for example in part}
