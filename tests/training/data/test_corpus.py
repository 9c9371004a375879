"""Examples on disk: nothing is lost or duplicated, no key is in two splits, and damage is repaired."""

import collections
import json
import os
import zlib

import pytest

from seqattn_tf.lite.text import Texts
from seqattn_tf.training.data import DataWarning, Example, Splits, corpus, from_text, sources, windows
from seqattn_tf.training.data.code_version import READING, SPLITTING, code_version
from seqattn_tf.training.data.corpus import Corpus
from seqattn_tf.training.data.examples import share
from seqattn_tf.training.data.reading import reading_with
from seqattn_tf.training.data.sources import Source, split_sources
from seqattn_tf.training.data.windows import write

STRANGE = ['a "quote"', "two\nlines", "tab\there", "grün ☃ \u2028 end", "\\"]


def made(count, words=1):
    texts = [*STRANGE, *(" ".join(f"w{n * k % 97}" for k in range(1, words + 1)) + f" {n}" for n in range(count))]
    return [from_text(text, text[::-1]) for text in texts]


@pytest.fixture(autouse=True)
def _small(monkeypatch, tmp_path):
    monkeypatch.setattr(windows, "WINDOW", 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def size(examples):
    return sum(len(cell.encode()) for example in examples for cell in (*example.inputs.values(), example.target))


def stored(folder, examples, **how):
    write(folder, examples, size(examples), **how)
    return Corpus(folder)


def source(examples, state="one"):
    return Source("made", lambda: iter(examples), size(examples), state)


def test_every_example_is_in_one_window_as_it_was(tmp_path):
    examples = made(500)
    found = stored(tmp_path / "c", examples)
    assert found.windows > 5
    assert len(found) == len(examples)
    windows = [list(found.window(number)) for number in range(found.windows)]
    assert [example for window in windows for example in window] == list(found)
    assert collections.Counter(map(str, found)) == collections.Counter(map(str, examples))
    assert found.rows == [len(window) for window in windows]
    assert max(found.rows) < 2 * len(examples) / found.windows
    places = [examples.index(example) for example in windows[0]]
    assert min(places) < 100  # a window contains rows from all the data
    assert max(places) > 400
    assert (found[3], found[-1], found[2:9:3]) == (list(found)[3], list(found)[-1], list(found)[2:9:3])
    with pytest.raises(IndexError):
        found[len(found)]
    with pytest.raises(ValueError, match=r"examples: expected an input 'image' in each\. Received: \['text'\]"):
        found.inputs("image")


def test_a_corpus_is_the_same_whenever_it_is_written(tmp_path):
    examples = made(200)
    one, other = stored(tmp_path / "a", examples), stored(tmp_path / "b", examples)
    assert list(one) == list(other)
    assert one.checksum() == other.checksum() != stored(tmp_path / "c", examples[1:]).checksum()
    assert one.checksum(1) != one.checksum(2)


def test_several_inputs(tmp_path):
    examples = [Example(f"p{n}\th{n}", {"premise": f"p{n}", "hypothesis": f"h{n}"}, "yes") for n in range(30)]
    found = stored(tmp_path / "c", examples)
    assert sorted(found) == sorted(examples)
    assert sorted(found.inputs("hypothesis")) == sorted(f"h{n}" for n in range(30))
    assert set(found.targets) == {"yes"}
    assert found.inputs("premise")[0] == found[0].inputs["premise"]


@pytest.mark.parametrize("most", [7, 10_000])
def test_held_out_are_those_of_the_smallest_hashes_with_all_of_their_key(tmp_path, monkeypatch, most):
    examples = [from_text(f"key {n % 300}", str(n)) for n in range(900)]
    monkeypatch.setattr(windows, "HELD_OUT", {"dev": (0.0, 0.1, most), "test": (0.5, 0.2, most)})
    found = stored(tmp_path / "c", examples, held=["dev", "test"])
    parts = {"train": list(found), **{part: found.held_out(part) for part in ("dev", "test")}}
    assert sorted(row for rows in parts.values() for row in rows) == sorted(examples)
    keys = {part: {example.key for example in rows} for part, rows in parts.items()}
    assert sum(map(len, keys.values())) == 300  # no key is in two splits
    for part, start, end in (("dev", 0.0, 0.1), ("test", 0.5, 0.7)):
        ranked = sorted((k for k in {e.key for e in examples} if start <= share(k) < end), key=share)
        assert keys[part] == set(ranked[: most // 3])  # three rows for each key
        assert [e.target for e in parts[part]] == sorted((e.target for e in parts[part]), key=int)


def test_a_key_that_was_given_back_is_not_held_out_again():
    part = windows._HeldOut(0.0, 1.0, 2)
    assert [part.add(where, line) for where, line in ((0.2, "a"), (0.6, "b"), (0.6, "c"))] == [[], [], ["b", "c"]]
    assert part.takes(0.5)
    assert not part.takes(0.6)


def test_files_read_by_other_rules_are_another_corpus():
    def folder(**rules):
        with reading_with(**rules):
            return split_sources({"train": source(made(100))}, "always").train.folder

    assert folder() == folder()
    assert len({folder(), folder(encoding="cp1252"), folder(max_bad_rows=0.5)}) == 3


def test_symbols_are_counted_as_in_memory_and_once(tmp_path, monkeypatch):
    examples = made(300, words=3)
    found = stored(tmp_path / "c", examples)
    for how in (["characters"], ["spaces", True], ["words", True, True]):
        expected = Texts([example.inputs["text"] for example in examples]).counts(*how)
        assert found.inputs("text").counts(*how) == expected
    assert found.targets.counts("spaces") != found.inputs("text").counts("spaces")
    monkeypatch.setattr(Corpus, "cells", lambda *_: pytest.fail("counted again"))
    assert found.inputs("text").counts("words", True, True) == expected


def test_of_too_many_symbols_the_rare_ones_are_forgotten(tmp_path, monkeypatch):
    examples = [from_text(f"often w{n} {'sometimes' if n % 3 else ''}", "x") for n in range(400)]
    found = stored(tmp_path / "c", examples)
    monkeypatch.setattr(corpus, "MOST_SYMBOLS", 50)
    with pytest.warns(DataWarning, match="expected at most 50 different tokens"):
        counts = found.inputs("text").counts("spaces")
    assert len(counts) <= 50
    assert counts["often"] == 400
    assert counts["sometimes"] == 266


def test_how_rare_the_forgotten_symbols_are_is_said_exactly(tmp_path, monkeypatch):
    """The limit in the warning must not be off by one."""
    found = stored(tmp_path / "c", [from_text(f"often w{n}", "x") for n in range(60)])
    monkeypatch.setattr(found, "rows", [60])
    monkeypatch.setattr(found, "cells", lambda _: (["often", f"w{n}", "x"] for n in range(60)))
    texts = found.inputs("text")
    texts.place = 1
    monkeypatch.setattr(corpus, "MOST_SYMBOLS", 50)
    with pytest.warns(DataWarning, match="occur at most 1 times"):
        assert not texts.counts("spaces")


def test_windows_larger_than_was_thought_are_dealt_again(tmp_path):
    examples = made(500)
    write(tmp_path / "c", examples, 2500)  # as for a compressed file
    found = Corpus(tmp_path / "c")
    assert found.windows > 10
    assert sorted(found) == sorted(examples)
    assert max(path.stat().st_size for path in (tmp_path / "c").glob("0*.jsonl")) < 3000
    assert {path.name for path in (tmp_path / "c").iterdir()} == {
        "about.json",
        *(f"{window:05d}.jsonl" for window in range(found.windows)),
    }


def test_a_corpus_appears_whole_or_not_at_all(tmp_path):
    def broken():
        yield from made(300)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "c", broken(), 10_000)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="expected a complete corpus"):
        Corpus(tmp_path / "c")


def test_what_a_killed_process_left_is_swept_after_a_day(tmp_path):
    for name, age in ((".old", 100_000), (".new", 100)):
        (tmp_path / name).mkdir()
        then = (tmp_path / name).stat().st_mtime - age
        os.utime(tmp_path / name, (then, then))
    stored(tmp_path / "c", made(5))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".new", "c"]


