"""All runs of a folder beside each other: what they are, how far they are, how good."""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from seqattn_tf.training.run import HISTORY


@dataclasses.dataclass(frozen=True)
class Run:
    """A run: its record, empty before the first epoch is measured, and what was measured after each epoch."""

    folder: Path
    record: dict[str, Any]
    history: list[dict[str, float]]

    @property
    def figures(self) -> dict[str, float]:
        """Those of the best epoch on the development split."""
        return {name: value for name, value in self.record.get("figures", {}).items() if name.startswith("dev_")}

    @property
    def epochs(self) -> str:
        """How many are done, of how many."""
        return f"{len(self.history)}/{self.record.get('settings', {}).get('epochs', '?')}"


def find_runs(folders: Iterable[str | Path]) -> list[Run]:
    """The runs that these folders are, or that are in them, by name.

    Raises:
        ValueError: there is none.
    """
    given = [Path(folder) for folder in folders]
    found = [run for folder in given for run in _runs(folder)]
    if not found:
        raise ValueError(f"runs: expected folders of runs, or with runs in them. Received: {list(map(str, given))}")
    return found


def _runs(folder: Path) -> Iterator[Run]:
    if (folder / HISTORY).is_file():
        yield Run(folder, _read(folder / "config.json", {}).get("record", {}), _read(folder / HISTORY, []))
    elif folder.is_dir():
        for inside in sorted(path for path in folder.iterdir() if (path / HISTORY).is_file()):
            yield from _runs(inside)


def _read(path: Path, otherwise: Any) -> Any:
    """What a file says; of one that is not there, or broken, nothing."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return otherwise
    return value if isinstance(value, type(otherwise)) else otherwise


def table(runs: Sequence[Run]) -> list[list[str]]:
    """A line for each run, after one of titles: what it is, its figures, and the settings in which the runs differ."""
    settings = {run.folder: run.record.get("settings", {}) for run in runs}
    names = list(dict.fromkeys(name for held in settings.values() for name in held))
    differing = [name for name in names if len({str(held.get(name, "")) for held in settings.values() if held}) > 1]
    figures = list(dict.fromkeys(name for run in runs for name in run.figures))
    lines = [["run", "recipe", "epochs", "minutes", *figures, *differing]]
    for run in runs:
        minutes = f"{run.record['seconds'] / 60:.1f}" if "seconds" in run.record else ""
        values = [f"{run.figures[name]:.4f}" if name in run.figures else "" for name in figures]
        chosen = [str(settings[run.folder].get(name, "")) for name in differing]
        lines.append([run.folder.name, run.record.get("recipe", "?"), run.epochs, minutes, *values, *chosen])
    return lines
