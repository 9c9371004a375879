"""Comparison with the reference and conversion, on a made-up data set."""

import dataclasses
import gzip
import hashlib
import io
import lzma
import random
import tarfile

import pytest

from seqattn_tf.training.data.catalog import Dataset, Expected, Source, checking
from seqattn_tf.training.data.catalog.base import copied
from seqattn_tf.training.data.catalog.originals import Originals

WORDS, SOUNDS = b"some words\n", {"1_a.wav": b"one", "2_b.wav": b"two!"}


def checksum(data):
    return hashlib.sha256(data).hexdigest()


LISTED = "".join(f"{checksum(data)}  {name}\n" for name, data in SOUNDS.items())  # as `sha256sum *.wav` prints it
MADE_UP = Dataset(
    name="made_up",
    title="words and sounds",
    recipes=("tag",),
    license="none",
    source=Source("nobody", "1.0", "none"),
    split="none",
    files={
        "words.txt": Expected(len(WORDS), checksum(WORDS)),
        "sounds": Expected(7, checksum(LISTED.encode()), pattern=r"(.*/)?\d_[a-z]\.wav", count=2),
    },
    convert=copied({"words.txt": "text/original.txt"}),
    originals=("text/original.txt",),
    archives=r".*\.tar\.xz",
    folders=("inner",),
    versions={checksum(b"older words\n")[:16]: "version 0.9"},
)


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def states(folder):
    return [finding.state for finding in checking.verify(MADE_UP, folder)]