def test_few_data_are_in_memory_and_many_on_disk(monkeypatch):
    examples = made(2000)
    assert isinstance(split_sources({"train": source(examples)}).train, list)
    always = split_sources({"train": source(examples)}, "always")
    assert isinstance(always.train, Corpus)
    monkeypatch.setattr(sources, "IN_MEMORY", 10_000)
    assert isinstance(split_sources({"train": source(examples)}).train, Corpus)
    assert isinstance(split_sources({"train": source(examples)}, "never").train, list)
    with pytest.raises(ValueError, match=r"stream: expected one of .* Received: 'often'"):
        split_sources({"train": source(examples)}, "often")


def test_the_same_keys_are_held_out_as_in_memory():
    """With 4000 examples, both use the normal shares; with fewer, memory would use a fifth for development."""
    examples = [from_text(f"word {n}", str(n)) for n in range(4000)]
    memory = split_sources({"train": source(examples)}, "never")
    disk = split_sources({"train": source(examples)}, "always")
    assert disk.test == memory.test
    assert disk.dev == memory.dev
    assert sorted(disk.train) == sorted(memory.train)
    assert disk.origin == memory.origin == "made (dev and test held out of train by hash of the source)"


def test_parts_that_are_given_are_not_held_out():
    dev = [from_text("dev", "x")]
    found = split_sources({"train": source(made(300)), "dev": source(dev, "dev")}, "always")
    assert found.dev == dev
    assert len(found.train) + len(found.test) == 305
    assert found.origin == "made (test held out of train by hash of the source)"
    with pytest.raises(ValueError, match=r"made: expected pairs for each split\. Received: 2 training, 0 development"):
        split_sources({"train": source([from_text("a", "b"), from_text("c", "d")])}, "always")


