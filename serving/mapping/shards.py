"""Where answers are kept: parts that appear whole, what was set aside, and a manifest that knows the command."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seqattn_tf.aside import write_aside, write_json
from seqattn_tf.serving.mapping.outputs import FORMATS, Format

PLAN, LOCK, REJECTED, UNPACKED = "plan.json", ".lock", "rejected", "unpacked-"
_ASIDE = re.compile(r"\.[0-9a-f]{32}-")  # what a kill leaves of `write_aside`
_PASSING = re.compile(rf"{_ASIDE.pattern}|{UNPACKED}|{PLAN}$|{LOCK}$")


class Answered(NamedTuple):
    """What comes of a shard: the bytes of its part, and those of the lines that say which rows were bad."""

    number: int
    rows: int
    part: bytes
    rejected: bytes


class Report(NamedTuple):
    """What was done: rows of the input, how many of them were set aside, and where they are."""

    rows: int
    rejected: int
    output: Path
    rejected_output: Path


class Store:
    """The output of a command: one file, or a folder of parts.

    Args:
        output: a file whose ending says its format; or a folder, of parts in JSONL.

    >>> Store("answers.csv").folder.name, Store("answers").part(3).name
    ('answers.csv.parts', 'part-00003.jsonl')
    """

    def __init__(self, output: str | os.PathLike[str]) -> None:
        self.output = Path(output)
        self.single = self.output.suffix.lower() in FORMATS
        self.ending = self.output.suffix.lower() if self.single else ".jsonl"
        self.folder = self._beside(".parts") if self.single else self.output
        self.manifest = self._beside(".map.json") if self.single else self.output / "map.json"
        self.rejected_output = self._beside(".rejected.jsonl") if self.single else self.output / REJECTED

    def _beside(self, more: str) -> Path:
        return self.output.with_name(self.output.name + more)

    def part(self, number: int) -> Path:
        """Where the answers of a shard are."""
        return self.folder / f"part-{number:05d}{self.ending}"

    def rejected(self, number: int) -> Path:
        """Where the bad rows of a shard are."""
        return self.folder / REJECTED / f"part-{number:05d}.jsonl"

    def begin(self, command: Mapping[str, Any]) -> Report | None:
        """Find what a command has done; the report, where it has done all.

        Raises:
            ValueError: another command, or somebody else, wrote the output.
        """
        kept = self._kept()
        if kept is None:
            if held := [path for path in (self.output, self.rejected_output) if self._holds(path)]:
                raise ValueError(f"output: expected a path that is free. Received: {held[0]}, which exists")
            return None
        if different := _differences(kept["command"], command):
            if self.output.is_file() or any(self.folder.glob("part-*")):
                raise ValueError(
                    f"output: expected a path that is free, or the command that began {self.output}. "
                    f"Received: one with {', '.join(different)}"
                )
            self._forget()
        elif kept.get("done") and self.output.exists():
            self._clear()
            rows, rejected = kept["done"]
            return Report(rows, rejected, self.output, self.rejected_output)
        return None

    def claim(self, command: Mapping[str, Any]) -> None:
        """Say whose the output is."""
        write_json(self.manifest, {"command": command})

    @staticmethod
    def _holds(path: Path) -> bool:
        return path.exists() and not (path.is_dir() and all(_PASSING.match(inner.name) for inner in path.iterdir()))

    def _kept(self) -> dict[str, Any] | None:
        try:
            kept = json.loads(self.manifest.read_text(encoding="utf-8"))
            return kept if isinstance(kept["command"], dict) else None
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, TypeError, KeyError):
            raise ValueError(f"{self.manifest}: expected the manifest of a command. Received: something else") from None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others out for as long as the block runs, or the process lives."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / LOCK).open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(f"output: expected no one at work on {self.output}. Received: a process is") from None
            if not self.manifest.is_file():  # of what was unpacked for another input
                _remove(self.folder.glob(f"{UNPACKED}*"))
            try:
                yield
            finally:
                if not self.manifest.is_file():
                    self._forget()

    def write(self, answered: Answered) -> None:
        """Keep what comes of a shard. The part is last: a shard whose part is there is done."""
        rejected = self.rejected(answered.number)
        if answered.rejected:
            _write(rejected, answered.rejected)
        _write(self.part(answered.number), answered.part)

    def finish(self, rows: int, shards: int, form: Format) -> Report:
        """Join the parts where one file is wanted, and remember that all is done."""
        parts = [self.part(number) for number in range(shards)]
        if missing := [path.name for path in parts if not path.is_file()]:
            raise FileNotFoundError(f"{self.folder}: expected {shards} parts. Received: no {missing[0]}")
        rejected = [path for path in map(self.rejected, range(shards)) if path.is_file()]
        count = sum(path.read_bytes().count(b"\n") for path in rejected)
        if self.single:
            joined = self.folder / f"joined{self.ending}"  # here, so that what a kill leaves goes with the folder
            form.join(parts, joined)
            if rejected:
                _join(rejected, self.folder / "joined")
                _replace(self.folder / "joined", self.rejected_output)
            else:
                self.rejected_output.unlink(missing_ok=True)
            _replace(joined, self.output)
        write_json(self.manifest, {"command": self._command(), "done": [rows, count]})
        self._clear()
        return Report(rows, count, self.output, self.rejected_output)

    def _command(self) -> Any:
        return (self._kept() or {}).get("command")

    def _clear(self) -> None:
        """Remove what was only needed on the way."""
        if self.single:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        inside = [*self.folder.iterdir(), *(self.folder / REJECTED).glob("*")]
        _remove(path for path in inside if path.name in (PLAN, LOCK) or path.name.startswith(UNPACKED))
        _remove(path for path in inside if _ASIDE.match(path.name))

    def _forget(self) -> None:
        """Remove what a command has begun and that holds no answers."""
        self.manifest.unlink(missing_ok=True)
        self._clear()
        if not self.single:
            shutil.rmtree(self.folder / REJECTED, ignore_errors=True)
            self.folder.rmdir()


def _remove(paths: Iterable[Path]) -> None:
    for path in list(paths):
        path.unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    with write_aside(path) as aside, aside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _join(parts: Sequence[Path], joined: Path) -> None:
    with joined.open("wb") as file:
        for part in parts:
            file.write(part.read_bytes())


def _replace(path: Path, target: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(path, target)


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What is not as it was, in words."""
    found = []
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name), now.get(name)
        if old != new:
            short = all(isinstance(value, str | int | None) and len(str(value)) < 20 for value in (old, new))
            found.append(f"another {name}" + (f" ({new}, before {old})" if short else ""))
    return found


def fingerprint(paths: Sequence[Path]) -> list[list[Any]]:
    """What tells files from others: names, sizes and times."""
    return [[path.name, (told := path.stat()).st_size, told.st_mtime_ns] for path in paths]


def digest(folder: Path, names: Sequence[str]) -> str:
    """A hash of what some files and folders below a folder hold."""
    found = hashlib.sha256()
    for name in names:
        for path in sorted([folder / name, *(folder / name).rglob("*")]):
            if path.is_file():
                data = path.read_bytes()
                found.update(f"{path.relative_to(folder).as_posix()} {len(data)}\n".encode() + data)
    return found.hexdigest()[:32]
