"""A comparison of all runs in a folder: their settings, progress and metrics."""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

HISTORY = "history.json"  # the file of a run with the logs of each epoch


@dataclasses.dataclass(frozen=True)
class Run:
    """A run: its record, which is empty before the first evaluation, and the logs of each epoch."""

    folder: Path
    record: dict[str, Any]
    history: list[dict[str, float]]

    @property
    def metrics(self) -> dict[str, float]:
        """The development metrics of the best epoch."""
        return {name: value for name, value in self.record.get("metrics", {}).items() if name.startswith("dev_")}

    @property
    def epochs(self) -> str:
        """The number of completed epochs and the total."""
        return f"{len(self.history)}/{self.record.get('settings', {}).get('epochs', '?')}"


def find_runs(folders: Iterable[str | Path]) -> list[Run]:
    """Return the runs in these folders, each of which is a run or contains runs, sorted by name.

    Raises:
        ValueError: If there is none.
    """
    given = [Path(folder) for folder in folders]
    found = [run for folder in given for run in _runs(folder)]
    if not found:
        raise ValueError(f"runs: expected run folders, or folders that contain runs. Received: {list(map(str, given))}")
    return found


def _runs(folder: Path) -> Iterator[Run]:
    if (folder / HISTORY).is_file():
        yield Run(folder, _read(folder / "config.json", {}).get("record", {}), _read(folder / HISTORY, []))
    elif folder.is_dir():
        for inside in sorted(path for path in folder.iterdir() if (path / HISTORY).is_file()):
            yield from _runs(inside)


def _read(path: Path, otherwise: Any) -> Any:
    """Return the content of a JSON file, or the default if it is missing or broken."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return otherwise
    return value if isinstance(value, type(otherwise)) else otherwise


def table(runs: Sequence[Run]) -> list[list[str]]:
    """Return a title row and a row for each run: its name, its metrics, and the settings in which the runs differ."""
    settings = {run.folder: run.record.get("settings", {}) for run in runs}
    names = list(dict.fromkeys(name for held in settings.values() for name in held))
    differing = [name for name in names if len({str(held.get(name, "")) for held in settings.values() if held}) > 1]
    figures = list(dict.fromkeys(name for run in runs for name in run.metrics))
    lines = [["run", "recipe", "epochs", "minutes", *figures, *differing]]
    for run in runs:
        minutes = f"{run.record['seconds'] / 60:.1f}" if "seconds" in run.record else ""
        values = [f"{run.metrics[name]:.4f}" if name in run.metrics else "" for name in figures]
        chosen = [str(settings[run.folder].get(name, "")) for name in differing]
        lines.append([run.folder.name, run.record.get("recipe", "?"), run.epochs, minutes, *values, *chosen])
    return lines