def test_it_is_written_once_and_again_when_the_data_change_or_it_is_damaged(tmp_path):
    calls = []

    def counted(state):
        examples = made(400)

        def read():
            calls.append(state)
            return iter(examples)

        return {"train": Source("made", read, size(examples), state)}

    first = split_sources(counted("one"), "always")
    assert split_sources(counted("one"), "always").fingerprint == first.fingerprint
    assert calls == ["one"]
    split_sources(counted("two"), "always")
    assert calls == ["one", "two"]
    for damage in (
        lambda folder: (folder / "00001.jsonl").write_text("[]"),
        lambda folder: (folder / "about.json").unlink(),
    ):
        damage(first.train.folder)
        again = split_sources(counted("one"), "always")
        assert list(again.train) == list(first.train)
    assert calls == ["one", "two", "one", "one"]


def test_the_checksum_of_splits_is_of_all_their_parts():
    examples = made(50)
    plain = Splits(examples, examples[:1], examples[1:2], "")
    total = 0
    for part in (examples, examples[:1], examples[1:2]):
        for example in part:
            total = zlib.crc32(example.line.encode(), total)
        total = zlib.crc32(b"\n\n", total)
    assert plain.fingerprint == f"{total:08x}"
    disk = split_sources({"train": source(made(3000))}, "always")
    fewer = split_sources({"train": source(made(3000)[1:], "fewer")}, "always")
    assert disk.fingerprint != fewer.fingerprint


def test_at_most_so_many_are_taken_into_memory():
    found = split_sources({"train": source(made(3000))}, "always")
    assert isinstance(found.at_most(0).train, Corpus)
    few = found.at_most(20).train
    assert not isinstance(few, Corpus)
    assert list(few) == list(found.train)[:20]


def test_lines_are_json(tmp_path):
    stored(tmp_path / "c", made(3))
    rows = [json.loads(line) for line in (tmp_path / "c" / "00000.jsonl").read_text("utf-8").split("\n")[:-1]]
    assert ["two\nlines", "senil\nowt"] in rows


def test_a_digest_of_code_follows_from_every_source_file(tmp_path, monkeypatch):
    package = tmp_path / "splitting_of_mine"
    package.mkdir()
    for name in ("__init__", "words"):
        (package / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    found = [code_version(package.name)]
    for name in ("__init__", "words", "letters"):
        (package / f"{name}.py").write_text("changed = True")
        code_version.cache_clear()
        found.append(code_version(package.name))
    assert len(set(found)) == 4
    for module in (*SPLITTING, *READING):
        assert code_version(module) != code_version()  # it has source code


def test_what_other_code_counted_or_read_is_not_used(tmp_path, monkeypatch):
    """Counts of symbols and rows on disk must not be used after a change of the code."""
    texts = stored(tmp_path / "c", made(50)).inputs("text")
    texts.counts("characters")
    before = sorted((tmp_path / "c").glob("counts-*"))
    first = split_sources({"train": source(made(300))}, "always").train.folder
    for module in (corpus, sources):
        monkeypatch.setattr(module, "code_version", lambda *modules: "another")
    texts.counts("characters")
    assert len(sorted((tmp_path / "c").glob("counts-*"))) == len(before) + 1
    assert split_sources({"train": source(made(300))}, "always").train.folder != first
