"""Commands that train and distill models, one or many, and commands that list, combine and quantize runs."""

import argparse
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqattn_tf import plugins
from seqattn_tf.cli.base import Commands, load_tensorflow, print_markdown, print_table

_TO_BE_CONTINUED = 75  # the status of a run that SIGTERM ended, which the same command resumes (EX_TEMPFAIL)


def add(commands: Commands) -> None:
    """Add the commands of this module."""
    commands.add("recipes", _recipes, "list the recipes: systems that can be trained")

    train = commands.add("train", _train, "train a recipe", add_help=False)
    _add_training(train)
    _add_strategy(train)

    distill = commands.add(
        "distill", _train, "train a recipe on the data and on the predictions of teachers", add_help=False
    )
    _add_training(distill)
    _add_teaching(distill)
    distill.set_defaults(strategy="none", workers="", worker_index=None)

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

    ensemble = commands.add("ensemble", _ensemble, "combine several runs of a recipe into one model")
    ensemble.add_argument("runs", nargs="+", metavar="RUN", help="a run folder or a preset")
    ensemble.add_argument("-o", "--output", type=Path, required=True, metavar="RUN", help="the folder to write")
    ensemble.add_argument("--beam-width", type=int, metavar="N", help="beam width (default: as in the first run)")
    ensemble.add_argument(
        "--alternatives", type=int, metavar="N", help="additional answers to return (default: as in the first run)"
    )

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

    _add_quantize(commands.add("quantize", _quantize, "store a model in less space, and report the loss in quality"))


_RECIPE = "a recipe from `seqattn recipes`, or a Python file that defines one"


def _add_training(train: argparse.ArgumentParser) -> None:
    train.add_argument("recipe", nargs="?", metavar="RECIPE", help=_RECIPE)
    train.add_argument("-h", "--help", action="store_true", help="show this help, and the settings of RECIPE if given")
    train.add_argument("--run", dest="folder", type=Path, help="folder of the run (default: runs/RECIPE)")
    add_choices(train)
    _add_xla(train)
    train.add_argument(
        "--tensorboard", action="store_true", help="write TensorBoard scalars and images into the run folder"
    )
    train.add_argument(
        "--checkpoint-minutes",
        type=float,
        default=5.0,
        metavar="N",
        help="save a checkpoint every N minutes (default: 5)",
    )
    train.add_argument(
        "--checkpoint-steps",
        type=int,
        default=0,
        metavar="N",
        help="also save a checkpoint every N steps (default: 0, by time only)",
    )
    train.set_defaults(print_help=train.print_help)


def add_choices(train: argparse.ArgumentParser) -> None:
    """Add the options that determine what is trained on which data."""
    train.add_argument(
        "--data",
        help="a .csv, .tsv or .jsonl file, a folder, a quoted pattern, or tfds:NAME (default: the recipe's own data)",
    )
    train.add_argument(
        "--preset",
        choices=("full", "small"),
        default="full",
        help="settings to start from; small trains in minutes on two cores",
    )
    train.add_argument("--metric", help="metric for evaluation; short for --set metric=...")
    train.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting")
    train.add_argument(
        "--init-from", metavar="RUN", help="start from the weights and settings of another run or preset"
    )


def _add_xla(train: argparse.ArgumentParser) -> None:
    train.add_argument(
        "--xla",
        choices=("auto", "on", "off"),
        default="off",
        help="compile the training step with XLA; auto measures both and keeps the faster one",
    )


def _add_sweep(sweep: argparse.ArgumentParser) -> None:
    sweep.add_argument("recipe", metavar="RECIPE", help=_RECIPE)
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
    _add_xla(sweep)
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


def _add_strategy(train: argparse.ArgumentParser) -> None:
    train.add_argument(
        "--strategy",
        choices=("none", "mirrored", "multiworker"),
        default="none",
        help="mirrored: all GPUs of this machine; multiworker: several machines",
    )
    train.add_argument(
        "--workers", default="", metavar="HOST:PORT,...", help="addresses of all workers (default: from TF_CONFIG)"
    )
    train.add_argument("--worker-index", type=int, metavar="N", help="index of this worker in --workers, from 0")


def _add_teaching(distill: argparse.ArgumentParser) -> None:
    distill.add_argument(
        "--teacher",
        action="append",
        default=[],
        metavar="RUN",
        help="a run of the same recipe and data, or a preset; repeat it to use an ensemble as teacher",
    )
    distill.add_argument(
        "--synthetic",
        type=int,
        metavar="N",
        help="synthetic inputs to generate (default: as many as training examples)",
    )
    distill.add_argument(
        "--top-k", type=int, default=3, metavar="N", help="probabilities to store per token (default: 3)"
    )
    distill.add_argument(
        "--min-log-prob",
        type=float,
        default=-3.0,
        metavar="LOG",
        help="minimum log-probability of an answer to a synthetic input (default: -3)",
    )