def sounds_in_tar(path, sounds):
    with tarfile.open(path, "w:xz") as tar:
        for name, data in reversed(sounds.items()):
            member = tarfile.TarInfo(f"./recordings/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


@pytest.mark.parametrize("name", ["words.txt", "words.txt.gz", "words.txt.xz"])
def test_copies_are_equal_however_they_are_compressed(name, tmp_path):
    packed = {"txt": bytes, "gz": gzip.compress, "xz": lzma.compress}[name.rpartition(".")[2]](WORDS)
    write(tmp_path, {name: packed, **SOUNDS})
    assert states(tmp_path) == ["equal", "equal"]
    assert checking.is_prepared(MADE_UP, tmp_path)


def test_a_group_is_found_in_archives_and_subfolders_that_the_recipe_reads(tmp_path):
    write(tmp_path / "archive", {"words.txt": WORDS})
    sounds_in_tar(tmp_path / "archive" / "all.tar.xz", SOUNDS)
    assert states(tmp_path / "archive") == ["equal", "equal"]
    write(tmp_path / "folder", {"words.txt": WORDS})
    write(tmp_path / "folder" / "inner", SOUNDS)
    assert states(tmp_path / "folder") == ["equal", "equal"]
    write(tmp_path / "other" / "elsewhere", SOUNDS)
    assert states(tmp_path / "other") == ["missing", "missing"]


def test_a_flipped_byte_is_reported(tmp_path):
    write(tmp_path, {"words.txt": WORDS.replace(b"s", b"t", 1), "1_a.wav": b"ons", "2_b.wav": b"two!"})
    words, sounds = checking.verify(MADE_UP, tmp_path)
    assert (words.state, sounds.state) == ("differs", "differs")
    assert words.detail.startswith("11 bytes, SHA-256 ")
    assert sounds.detail.startswith("2 files, 7 bytes, SHA-256 of their list ")


def test_other_sizes_and_numbers_are_reported(tmp_path):
    write(tmp_path, {"words.txt": WORDS[:-1], "1_a.wav": b"one"})
    words, sounds = checking.verify(MADE_UP, tmp_path)
    assert words.detail == "10 bytes, expected 11, words.txt"
    assert sounds.detail == "1 files, 3 bytes, expected 2 and 7"
    write(tmp_path, {"words.txt": bytes(4 * 2**20)})
    (words, _) = checking.verify(MADE_UP, tmp_path)
    assert words.detail == "more than 2097152 bytes, expected 11, words.txt"


def test_renamed_members_of_a_group_are_reported(tmp_path):
    write(tmp_path, {"words.txt": WORDS, "2_a.wav": b"one", "1_b.wav": b"two!"})
    assert states(tmp_path) == ["equal", "differs"]


def test_a_truncated_copy_is_an_error_that_names_the_file(tmp_path):
    write(tmp_path, {"words.txt.xz": lzma.compress(WORDS)[:-8]})
    with pytest.raises(ValueError, match=r"words\.txt\.xz: expected a complete \.xz file"):
        checking.verify(MADE_UP, tmp_path)
    (tmp_path / "words.txt.xz").unlink()
    sounds_in_tar(tmp_path / "all.tar.xz", {"1_a.wav": random.Random(0).randbytes(50_000)})
    (tmp_path / "all.tar.xz").write_bytes((tmp_path / "all.tar.xz").read_bytes()[:25_000])
    with pytest.raises(ValueError, match=r"all\.tar\.xz: expected a complete \.tar\.xz file"):
        checking.verify(MADE_UP, tmp_path)


def test_the_original_is_converted_into_a_new_folder(tmp_path):
    write(tmp_path / "download" / "text", {"original.txt": WORDS})
    originals = Originals(tmp_path / "download")
    checking.convert(MADE_UP, originals, tmp_path / "data" / "made_up")
    assert states(tmp_path / "data" / "made_up") == ["equal", "missing"]
    with pytest.raises(ValueError, match=r"output: expected a folder that does not exist yet\. Received: .*made_up"):
        checking.convert(MADE_UP, originals, tmp_path / "data" / "made_up")
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["made_up"]


def test_a_failed_conversion_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(originals):
        yield "words.txt", WORDS
        yield "more.txt", b"\xff".decode().encode()

    write(tmp_path / "download" / "text", {"original.txt": WORDS})
    originals = Originals(tmp_path / "download")
    with pytest.raises(ValueError, match=r"download: expected files in UTF-8\. Received: 'utf-8' codec"):
        checking.convert(dataclasses.replace(MADE_UP, convert=fail), originals, tmp_path / "data" / "made_up")
    outside = dataclasses.replace(MADE_UP, convert=lambda _: iter([("../words", b"")]))
    with pytest.raises(ValueError, match=r"expected a plain file name\. Received: '\.\./words'"):
        checking.convert(outside, originals, tmp_path / "data" / "made_up")
    monkeypatch.setattr(checking, "_MOST", 10)
    with pytest.raises(ValueError, match="expected at most 10 bytes of data"):
        checking.convert(MADE_UP, originals, tmp_path / "data" / "made_up")
    assert list((tmp_path / "data").iterdir()) == []


def test_what_is_missing_is_named(tmp_path):
    write(tmp_path, {"other.txt": b""})
    with pytest.raises(ValueError, match=r"expected text/original\.txt\. Received: other\.txt"):
        checking.convert(MADE_UP, Originals(tmp_path), tmp_path / "data")
    with pytest.raises(ValueError, match="made_up: expected a data set with a converter"):
        checking.convert(dataclasses.replace(MADE_UP, convert=None), Originals(tmp_path), tmp_path / "data")
    error = checking.unrecognized(MADE_UP, "here", [])
    assert str(error) == (
        "here: expected words.txt, 2 files sounds (plain, .gz or .xz), or the original distribution "
        "(text/original.txt). Received: no files"
    )


def test_another_known_version_is_named(tmp_path):
    write(tmp_path, {"words.txt": b"older words\n", **SOUNDS})
    assert checking.version_of(MADE_UP, checking.verify(MADE_UP, tmp_path)) == "version 0.9"
    write(tmp_path, {"words.txt": b"strange words\n"})
    assert checking.version_of(MADE_UP, checking.verify(MADE_UP, tmp_path)) == ""
