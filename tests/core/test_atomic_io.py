import json

import pytest

from seqattn_tf.core.atomic_io import write_atomically, write_json


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_whole_and_replaces_the_one_before(tmp_path):
    target = tmp_path / "new" / "note.txt"
    for text in ("one", "two"):
        with write_atomically(target) as aside:
            assert (aside.parent, aside.suffix) == (target.parent, ".txt")
            assert aside.name.startswith(".")
            aside.write_text(text)
            assert not target.exists() or target.read_text() == "one"
        assert target.read_text() == text
    assert names(target.parent) == ["note.txt"]


def write_half(target, folder=False):
    with write_atomically(target) as aside:
        if folder:
            aside.mkdir()
        (aside / "half" if folder else aside).touch()
        raise RuntimeError


def write_folder(target, **how):
    with write_atomically(target, **how) as aside:
        aside.mkdir()
        (aside / "new").touch()


def test_after_an_error_the_old_is_there_and_nothing_else(tmp_path):
    target = tmp_path / "note.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError):
        write_half(target)
    with pytest.raises(RuntimeError):
        write_half(tmp_path / "folder", folder=True)
    assert names(tmp_path) == ["note.txt"]
    assert target.read_text() == "old"


def test_a_folder_replaces_another_only_if_told_to(tmp_path):
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").touch()
    with pytest.raises(OSError, match="not empty"):
        write_folder(target)
    assert (names(tmp_path), names(target)) == (["folder"], ["old"])
    write_folder(target, replace_folder=True)
    assert (names(tmp_path), names(target)) == (["folder"], ["new"])


def test_json_is_written_for_people(tmp_path):
    write_json(tmp_path / "a.json", {"text": "ä", "list": [1]})
    written = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert json.loads(written) == {"text": "ä", "list": [1]}
    assert "ä" in written
    assert written.endswith("}\n")
