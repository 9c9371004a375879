"""`seqattn data`: the list of data sets, one of them, and the verification and conversion of copies."""

import tarfile

import pytest

from seqattn_tf import cli
from seqattn_tf.training.data import catalog
from seqattn_tf.training.data.catalog import checking

PARTS = ("train", "dev", "test")
CONLLU = "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t0:root\t_\n\n"


@pytest.fixture
def release(tmp_path, monkeypatch):
    """A folder with a made-up release of UD English-EWT, in the working directory."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "release"
    folder.mkdir()
    for part in PARTS:
        (folder / f"en_ewt-ud-{part}.conllu").write_text(CONLLU, encoding="utf-8")
    return folder


def test_every_set_is_listed_with_its_recipes(capsys):
    assert cli.main(["data"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split() == ["name", "what", "license", "size", "recipes"]
    assert [line.split()[0] for line in lines] == catalog.names()
    for line in lines:
        dataset = catalog.get(line.split()[0])
        assert line.endswith(", ".join(dataset.recipes))
        assert f"{dataset.size / 1e6:.1f} MB" in line


@pytest.mark.parametrize("name", catalog.names())
def test_one_set_is_shown_with_its_checksums(name, capsys):
    assert cli.main(["data", name]) == 0
    shown, dataset = capsys.readouterr().out, catalog.get(name)
    for file, expected in dataset.files.items():
        assert f"{expected.sha256}  {file}  {expected.size} bytes" in shown
    assert dataset.source.project[:40] in shown
    assert (dataset.source.address or "address not checked") in shown
    assert max(map(len, shown.splitlines())) < 125


def test_the_original_is_converted_and_compared(release, capsys):
    assert cli.main(["data", "ud_ewt", "--from", "release"]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0] == "converted release to data/ud_ewt"
    assert [line.split()[:2] for line in printed.out.splitlines()[1:]] == [[f"{p}.tsv", "differs"] for p in PARTS]
    assert "data/ud_ewt is another version of ud_ewt than that of docs/results.md, or damaged" in printed.err
    assert (release.parent / "data/ud_ewt/train.tsv").read_text() == "Go\tVERB\tVB\t0\troot\n\n"
    assert cli.main(["data", "ud_ewt", "--from", "release"]) == 2
    assert "output: expected a folder that does not exist yet. Received: data/ud_ewt" in capsys.readouterr().err
    assert cli.main(["data", "ud_ewt", "--from", "data/ud_ewt", "-o", "again"]) == 2
    assert "output: expected none, because data/ud_ewt needs no conversion. Received: again" in capsys.readouterr().err


def test_a_known_version_and_the_reference_have_status_0(release, capsys, monkeypatch):
    assert cli.main(["data", "ud_ewt", "--from", "release", "-o", "own"]) == 1
    checksum = checking.verify(catalog.get("ud_ewt"), "own")[1].sha256
    monkeypatch.setitem(catalog.get("ud_ewt").versions, checksum[:16], "release 9.9")
    capsys.readouterr()
    assert cli.main(["data", "ud_ewt", "--from", "own"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "own is release 9.9 of ud_ewt. docs/results.md was measured with release 2.16 (May 2025)"


def test_the_reference_copy_has_status_0(shared_data, capsys):
    assert cli.main(["data", "ud_ewt", "--from", str(shared_data / "ud_ewt")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [[f"{part}.tsv", "equal"] for part in PARTS]
    assert lines[-1].endswith("equals the copy that docs/results.md was measured with")


def test_an_incomplete_copy_has_status_1(tmp_path, capsys):
    (tmp_path / "train.tsv").write_text("Go\tVERB\tVB\t0\troot\n\n")
    assert cli.main(["data", "ud_ewt", "--from", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert [line.split()[1] for line in printed.out.splitlines()] == ["differs", "missing", "missing"]
    assert "is an incomplete copy of ud_ewt" in printed.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ud_etw"], "name: expected one of ['babi', "),
        (
            ["ud_ewt", "--from", "nowhere"],
            "from: expected a folder or an archive. Received: nowhere, which does not exist",
        ),
        (["ud_ewt", "--from", "."], ".: expected train.tsv, dev.tsv, test.tsv (plain, .gz or .xz), or the original "),
        (["glove", "--from", "."], ".: expected glove100_subset_int8.npz (plain, .gz or .xz). Received: notes.txt"),
        (["--from", "."], "name: expected one of ['babi', "),
        (["ud_ewt", "-o", "here"], "from: expected a folder or an archive with --output. Received: none"),
    ],
)
def test_what_is_wrong_is_said(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("a foreign folder")
    assert cli.main(["data", *arguments]) == 2
    assert f"seqattn data: {message}" in capsys.readouterr().err


def test_a_foreign_archive_is_an_error(tmp_path, capsys):
    with tarfile.open(tmp_path / "other.tar.xz", "w:xz") as tar:
        tar.addfile(tarfile.TarInfo("notes.txt"))
    assert cli.main(["data", "fsdd", "--from", str(tmp_path)]) == 2
    assert "(recordings/*.wav). Received: other.tar.xz/notes.txt" in capsys.readouterr().err


def test_an_empty_folder_is_an_error(tmp_path, capsys):
    assert cli.main(["data", "fsdd", "--from", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "or the original distribution (recordings/*.wav). Received: no files" in error
