"""The storage of answers: parts that are written atomically, rejected rows, and a manifest with the command."""

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seqattn_tf.batch.outputs import FORMATS, Format
from seqattn_tf.core.atomic_io import write_atomically, write_json

PLAN, _LOCK, _REJECTED, UNPACKED = "plan.json", ".lock", "rejected", "unpacked-"
VERSION = "version of seqattn_tf"  # contained in every manifest
WRITTEN_BY = "seqattn map"  # marks the lock and the plan; files without it belong to other programs
_ASIDE = re.compile(r"\.[0-9a-f]{32}-")  # temporary files of `write_atomically`, left when a process is killed
_TEMPORARY = re.compile(rf"{_ASIDE.pattern}|{UNPACKED}")
_PART = re.compile(r"part-\d{5,}\.")


def read_own(path: Path) -> dict[str, Any] | None:
    """Return the content of a JSON file that `seqattn map` wrote; None if the file is missing or has another origin."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return kept if isinstance(kept, dict) and kept.get("written_by") == WRITTEN_BY else None


class Answered(NamedTuple):
    """The result of a shard: the bytes of its part, and those of the lines about rejected rows."""

    number: int
    rows: int
    part: bytes
    rejected: bytes


class Report(NamedTuple):
    """The result of a command: the number of rows, how many of them were rejected, and where the files are."""

    rows: int
    rejected: int
    output: Path
    rejected_output: Path


class Store:
    """The output of a command: one file, or a folder of parts.

    Args:
        output: A file whose suffix determines its format, or a folder for parts in JSONL.

    >>> Store("answers.csv").folder.name, Store("answers").part(3).name
    ('answers.csv.parts', 'part-00003.jsonl')
    """

    def __init__(self, output: str | os.PathLike[str]) -> None:
        self.output = Path(output)
        self.single = self.output.suffix.lower() in FORMATS
        self.ending = self.output.suffix.lower() if self.single else ".jsonl"
        self.folder = self._beside(".parts") if self.single else self.output
        self.manifest = self._beside(".map.json") if self.single else self.output / "map.json"
        self.rejected_output = self._beside(".rejected.jsonl") if self.single else self.output / _REJECTED

    def _beside(self, more: str) -> Path:
        return self.output.with_name(self.output.name + more)

    def part(self, number: int) -> Path:
        """Return the path of the answers to a shard."""
        return self.folder / f"part-{number:05d}{self.ending}"

    def rejected(self, number: int) -> Path:
        """Return the path of the rejected rows of a shard."""
        return self.folder / _REJECTED / f"part-{number:05d}.jsonl"

    def begin(self, command: Mapping[str, Any]) -> Report | None:
        """Return the report of a completed command, or None if there is work left. Changes nothing except to clean up.

        Raises:
            ValueError: If the output was written by another command or another program.
        """
        kept = self._kept()
        if kept is None:
            if held := [found for path in self._paths() if (found := _foreign(path))]:
                raise ValueError(
                    f"output: expected a path that does not exist yet. Received: {held[0]}; "
                    "choose another output, or move it away"
                )
            return None
        if different := _differences(kept["command"], command):
            if self.output.is_file() or any(self.folder.glob("part-*")):
                raise ValueError(
                    f"output: expected a new path, or the same command that created {self.output}. "
                    f"Received: a command with {', '.join(different)}"
                )
        elif kept.get("done") and self.output.exists():
            self._clear()
            rows, rejected = kept["done"]
            return Report(rows, rejected, self.output, self.rejected_output)
        return None

    def _paths(self) -> list[Path]:
        """Return all paths that a command writes except the manifest."""
        return [self.output, self.rejected_output, self.folder] if self.single else [self.output]

    def claim(self, command: Mapping[str, Any]) -> None:
        """Write the command to the manifest of the output."""
        write_json(self.manifest, {"command": command})

    def _kept(self) -> dict[str, Any] | None:
        try:
            kept = json.loads(self.manifest.read_text(encoding="utf-8"))
            if VERSION in kept["command"]:
                return dict(kept)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, TypeError, KeyError):
            pass
        raise ValueError(f"{self.manifest}: expected a manifest of seqattn map. Received: a different file")

    @contextlib.contextmanager
    def locked(self, command: Mapping[str, Any] | None = None) -> Iterator[None]:
        """Lock the output against other processes while the block runs or until the process ends.

        Args:
            command: The command to run. The output of another command is removed if it contains no answers.
        """
        with self._lock():
            kept = self._kept()
            if kept is None or (command is not None and _differences(kept["command"], command)):
                if kept is not None:
                    _remove([*filter(_is_part, (self.folder / _REJECTED).glob("*")), self.manifest])
                self._remove_temporary()
            try:
                yield
            finally:
                if not self.manifest.is_file():
                    self._clear()

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        path, made = self.folder / _LOCK, not self.folder.exists()
        self.folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
            json.dump({"written_by": WRITTEN_BY, "made_folder": made}, file)
        if read_own(path) is None:
            raise ValueError(f"output: expected a path that does not exist yet. Received: {path}")
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not path.exists() or not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    raise BlockingIOError  # the process that held the lock has just finished
            except BlockingIOError:
                raise ValueError(
                    f"output: expected no other process to write to {self.output}. Received: one that does"
                ) from None
            yield

    def write(self, answered: Answered) -> None:
        """Write the result of a shard.

        Its part is written last, so an existing part means that the shard is complete.
        """
        rejected = self.rejected(answered.number)
        if answered.rejected:
            _write(rejected, answered.rejected)
        _write(self.part(answered.number), answered.part)

    def finish(self, rows: int, shards: int, form: Format) -> Report:
        """Join the parts if the output is one file, and mark the command as complete."""
        parts = [self.part(number) for number in range(shards)]
        if missing := [path.name for path in parts if not path.is_file()]:
            raise FileNotFoundError(f"{self.folder}: expected {shards} parts. Received: {missing[0]} is missing")
        rejected = [path for path in map(self.rejected, range(shards)) if path.is_file()]
        count = sum(path.read_bytes().count(b"\n") for path in rejected)
        if self.single:
            joined = self.folder / f"joined{self.ending}"  # in the folder, to be removed with it after a kill
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

    def _remove_temporary(self) -> None:
        """Remove temporary files if the lock shows that this command wrote them."""
        if read_own(self.folder / _LOCK) is None:
            return
        inside = [*self.folder.iterdir(), *(self.folder / _REJECTED).glob("*")]
        _remove(path for path in inside if _TEMPORARY.match(path.name) and path.is_file())
        if read_own(self.folder / PLAN) is not None:
            _remove([self.folder / PLAN])
        with contextlib.suppress(OSError):  # not empty: contains rejected rows
            (self.folder / _REJECTED).rmdir()

    def _clear(self) -> None:
        """Remove temporary files, for a single output also its parts, and finally the lock."""
        self._remove_temporary()
        kept, rejected = read_own(self.folder / _LOCK) or {}, self.folder / _REJECTED
        if kept and self.single:
            joined = [self.folder / "joined", self.folder / f"joined{self.ending}"]
            _remove([*filter(_is_part, [*self.folder.iterdir(), *rejected.glob("*")]), *joined])
            with contextlib.suppress(OSError):
                rejected.rmdir()
        _remove([self.folder / _LOCK] if kept else [])
        if self.single or kept.get("made_folder"):
            with contextlib.suppress(OSError):
                self.folder.rmdir()


def _foreign(path: Path) -> Path | None:
    """Return a path that `seqattn map` did not write: a file, or the first such entry of a folder."""
    if not path.is_dir():
        return path if os.path.lexists(path) else None
    own = read_own(path / _LOCK) is not None
    for inner in sorted(path.iterdir()):
        if not own or not (
            inner.name == _LOCK
            or (_TEMPORARY.match(inner.name) and inner.is_file())
            or (inner.name == PLAN and read_own(inner) is not None)
        ):
            return inner
    return None


def _is_part(path: Path) -> bool:
    return bool(_PART.match(path.name)) and path.is_file()


def _remove(paths: Iterable[Path]) -> None:
    for path in list(paths):
        path.unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    with write_atomically(path) as aside, aside.open("wb") as file:
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
    """Describe the differences between two commands."""
    found = []
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name), now.get(name)
        if old != new:
            short = all(isinstance(value, str | int | None) and len(str(value)) < 20 for value in (old, new))
            found.append(f"different {name}" + (f" ({new}, previously {old})" if short else ""))
    return found


def fingerprint(paths: Sequence[Path]) -> list[list[Any]]:
    """Return names, sizes and modification times of files, to detect changes."""
    return [[path.name, (told := path.stat()).st_size, told.st_mtime_ns] for path in paths]
