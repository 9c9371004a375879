"""Sources of examples and their splits: read into memory, or stored on disk if they are large."""

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from seqattn_tf.core.atomic_io import user_cache
from seqattn_tf.core.compressed import is_compressed
from seqattn_tf.training.checkpoints import digest
from seqattn_tf.training.data import windows
from seqattn_tf.training.data.code_version import READING, code_version
from seqattn_tf.training.data.corpus import Corpus
from seqattn_tf.training.data.examples import TEST_SHARE, TEST_START, Example, Splits, hold_out, hold_out_dev
from seqattn_tf.training.data.reading import current_rules

_STREAMS = ("auto", "always", "never")
IN_MEMORY = 64 * 2**20  # bytes of text
_PACKING = 4  # approximate bytes of text per byte of a compressed file
_FORMAT = 1  # the version of the format of a corpus on disk


_FOR_TEST: ContextVar[bool] = ContextVar("for_test", default=False)


@contextlib.contextmanager
def read_for_test() -> Iterator[None]:
    """Read data as a test set inside the `with` block: the test part if there is one, otherwise all of it."""
    held = _FOR_TEST.set(True)
    try:
        yield
    finally:
        _FOR_TEST.reset(held)


def reads_for_test() -> bool:
    """Return whether data are read as a test set, so that the other parts are empty."""
    return _FOR_TEST.get()


@dataclasses.dataclass(frozen=True)
class Source:
    """Examples that can be read repeatedly.

    Args:
        name: A name for messages.
        read: Returns an iterator over the examples.
        size: The approximate size of the texts in bytes.
        state: A JSON value that changes whenever the examples change.
    """

    name: str
    read: Callable[[], Iterator[Example]]
    size: int
    state: Any

    @classmethod
    def of_files(
        cls, name: str, paths: Iterable[Path], read: Callable[[], Iterator[Example]], asked: Sequence[str]
    ) -> "Source":
        """Return a source that reads some files.

        Args:
            name: A name for messages.
            paths: The files.
            read: Returns an iterator over the examples.
            asked: The columns to read, on which the examples depend as well.
        """
        found = [(path, path.stat()) for path in paths]
        size = sum(about.st_size * (_PACKING if is_compressed(path) else 1) for path, about in found)
        return cls(name, read, size, [[str(p.resolve()), a.st_size, a.st_mtime_ns] for p, a in found] + [list(asked)])


def split_sources(sources: Mapping[str, Source], stream: str = "auto") -> Splits:
    """Return the splits of some sources; `dev` and `test` are held out of `train` if they are missing.

    Args:
        sources: The source of each part, at least of `train`.
        stream: Whether the training examples stay on disk: `always`, `never`, or `auto` for only if they are large.
    """
    if stream not in _STREAMS:
        raise ValueError(f"stream: expected one of {_STREAMS}. Received: {stream!r}")
    names = {part: source.name for part, source in sources.items()}
    train = sources["train"]
    if stream == "never" or reads_for_test() or (stream == "auto" and train.size <= IN_MEMORY):
        return split({part: list(source.read()) for part, source in sources.items()}, names)
    held = [part for part in ("test", "dev") if part not in sources]
    stored = _stored(train, held)
    examples = {
        part: list(sources[part].read()) if part in sources else stored.held_out(part) for part in ("dev", "test")
    }
    return _splits({"train": stored, **examples}, names, held)


def _stored(train: Source, held: Sequence[str]) -> Corpus:
    """Return the corpus of these examples in the user's cache; write it if it is missing or incomplete."""
    rules = current_rules()
    state = [_FORMAT, train.state, sorted(held), rules.encoding, rules.max_bad_rows, code_version(*READING)]
    folder = user_cache() / "corpora" / digest(json.dumps(state).encode())
    try:
        return Corpus(folder)
    except ValueError:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        windows.write(folder, train.read(), train.size, held)
    except OSError:
        if not folder.is_dir():  # otherwise another process wrote it first
            raise
    return Corpus(folder)


def split(examples: Mapping[str, list[Example]], names: Mapping[str, str]) -> Splits:
    """Return splits of examples in memory; `dev` and `test` are held out of `train` if they are missing.

    Args:
        examples: The examples of each part, at least of `train`.
        names: The origin of each part, which becomes part of `origin`.
    """
    if reads_for_test():
        part = "test" if "test" in examples else "train"
        return Splits([], [], examples[part], names[part])
    held = [part for part in ("test", "dev") if part not in examples]
    parts = {"train": [], **examples}
    if "test" in held:
        parts["train"], parts["test"] = hold_out(parts["train"], TEST_SHARE, start=TEST_START)
    if "dev" in held:
        parts["train"], parts["dev"] = hold_out_dev(parts["train"])
    return _splits(parts, names, held)


def _splits(parts: Mapping[str, Sequence[Example]], names: Mapping[str, str], held: Sequence[str]) -> Splits:
    if not (len(parts["train"]) and parts["dev"] and parts["test"]):
        counts = (
            f"{len(parts['train'])} training, {len(parts['dev'])} development and {len(parts['test'])} test examples"
        )
        raise ValueError(f"{names['train']}: expected pairs for each split. Received: {counts}")
    origin = ", ".join(dict.fromkeys(names[part] for part in ("train", "dev", "test") if part not in held))
    if held:
        origin += f" ({' and '.join(reversed(held))} held out of train by hash of the source)"
    return Splits(parts["train"], parts["dev"], parts["test"], origin)