def _add_quantize(quantize: argparse.ArgumentParser) -> None:
    quantize.add_argument("model", metavar="RUN", help="a run folder or a preset")
    quantize.add_argument(
        "folder", metavar="FOLDER", type=Path, help="the folder to write; it must not contain a model yet"
    )
    quantize.add_argument(
        "--dtype",
        choices=("int8", "float16"),
        default="int8",
        help="int8 takes a quarter of the space of float32, float16 half (default: int8)",
    )
    quantize.add_argument("--data", help="location of the data, if it changed since training")
    quantize.add_argument(
        "--split",
        choices=("train", "dev", "test"),
        default="dev",
        help="the split to evaluate both models on (default: dev)",
    )


def _recipes(options: argparse.Namespace) -> None:
    from seqattn_tf.training import recipes

    known = recipes.summaries()
    width = max(map(len, known))
    for name, summary in known.items():
        print(f"{name:<{width}}  {summary}")
    print("seqattn train RECIPE --help lists the settings of a recipe", file=sys.stderr)


def _train(options: argparse.Namespace) -> int:
    from seqattn_tf.training import recipes

    if options.recipe is None:
        if not options.help:
            raise ValueError(f"recipe: expected one of {recipes.names()}, or a Python file. Received: none")
        options.print_help()
        return 0
    if not options.recipe.endswith(".py"):
        recipes.check_name(options.recipe)
    load_tensorflow()
    from seqattn_tf.training import run
    from seqattn_tf.training.distillation import DistillConfig, distill
    from seqattn_tf.training.distribution import WorkerLost, open_strategy
    from seqattn_tf.training.interrupts import Stopped
    from seqattn_tf.training.record import plugins_of

    recipe, defaults = recipe_of(options)
    if options.help:
        options.print_help()
        _print_settings(recipe.name, defaults)
        return 0
    folder = options.folder or Path("runs") / recipe.name
    settings = chosen_settings(options, defaults)
    distribution = open_strategy(options.strategy, options.workers, options.worker_index)
    keeping = run.CheckpointPolicy(options.checkpoint_steps, options.checkpoint_minutes)
    try:
        how: dict[str, Any] = {
            "keeping": keeping,
            "init_from": options.init_from,
            "tensorboard": options.tensorboard,
            "distribution": distribution,
            "xla": options.xla,
        }
        if options.command == "distill":
            teaching = DistillConfig(options.synthetic, options.top_k, options.min_log_prob)
            model = distill(recipe, settings, folder, options.teacher, options.data, teaching, **how)
        else:
            model = run.train(recipe, settings, folder, options.data, **how)
    except WorkerLost as lost:
        print(f"seqattn {options.command}: {lost}", file=sys.stderr)
        return _TO_BE_CONTINUED
    except Stopped as stop:
        kept = f"run the same command again to resume from {folder}"
        if stop.number == signal.SIGINT:
            raise KeyboardInterrupt(kept) from None
        print(f"seqattn {options.command}: stopped: {kept}", file=sys.stderr)
        return _TO_BE_CONTINUED
    needed = plugins.options({**model.plugins, **plugins_of(recipe, settings)})
    if distribution.is_chief:
        print(
            f"best model saved in {folder}; evaluate it: seqattn evaluate {shlex.quote(str(folder))} {needed}".rstrip()
        )
    return 0


def recipe_of(options: argparse.Namespace) -> tuple[Any, Any]:
    """Return the recipe that the options of `add_choices` name, and the settings to start from."""
    from seqattn_tf.presets import find
    from seqattn_tf.training import recipes
    from seqattn_tf.training.record import read_record
    from seqattn_tf.training.resuming import settings_of

    recipe = (recipes.from_file if options.recipe.endswith(".py") else recipes.get)(options.recipe)
    if options.init_from:
        return recipe, settings_of(recipe, read_record(find(options.init_from))["settings"])
    return recipe, recipe.small if options.preset == "small" else recipe.settings


def chosen_settings(options: argparse.Namespace, defaults: Any) -> Any:
    """Return the default settings with the changes that the options of `add_choices` ask for."""
    metric = [f"metric={options.metric}"] if options.metric else []
    return defaults.with_assignments([*options.set, *metric])


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


def _print_settings(recipe: str, settings: Any) -> None:
    """Print all settings with their values and meanings."""
    meanings = settings.meanings()
    shown = {name: f"{name}={getattr(settings, name)}" for name in meanings}
    width = max(map(len, shown.values()))
    print(f"\nsettings of {recipe}, to be changed with --set NAME=VALUE:")
    for name, text in shown.items():
        print(f"  {text:<{width}}  {meanings[name]}")


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


def _ensemble(options: argparse.Namespace) -> None:
    load_tensorflow()
    from seqattn_tf.training.ensembling import combine

    chosen = {name: getattr(options, name) for name in ("beam_width", "alternatives")}
    made = combine(options.runs, options.output, **{name: n for name, n in chosen.items() if n is not None})
    rescorers = len(getattr(made.network, "rescorers", ()))
    again = f"; right-to-left models that rescore its answers: {rescorers}" if rescorers else ""
    print(f"combined {len(made.network.members)} models in {options.output}{again}")


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


def _quantize(options: argparse.Namespace) -> None:
    from seqattn_tf.presets import find

    model = find(options.model)
    load_tensorflow()
    from seqattn_tf.training.quantization import quantize

    print_table(quantize(model, options.folder, options.dtype, options.data, options.split).table())
