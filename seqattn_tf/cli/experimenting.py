"""Commands for experiments: sweeps, tables of runs, and trainings of the shipped models."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqattn_tf.cli.base import Commands, load_tensorflow, print_markdown, print_table
from seqattn_tf.cli.learning import RECIPE, add_choices, add_xla


def add(commands: Commands) -> None:
    """Add the commands of this module."""
    _add_sweep(commands.add("sweep", _sweep, "train a recipe with all combinations of some settings and several seeds"))

    runs = commands.add("runs", _runs, "compare runs in a table, and plot their metrics", foreign=False)
    runs.add_argument(
        "folders",
        nargs="*",
        default=["runs"],
        metavar="FOLDER",
        help="runs, or folders that contain runs (default: runs)",
    )
    runs.add_argument("-o", "--output", type=Path, help="plot each metric over the epochs to this png, svg or pdf file")

    preset = commands.add(
        "make-preset", _make_preset, "train a shipped model again, from its data to its files", foreign=False
    )
    preset.add_argument("preset", nargs="?", metavar="NAME", help="the name of the preset (default: list the plans)")
    preset.add_argument(
        "--data",
        type=Path,
        default=Path("data"),
        help="folder that contains the data sets under their names, see `seqattn data` (default: data)",
    )
    preset.add_argument("-o", "--output", type=Path, help="folder to write (default: made/NAME)")
    preset.add_argument("--dry-run", action="store_true", help="print the commands without running them")


def _add_sweep(sweep: argparse.ArgumentParser) -> None:
    sweep.add_argument("recipe", metavar="RECIPE", help=RECIPE)
    sweep.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=VALUE,VALUE,...",
        help="values of a setting to compare; repeat it to combine several settings",
    )
    sweep.add_argument("--seeds", default="0", metavar="N,N,...", help="seeds for each combination (default: 0)")
    sweep.add_argument("--run", dest="folder", type=Path, help="folder of the runs (default: sweeps/RECIPE)")
    add_choices(sweep)
    add_xla(sweep)
    sweep.add_argument("--jobs", type=int, default=1, metavar="N", help="runs to train at the same time (default: 1)")
    sweep.add_argument(
        "--scheduler", choices=("local", "ray"), default="local", help="train on this machine, or on a Ray cluster"
    )
    sweep.add_argument("--address", help="address of the Ray cluster (default: RAY_ADDRESS, or a local cluster)")
    sweep.add_argument(
        "--evaluate", action="store_true", help="evaluate each run on its test split once, after its training"
    )
    sweep.add_argument("--markdown", action="store_true", help="print a Markdown table")
    sweep.add_argument(
        "-o", "--output", type=Path, help="plot each metric over the epochs with bands to this png, svg or pdf file"
    )


def _sweep(options: argparse.Namespace) -> int:
    from seqattn_tf.explain.alignment import check_ending
    from seqattn_tf.training import recipes
    from seqattn_tf.training.sweep import sweep, trials

    if options.output:
        check_ending(options.output)
    if not options.recipe.endswith(".py"):
        recipes.check_name(options.recipe)
    grid = dict(_parse_grid(assignment) for assignment in options.grid)
    seeds = _parse_seeds(options.seeds)
    folder = options.folder or Path("sweeps") / Path(options.recipe).stem
    arguments = _passed_on(options)
    load_tensorflow()
    recipe = (recipes.from_file if options.recipe.endswith(".py") else recipes.get)(options.recipe)
    base = recipe.small if options.preset == "small" else recipe.settings
    chosen = trials(folder, grid, seeds)
    # An invalid value must be an error now, not in an hour.
    epochs = [base.with_assignments([*options.set, *trial.assignments]).epochs for trial in chosen]
    found, failures = sweep(
        options.recipe,
        grid,
        seeds,
        folder=folder,
        arguments=arguments,
        epochs=max(epochs),
        jobs=options.jobs,
        scheduler=options.scheduler,
        address=options.address,
        evaluate=options.evaluate,
    )
    _show_groups(found, options.output, options.markdown)
    for failure in failures:
        log = failure.trial.folder / "sweep.log"
        print(f"{failure.trial.folder.name} failed with status {failure.status}: see {log}", file=sys.stderr)
    return 1 if failures else 0


def _passed_on(options: argparse.Namespace) -> list[str]:
    """Return the arguments of a sweep that all of its trainings get."""
    given = {
        "--data": options.data,
        "--preset": options.preset,
        "--metric": options.metric,
        "--init-from": options.init_from,
        "--xla": options.xla,
    }
    single = [word for name, value in given.items() if value is not None for word in (name, value)]
    several = [("--set", options.set), ("--plugin", options.plugin)]
    return [*single, *(word for name, values in several for value in values for word in (name, value))]


def _parse_grid(assignment: str) -> tuple[str, list[str]]:
    name, equals, values = assignment.partition("=")
    if not (name and equals and values):
        raise ValueError(f"grid: expected NAME=VALUE,VALUE,... Received: {assignment!r}")
    return name, values.split(",")


def _parse_seeds(text: str) -> list[int]:
    try:
        return [int(seed) for seed in text.split(",")]
    except ValueError:
        raise ValueError(f"seeds: expected numbers separated by commas. Received: {text!r}") from None


def _runs(options: argparse.Namespace) -> None:
    from seqattn_tf.explain import draw_history, save_figure
    from seqattn_tf.explain.alignment import check_ending
    from seqattn_tf.training.runs import find_runs, groups, table

    if options.output:
        check_ending(options.output)
    found = find_runs(options.folders)
    print_table(table(found))
    if any(len(group.runs) > 1 for group in groups(found)):
        print("\nmean ± standard deviation of runs that differ only in their seeds:")
        _show_groups(found, options.output)
        return
    for name, output in _plots(found, options.output):
        curves = {run.folder.name: [logs[name] for logs in run.history if name in logs] for run in found}
        save_figure(draw_history(curves, ylabel=name), output)
        print(output)


def _show_groups(found: Sequence[Any], output: Path | None, markdown: bool = False) -> None:
    """Print the means of groups of runs, and plot them in bands."""
    from seqattn_tf.explain import draw_bands, save_figure
    from seqattn_tf.training.runs import group_table, groups

    rows = group_table(groups(found))
    print_markdown(rows) if markdown else print_table(rows)
    for name, path in _plots(found, output):
        save_figure(draw_bands({group.name: group.curves(name) for group in groups(found)}, ylabel=name), path)
        print(path)


def _plots(found: Sequence[Any], output: Path | None) -> list[tuple[str, Path]]:
    """Return the metrics to plot, each with its file; none without an output."""
    if output is None:
        return []
    figures = dict.fromkeys(name for run in found for logs in run.history for name in logs)
    return [(name, output.with_stem(f"{output.stem}-{name}") if n else output) for n, name in enumerate(figures)]


def _make_preset(options: argparse.Namespace) -> None:
    from seqattn_tf.make_preset import PLANS, commands, make_preset

    if options.preset is None:
        for name, plan in PLANS.items():
            note = f"; the shipped model: {plan.differs}" if plan.differs else ""
            print(f"{name}: {len(plan.steps)} steps, {plan.takes}{note}")
        return
    if options.dry_run:
        for command in commands(options.preset, options.data, options.output or Path("made") / options.preset):
            print("seqattn", shlex.join(command))
        return
    folder = make_preset(options.preset, options.data, options.output)
    print(f"made {folder}; compare it: seqattn evaluate {shlex.quote(str(folder))} {options.preset}")
