"""A comparison of all runs in a folder: their settings, progress and metrics, and means over seeds."""

import dataclasses
import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HISTORY = "history.json"  # the file of a run with the logs of each epoch
TEST = "test.json"  # the file with the metrics on the test split, if a sweep has evaluated the run


@dataclasses.dataclass(frozen=True)
class Run:
    """A run: its record, which is empty before the first evaluation, and the logs of each epoch."""

    folder: Path
    record: dict[str, Any]
    history: list[dict[str, float]]

    @property
    def metrics(self) -> dict[str, float]:
        """The development metrics of the best epoch, and the metrics on the test split if they have been stored."""
        dev = {name: value for name, value in self.record.get("metrics", {}).items() if name.startswith("dev_")}
        test = _read(self.folder / TEST, {}).get("metrics", {})
        return {**dev, **{f"test_{name}": found["value"] for name, found in test.items()}}

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the run."""
        return self.record.get("settings", {})

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


def epochs_of(folder: Path) -> int:
    """Return the number of epochs that a run has completed."""
    return len(_read(folder / HISTORY, []))


def _read(path: Path, otherwise: Any) -> Any:
    """Return the content of a JSON file, or the default if it is missing or broken."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return otherwise
    return value if isinstance(value, type(otherwise)) else otherwise


def differing(runs: Sequence[Run]) -> list[str]:
    """Return the names of the settings in which runs differ."""
    names = dict.fromkeys(name for run in runs for name in run.settings)
    return [name for name in names if len({str(run.settings.get(name, "")) for run in runs if run.settings}) > 1]


def table(runs: Sequence[Run]) -> list[list[str]]:
    """Return a title row and a row for each run: its name, its metrics, and the settings in which the runs differ."""
    names, figures = differing(runs), _metrics(runs)
    lines = [["run", "recipe", "epochs", "minutes", *figures, *names]]
    for run in runs:
        minutes = f"{run.record['seconds'] / 60:.1f}" if "seconds" in run.record else ""
        values = [f"{run.metrics[name]:.4f}" if name in run.metrics else "" for name in figures]
        chosen = [str(run.settings.get(name, "")) for name in names]
        lines.append([run.folder.name, run.record.get("recipe", "?"), run.epochs, minutes, *values, *chosen])
    return lines


def _metrics(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in run.metrics))


@dataclasses.dataclass(frozen=True)
class Group:
    """Runs of one recipe that differ in nothing but their seeds.

    Args:
        settings: The settings in which this group differs from the others.
        runs: Its runs.
    """

    settings: Mapping[str, str]
    runs: Sequence[Run]

    @property
    def name(self) -> str:
        """The settings on one line."""
        return ", ".join(f"{name}={value}" for name, value in self.settings.items()) or "all"

    def spread(self, metric: str) -> tuple[float, float] | None:
        """Return the mean and the standard deviation of a metric over its runs; None if no run has it."""
        values = [run.metrics[metric] for run in self.runs if metric in run.metrics]
        if not values:
            return None
        return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0

    def curves(self, metric: str) -> list[list[float]]:
        """Return the values of a metric in each epoch of each run."""
        return [[logs[metric] for logs in run.history if metric in logs] for run in self.runs]


def groups(runs: Sequence[Run]) -> list[Group]:
    """Group runs that differ only in their seeds, in the order of their first runs."""
    names = [name for name in differing(runs) if name != "seed"]
    found: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        chosen = (run.record.get("recipe", "?"), *(str(run.settings.get(name, "")) for name in names))
        found.setdefault(chosen, []).append(run)
    recipes = len({recipe for recipe, *_ in found}) > 1
    return [
        Group({**({"recipe": recipe} if recipes else {}), **dict(zip(names, chosen, strict=True))}, members)
        for (recipe, *chosen), members in found.items()
    ]


def group_table(found: Sequence[Group]) -> list[list[str]]:
    """Return a title row and a row for each group: its settings, and the mean and deviation of each metric."""
    names, figures = list(found[0].settings), _metrics([run for group in found for run in group.runs])
    lines = [[*names, "runs", *figures]]
    for group in found:
        spreads = map(group.spread, figures)
        cells = ["" if spread is None else f"{spread[0]:.4f} ± {spread[1]:.4f}" for spread in spreads]
        lines.append([*group.settings.values(), str(len(group.runs)), *cells])
    return lines
