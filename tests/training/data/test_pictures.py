"""A user's pictures beside a table of captions, and those of Flickr8k."""

import io
import json
import tarfile

import pytest

from seqattn_tf.lite.fields import Image
from seqattn_tf.training import recipes
from seqattn_tf.training.data import DataWarning, pictures
from seqattn_tf.training.data.corpora import flickr8k

NAMES = [f"p{number}.png" for number in range(40)]
BYTES = dict(zip(NAMES, Image(4, 4).sample_inputs(40), strict=True))


@pytest.fixture
def folder(tmp_path):
    for name, data in BYTES.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def captions(name):
    return [f"a picture {name}", f"one of {name}"]


def write(folder, form, names=NAMES, stem="captions"):
    if form == "csv":
        lines = ["image,caption", *(f'{name},"{text}"' for name in names for text in captions(name))]
    elif form == "jsonl":
        lines = [json.dumps({"image": name, "caption": text}) for name in names for text in captions(name)]
    else:
        lines = [f"{name}#{i}\t{text}" for name in names for i, text in enumerate(captions(name))]
    path = folder / (f"{stem}.token.txt" if form == "token" else f"{stem}.{form}")
    path.write_text("\n".join(lines) + "\n")
    return path


def parts(splits):
    return [splits.train, splits.dev, splits.test]


@pytest.mark.parametrize("form", ["csv", "jsonl", "token"])
@pytest.mark.parametrize("given", ["file", "folder"])
def test_every_form_of_a_table_gives_pictures_with_all_their_captions(folder, form, given):
    path = write(folder, form)
    splits = pictures.load(path if given == "file" else folder)
    seen = {}
    for part in parts(splits):
        for example in part:
            assert example.inputs["image"].read() == BYTES[example.key]
            seen.setdefault(example.key, []).append(example.target)
    assert seen == {name: captions(name) for name in NAMES}
    keys = [{example.key for example in part} for part in parts(splits)]
    assert all(keys)
    assert not keys[0] & keys[1] | keys[0] & keys[2] | keys[1] & keys[2]


def test_parts_may_have_tables_of_their_own_and_folders_inside(folder):
    (folder / "more").mkdir()
    (folder / "more" / "x.png").write_bytes(BYTES["p0.png"])
    write(folder, "csv", ["more/x.png", *NAMES[:20]], "train")
    write(folder, "csv", NAMES[20:30], "dev")
    write(folder, "csv", NAMES[30:], "test")
    splits = pictures.load(folder)
    assert [len(part) for part in parts(splits)] == [42, 20, 20]
    assert splits.train[0].inputs["image"].read() == BYTES["p0.png"]


@pytest.mark.usefixtures("bad_rows_allowed")
def test_missing_pictures_are_passed_over_and_none_is_an_error(folder):
    write(folder, "csv", [*NAMES, "gone.png"])
    with pytest.warns(DataWarning, match=r"1 of \d+ image files is missing; skipped: gone.png"):
        splits = pictures.load(folder)
    assert sum(map(len, parts(splits))) == 80
    for name in NAMES:
        (folder / name).unlink()
    with (
        pytest.warns(DataWarning, match="missing; skipped"),
        pytest.raises(ValueError, match="expected image files in each split"),
    ):
        pictures.load(folder)


def test_many_missing_pictures_are_an_error_that_names_them(folder):
    """A large number of missing pictures must not be skipped with only a warning."""
    write(folder, "csv", [*NAMES, "gone.png"])
    with (
        pytest.warns(DataWarning),
        pytest.raises(ValueError, match=r"Received: 1 of \d+ \(missing: gone.png\). .*max_bad_rows=0"),
    ):
        pictures.load(folder)


def test_what_is_no_table_is_refused(folder):
    with pytest.raises(ValueError, match=r"expected a table of files and their captions or labels .* Received: none"):
        pictures.load(folder)
    write(folder, "csv", stem="a"), write(folder, "jsonl", stem="b")
    with pytest.raises(ValueError, match=r"Received: \['a.csv', 'b.jsonl'\]"):
        pictures.load(folder)
    with pytest.raises(ValueError, match="nothing"):
        pictures.load(folder / "nothing")
    with pytest.raises(ValueError, match="other"):
        pictures.load(folder / "a.csv", caption="other")


def write_flickr8k(folder, tar=True):
    lines = [f"{name}#{i}\tCaption {i} of {name} ." for name in NAMES for i in range(5)]
    (folder / "Flickr8k.token.txt").write_text("\n".join(lines) + "\n")
    split = {"train": NAMES[:30], "dev": NAMES[30:35], "test": NAMES[35:]}
    rows = [f"{name}\t{part}" for part, names in split.items() for name in names]
    (folder / "names_split.tsv").write_text("\n".join(rows) + "\n")
    if tar:
        with tarfile.open(folder / "images.tar", "w") as packed:
            for name, data in BYTES.items():
                member = tarfile.TarInfo(f"images/{name}")
                member.size = len(data)
                packed.addfile(member, io.BytesIO(data))
    else:
        (folder / "images").mkdir()
        for name, data in BYTES.items():
            (folder / "images" / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("tar", [True, False], ids=["tar", "folder"])
def test_flickr8k_has_five_right_captions_for_a_picture(tmp_path, tar):
    folder = write_flickr8k(tmp_path, tar)
    assert flickr8k.is_flickr8k(folder)
    splits = recipes.get("caption").load(folder, recipes.get("caption").settings)
    assert [len(part) for part in parts(splits)] == [150, 25, 25]
    assert splits.test[0].key == NAMES[35]
    assert splits.test[0].inputs["image"].read() == BYTES[NAMES[35]]
    assert [example.target for example in splits.test[:5]] == [f"Caption {i} of {NAMES[35]} ." for i in range(5)]


def test_flickr8k_without_pictures_is_refused(tmp_path):
    folder = write_flickr8k(tmp_path)
    (folder / "images.tar").unlink()
    with pytest.raises(ValueError, match="expected pictures with captions in each split"):
        flickr8k.load_pictures(folder)
    (folder / "names_split.tsv").unlink()
    assert not flickr8k.is_flickr8k(folder)
    assert not flickr8k.is_flickr8k(tmp_path / "none")


def test_the_real_flickr8k(shared_data):
    splits = flickr8k.load_pictures(shared_data / "flickr8k")
    assert [len(part) // 5 for part in parts(splits)] == [6000, 1000, 1000]
    assert splits.dev[0].inputs["image"].read().startswith(b"\xff\xd8\xff")
