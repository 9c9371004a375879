"""Bytes that are read only for their batch: files in a folder, and members of a tar file."""

import io
import tarfile

import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.core.columns import LazyColumn
from seqattn_tf.lite.targets import Label
from seqattn_tf.outputs import graph_target
from seqattn_tf.training.data.batches import Batching, Columns, Order
from seqattn_tf.training.data.stored import Stored, in_folder, in_tar

# Empty ones, and ones shorter and longer than a block.
CONTENTS = {f"{i:02d}.bin": bytes([i]) * (i * 37) for i in range(20)}


def folder(path):
    for name, data in CONTENTS.items():
        (path / name).write_bytes(data)
    return in_folder(path, [".bin"])


def tar(path, contents=CONTENTS, mode="w", form=tarfile.GNU_FORMAT):
    with tarfile.open(path / "files.tar", mode, format=form) as out:
        for name, data in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            out.addfile(member, io.BytesIO(data))
    return path / "files.tar"


def in_plain_tar(path):
    return in_tar(tar(path))


def column(found):
    return LazyColumn(list(found.values()), lambda raw: {"size": tf.strings.length(raw)})


@pytest.fixture
def reads(monkeypatch):
    """A list of the values that were read, in order."""
    seen, read = [], Stored.read

    def counted(self):
        seen.append((self.path.name, self.start))
        return read(self)

    monkeypatch.setattr(Stored, "read", counted)
    return seen


@pytest.mark.parametrize("found_in", [folder, in_plain_tar])
def test_every_file_by_its_name(tmp_path, found_in):
    found = found_in(tmp_path)
    assert {name: one.read() for name, one in found.items()} == CONTENTS


@pytest.mark.parametrize("found_in", [folder, in_plain_tar])
def test_nothing_is_read_before_its_batch_comes(tmp_path, found_in, reads):
    found = found_in(tmp_path)
    reads.clear()  # the check that a tar file is complete reads its end
    places = [(one.path.name, one.start) for one in found.values()]
    target = graph_target(Label(("a",)))
    columns = Columns({"file": column(found)}, target.column(["a"] * len(found)), target)
    data = Order(columns, np.arange(len(found)), Batching(4)).batches(range(1))
    assert reads == []
    tensors, _ = columns.batch(tf.constant([7, 2], tf.int64))
    assert tensors["file_size"].numpy().tolist() == [7 * 37, 2 * 37]
    assert reads == [places[7], places[2]]
    reads.clear()
    sizes = np.concatenate([inputs["file_size"].numpy() for inputs, _ in data])
    assert sorted(sizes) == sorted(map(len, CONTENTS.values()))
    assert sorted(reads) == sorted(places)  # each once per epoch


def test_a_file_is_as_it_is_when_its_batch_comes(tmp_path):
    found = folder(tmp_path)
    made = column(found)
    (tmp_path / "03.bin").write_bytes(b"other")
    assert made.rows(tf.constant([3]))["size"].numpy().tolist() == [5]
    (tmp_path / "03.bin").unlink()
    assert made.rows(tf.constant([4]))["size"].numpy().tolist() == [4 * 37]
    with pytest.raises(FileNotFoundError, match=r"03\.bin"):
        made.rows(tf.constant([3]))


def test_files_of_a_folder_are_those_with_the_suffixes(tmp_path):
    for name in ("b.JPG", "a.jpg", "c.png", "d.txt", "jpg"):
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "e.jpg").mkdir()
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "f.jpg").write_bytes(b"")
    assert list(in_folder(tmp_path, [".jpg"])) == ["a.jpg", "b.JPG"]
    assert list(in_folder(str(tmp_path), {".jpg", ".png"})) == ["a.jpg", "b.JPG", "c.png"]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_names_in_a_tar_are_without_folders(tmp_path, form):
    long = "x" * 90 + ".jpg"
    path = tar(tmp_path, {"Images/1.jpg": b"one", "./2.jpg": b"two", f"Images/{'y' * 60}/{long}": b"three"}, form=form)
    with tarfile.open(path, "a", format=form) as out:
        for name, kind in (("Images/more", tarfile.DIRTYPE), ("link.jpg", tarfile.SYMTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "1.jpg"
            out.addfile(member)
    assert {name: one.read() for name, one in in_tar(path).items()} == {
        "1.jpg": b"one",
        "2.jpg": b"two",
        long: b"three",
    }


def test_of_a_file_that_was_added_anew_the_last_counts_and_two_of_one_name_are_refused(tmp_path):
    path = tar(tmp_path, {"a/1.jpg": b"old"})
    tar(tmp_path, {"a/1.jpg": b"new"}, mode="a")
    assert in_tar(path)["1.jpg"].read() == b"new"
    tar(tmp_path, {"b/1.jpg": b"another"}, mode="a")
    with pytest.raises(ValueError, match=r"expected unique names\. Received: a/1\.jpg and b/1\.jpg"):
        in_tar(path)


@pytest.mark.parametrize("packing", ["gz", "xz", "bz2"])
def test_a_compressed_tar_is_refused(tmp_path, packing):
    path = tar(tmp_path, mode=f"w:{packing}")
    with pytest.raises(ValueError, match=r"files\.tar: expected a plain \.tar, not compressed"):
        in_tar(path)


@pytest.mark.parametrize("data", [b"", b"not a tar at all", b"\xff" * 2000])
def test_what_is_no_tar_is_refused(tmp_path, data):
    (tmp_path / "files.tar").write_bytes(data)
    with pytest.raises(ValueError, match=r"files\.tar: expected a plain \.tar"):
        in_tar(tmp_path / "files.tar")


def test_a_tar_that_breaks_off_is_refused_wherever_it_does(tmp_path):
    path = tar(tmp_path, {"1.jpg": b"1" * 700, "2.jpg": b"2" * 100, "3.jpg": b""})
    whole = path.read_bytes()
    assert len(in_tar(path)) == 3
    end = 6 * tarfile.BLOCKSIZE  # three headers and three blocks of data, followed by empty ones
    assert not any(whole[end:])
    for cut in range(0, end + 1, 64):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=r"files\.tar: expected a (plain \.tar|complete tar)"):
            in_tar(path)


def test_a_tar_with_rubbish_among_its_files_is_refused(tmp_path):
    path = tar(tmp_path, {"1.jpg": b"1" * 700, "2.jpg": b"2" * 100})
    whole = bytearray(path.read_bytes())
    whole[3 * tarfile.BLOCKSIZE : 4 * tarfile.BLOCKSIZE] = b"?" * tarfile.BLOCKSIZE  # the header of the second file
    path.write_bytes(whole)
    with pytest.raises(
        ValueError,
        match=r"files\.tar: expected a complete tar archive\. Received: an archive that is truncated after 1\.jpg",
    ):
        in_tar(path)


def test_a_stretch_of_a_file(tmp_path):
    (tmp_path / "a").write_bytes(b"0123456789")
    assert Stored(tmp_path / "a").read() == b"0123456789"
    assert Stored(tmp_path / "a", 3, 4).read() == b"3456"
    assert Stored(tmp_path / "a", 9).read() == b"9"


def test_real_pictures(shared_data):
    found = in_tar(shared_data / "flickr8k" / "images224_dev.tar")
    assert len(found) == 1000
    assert all(one.read()[:2] == b"\xff\xd8" for one in list(found.values())[::100])  # JPEG
