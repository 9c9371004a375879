"""Files of folders and archives: names, decompression, and what damaged or hostile archives lead to."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import pytest

from seqattn_tf.training.data.catalog import originals
from seqattn_tf.training.data.catalog.originals import Originals


def add_to_tar(tar, name, data, **fields):
    member = tarfile.TarInfo(name)
    member.size = len(data)
    for field, value in fields.items():
        setattr(member, field, value)
    tar.addfile(member, io.BytesIO(data))


def write_archive(path, files, mode="w:gz"):
    """Write a zip or tar archive of some files, by name."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    else:
        with tarfile.open(path, mode) as tar:
            for name, data in files.items():
                add_to_tar(tar, name, data)
    return path


def read_all(folder):
    found = Originals(folder)
    return [found.read(name) for name in found.names]


FILES = {"inner/a.txt": b"one\n", "inner/b.tsv.gz": gzip.compress(b"two\n"), "inner/deep/c.txt": b"three\n"}
ARCHIVES = {"set.zip": "", "set.tar": "w:", "set.tar.gz": "w:gz", "set.tgz": "w:gz", "set.tar.xz": "w:xz"}


@pytest.mark.parametrize("name", ARCHIVES)
def test_files_of_an_archive_are_read_without_unpacking(name, tmp_path):
    path = write_archive(tmp_path / name, FILES, ARCHIVES[name])
    for place, prefix in ((tmp_path, ""), (path, "")):
        found = Originals(place)
        assert found.names == [f"{prefix}{name}/inner/{file}" for file in ("a.txt", "b.tsv", "deep/c.txt")]
        assert found.read(found.one("b.tsv")) == b"two\n"
        assert list(found.lines(found.one("deep/c.txt"))) == [b"three"]
        assert [data for _, data in found.contents("*.t*")] == [b"one\n", b"two\n", b"three\n"]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_files_of_a_folder_are_read_decompressed_and_hidden_ones_left_out(tmp_path):
    (tmp_path / "sub" / ".git").mkdir(parents=True)
    (tmp_path / "sub" / ".git" / "x.txt").write_text("no")
    (tmp_path / ".hidden.zip").write_text("no archive")
    for name, data in {
        "a.txt": b"a\r\nb",
        "b.txt.gz": gzip.compress(b"b"),
        "c.txt.xz": lzma.compress(b"c"),
        "d.txt.bz2": bz2.compress(b"d"),
    }.items():
        (tmp_path / "sub" / name).write_bytes(data)
    found = Originals(tmp_path)
    assert found.names == ["sub/a.txt", "sub/b.txt", "sub/c.txt", "sub/d.txt"]
    assert [found.read(name) for name in found.names] == [b"a\r\nb", b"b", b"c", b"d"]
    assert list(found.lines("sub/a.txt")) == [b"a", b"b"]
    assert found.missing(["sub/*.txt", "e.txt"]) == ["e.txt"]
    with pytest.raises(ValueError, match=r"expected one file e\.txt\. Received: none"):
        found.one("e.txt")
    with pytest.raises(ValueError, match=r"expected one file \?\.txt\. Received: sub/a\.txt, sub/b\.txt, sub/c\.txt"):
        found.one("?.txt")


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_truncated_archive_is_an_error_that_names_it(name, tmp_path):
    path = write_archive(tmp_path / name, {"a.bin": bytes(range(256)) * 800, "b.txt": b"b"}, ARCHIVES[name])
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    with pytest.raises(ValueError, match=rf"{name}: expected a complete .* file\. Received: ."):
        read_all(tmp_path)


@pytest.mark.parametrize("name", ["set.zip", "set.tar.gz", "set.tar.xz"])
@pytest.mark.parametrize("data", [b"", b"no archive at all"])
def test_a_file_that_is_no_archive_is_an_error(name, data, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=rf"{name}: expected a complete .* file\. Received: ."):
        Originals(tmp_path)


def test_a_damaged_member_is_an_error(tmp_path):
    path = tmp_path / "set.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a.txt", b"some text")
    path.write_bytes(path.read_bytes().replace(b"some text", b"some tixt", 1))
    with pytest.raises(ValueError, match=r"set\.zip: expected a complete \.zip file\. Received: Bad CRC-32"):
        Originals(path).read("set.zip/a.txt")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"some text")[:-6])
    found = Originals(tmp_path)
    with pytest.raises(ValueError, match=r"b\.txt\.gz: expected a complete .* file"):
        found.read("b.txt")


@pytest.mark.parametrize("name", ["../a.txt", "inner/../../a.txt", "/etc/a.txt", "C:/a.txt", "..\\a.txt"])
@pytest.mark.parametrize("archive", ["set.zip", "set.tar"])
def test_a_member_outside_its_archive_is_an_error(name, archive, tmp_path):
    path = write_archive(tmp_path / archive, {name: b"text"}, "w:")
    with pytest.raises(ValueError, match=r"expected names of files inside the archive\. Received: "):
        Originals(tmp_path)
    with pytest.raises(ValueError, match=r"expected names of files inside the archive\. Received: "):
        list(originals.members(path))


def test_links_in_an_archive_are_left_out(tmp_path):
    with tarfile.open(tmp_path / "set.tar", "w") as tar:
        add_to_tar(tar, "link", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd")
        add_to_tar(tar, "a.txt", b"a")
    assert Originals(tmp_path).names == ["set.tar/a.txt"]


def test_sizes_and_numbers_are_bounded(tmp_path, monkeypatch):
    write_archive(tmp_path / "set.zip", {"zeros.txt": bytes(5000)})
    found = Originals(tmp_path)
    monkeypatch.setattr(originals, "LONGEST_LINE", 100)
    with pytest.raises(ValueError, match=r"zeros\.txt: expected lines of at most 100 bytes"):
        list(found.lines("set.zip/zeros.txt"))
    with pytest.raises(ValueError, match=r"zeros\.txt: expected at most 4999 bytes\. Received: more"):
        originals.read_at_most(io.BytesIO(bytes(5000)), "zeros.txt", 4999)
    monkeypatch.setattr(originals, "LARGEST_MEMBER", 100)
    write_archive(tmp_path / "set.tar", {"zeros.txt": bytes(5000)}, "w:")
    with pytest.raises(ValueError, match=r"set\.tar: expected a complete .*Received: a member of 5000 bytes"):
        Originals(tmp_path / "set.tar")
    monkeypatch.setattr(originals, "MOST_FILES", 3)
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text("")
    with pytest.raises(ValueError, match=r"expected the files of one data set\. Received: over 3 files"):
        Originals(tmp_path)


def test_a_path_that_is_neither_a_folder_nor_an_archive_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"from: expected a folder or an archive\. Received: .*, which does not exist"):
        Originals(tmp_path / "nowhere")
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(ValueError, match=r"from: expected a folder or an archive \(\.zip, \.tar.*Received: .*a\.txt"):
        Originals(tmp_path / "a.txt")
