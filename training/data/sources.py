"""Where examples come from, and their splits: read into memory, or kept on disk where they are many."""

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from seqattn_tf.core.atomic_io import user_cache
from seqattn_tf.core.compressed import is_compressed
from seqattn_tf.training.checkpoints import digest
from seqattn_tf.training.data import dealing
from seqattn_tf.training.data.code_version import READING, code_version
from seqattn_tf.training.data.corpus import Corpus
from seqattn_tf.training.data.examples import TEST_SHARE, TEST_START, Example, Splits, hold_out, hold_out_dev
from seqattn_tf.training.data.reading import current_rules

_STREAMS = ("auto", "always", "never")
IN_MEMORY = 64 * 2**20  # bytes of text
_PACKING = 4  # bytes of text in one of a packed file, about
_FORMAT = 1  # of a corpus on disk


@dataclasses.dataclass(frozen=True)
class Source:
    """Examples that can be read again and again.

    Args:
        name: what is said of them.
        read: gives them one after the other.
        size: bytes of text, about.
        state: what is another when they are, as JSON holds it.
    """

    name: str
    read: Callable[[], Iterator[Example]]
    size: int
    state: Any

    @classmethod
    def of_files(
        cls, name: str, paths: Iterable[Path], read: Callable[[], Iterator[Example]], asked: Sequence[str]
    ) -> "Source":
        """That of some files, of which something was asked."""
        found = [(path, path.stat()) for path in paths]
        size = sum(about.st_size * (_PACKING if is_compressed(path) else 1) for path, about in found)
        return cls(name, read, size, [[str(p.resolve()), a.st_size, a.st_mtime_ns] for p, a in found] + [list(asked)])


def split_sources(sources: Mapping[str, Source], stream: str = "auto") -> Splits:
    """Splits of what there is: `train`, and `dev` and `test` held out of it where they are not given.

    Args:
        sources: that of `train` at least.
        stream: whether the training examples stay on disk: `always`, `never`, or `auto`, where they are many.
    """
    if stream not in _STREAMS:
        raise ValueError(f"stream: expected one of {_STREAMS}. Received: {stream!r}")
    names = {part: source.name for part, source in sources.items()}
    train = sources["train"]
    if stream == "never" or (stream == "auto" and train.size <= IN_MEMORY):
        return split({part: list(source.read()) for part, source in sources.items()}, names)
    held = [part for part in ("test", "dev") if part not in sources]
    stored = _stored(train, held)
    examples = {
        part: list(sources[part].read()) if part in sources else stored.held_out(part) for part in ("dev", "test")
    }
    return _splits({"train": stored, **examples}, names, held)


def _stored(train: Source, held: Sequence[str]) -> Corpus:
    """The corpus of these examples in the user's cache; written where it is not there, or not whole."""
    rules = current_rules()
    state = [_FORMAT, train.state, sorted(held), rules.encoding, rules.max_bad_rows, code_version(*READING)]
    folder = user_cache() / "corpora" / digest(json.dumps(state).encode())
    try:
        return Corpus(folder)
    except ValueError:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        dealing.write(folder, train.read(), train.size, held)
    except OSError:
        if not folder.is_dir():  # else another process was faster
            raise
    return Corpus(folder)


def split(examples: Mapping[str, list[Example]], names: Mapping[str, str]) -> Splits:
    """Splits of examples in memory: `train`, and `dev` and `test` held out of it where they are not given.

    Args:
        examples: of `train` at least.
        names: where each part comes from; said in `origin`.
    """
    held = [part for part in ("test", "dev") if part not in examples]
    parts = {"train": [], **examples}
    if "test" in held:
        parts["train"], parts["test"] = hold_out(parts["train"], TEST_SHARE, start=TEST_START)
    if "dev" in held:
        parts["train"], parts["dev"] = hold_out_dev(parts["train"])
    return _splits(parts, names, held)


def _splits(parts: Mapping[str, Sequence[Example]], names: Mapping[str, str], held: Sequence[str]) -> Splits:
    if not (len(parts["train"]) and parts["dev"] and parts["test"]):
        counts = f"{len(parts['train'])} to train, {len(parts['dev'])} for development, {len(parts['test'])} to test"
        raise ValueError(f"{names['train']}: expected pairs for each split. Received: {counts}")
    origin = ", ".join(dict.fromkeys(names[part] for part in ("train", "dev", "test") if part not in held))
    if held:
        origin += f" ({' and '.join(reversed(held))} held out of train by hash of the source)"
    return Splits(parts["train"], parts["dev"], parts["test"], origin)
