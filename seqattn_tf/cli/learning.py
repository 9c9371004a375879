"""Commands that train: alone, from teachers, and what is made of runs."""

import argparse
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

from seqattn_tf import plugins
from seqattn_tf.cli.base import Commands, print_table

_TO_BE_CONTINUED = 75  # the status of a training that SIGTERM ended: the same command goes on (EX_TEMPFAIL)


def add(commands: Commands) -> None:
    """The commands."""
    commands.add("recipes", _recipes, "list what can be trained")

    train = commands.add("train", _train, "train a recipe", add_help=False)
    _add_training(train)
    _add_strategy(train)

    distill = commands.add("distill", _train, "train a recipe on what teachers say, besides the data", add_help=False)
    _add_training(distill)
    _add_teaching(distill)
    distill.set_defaults(strategy="none", workers="", worker_index=None)

    runs = commands.add("runs", _runs, "list runs beside each other, and draw how they went", foreign=False)
    runs.add_argument("folders", nargs="*", default=["runs"], metavar="FOLDER", help="of runs, or with runs in them")
    runs.add_argument("-o", "--output", type=Path, help="png, svg or pdf: a picture of each figure over the epochs")

    ensemble = commands.add("ensemble", _ensemble, "make one model of several runs of a recipe")
    ensemble.add_argument("runs", nargs="+", metavar="RUN", help="the folder of a run, or a preset")
    ensemble.add_argument("-o", "--output", type=Path, required=True, metavar="RUN", help="the folder that it goes to")
    ensemble.add_argument("--beam-width", type=int, metavar="N", help="that of the first run otherwise")
    ensemble.add_argument(
        "--alternatives", type=int, metavar="N", help="other answers; those of the first run otherwise"
    )

    _add_compact(commands.add("compact", _compact, "store a model in less space, and tell what it costs"))


def _add_training(train: argparse.ArgumentParser) -> None:
    train.add_argument("recipe", nargs="?", metavar="RECIPE", help="see `seqattn recipes`; or a Python file with one")
    train.add_argument(
        "-h", "--help", action="store_true", help="show this, and the settings of RECIPE where one is given"
    )
    train.add_argument("--data", help="a .csv, .tsv or .jsonl file, a folder, or tfds:NAME; the recipe's own otherwise")
    train.add_argument("--run", dest="folder", type=Path, help="where the run goes; runs/RECIPE otherwise")
    train.add_argument("--preset", choices=("full", "small"), default="full", help="small: minutes on two cores")
    train.add_argument("--metric", help="what answers are measured by; short for --set metric=...")
    train.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting")
    train.add_argument(
        "--init-from", metavar="RUN", help="begin with the model of another run, or a preset, and its settings"
    )
    train.add_argument(
        "--xla",
        choices=("auto", "on", "off"),
        default="off",
        help="whether XLA compiles the steps; auto: whatever is faster here, measured when the run begins",
    )
    train.add_argument("--tensorboard", action="store_true", help="write scalars and pictures into its folder")
    train.add_argument("--checkpoint-minutes", type=float, default=5.0, metavar="N", help="keep its state as often")
    train.add_argument(
        "--checkpoint-steps", type=int, default=0, metavar="N", help="the same by steps; 0: by time alone"
    )
    train.set_defaults(print_help=train.print_help)


def _add_strategy(train: argparse.ArgumentParser) -> None:
    train.add_argument(
        "--strategy", choices=("none", "mirrored", "multiworker"), default="none", help="all GPUs; several machines"
    )
    train.add_argument("--workers", default="", metavar="HOST:PORT,...", help="of all machines; TF_CONFIG otherwise")
    train.add_argument("--worker-index", type=int, metavar="N", help="which of them this one is, from 0")


def _add_teaching(distill: argparse.ArgumentParser) -> None:
    distill.add_argument(
        "--teacher",
        action="append",
        default=[],
        metavar="RUN",
        help="a run of the same recipe and data, or a preset; several answer as one",
    )
    distill.add_argument(
        "--made-up", type=int, metavar="N", help="inputs to make up; as many as the training split has otherwise"
    )
    distill.add_argument("--top", type=int, default=3, metavar="N", help="probabilities that teachers tell of a symbol")
    distill.add_argument(
        "--least",
        type=float,
        default=-3.0,
        metavar="LOG",
        help="the least log-probability of an answer to an input that was made up",
    )


def _add_compact(compact: argparse.ArgumentParser) -> None:
    compact.add_argument("model", metavar="RUN", help="the folder of a run, or a preset")
    compact.add_argument("folder", metavar="FOLDER", type=Path, help="where the model goes; none may be there")
    compact.add_argument(
        "--weights", choices=("int8", "float16"), default="int8", help="a quarter of float32, or half of it"
    )
    compact.add_argument("--data", help="where the data are, if not where they were in training")
    compact.add_argument("--split", choices=("train", "dev", "test"), default="dev", help="what both are measured on")


def _recipes(options: argparse.Namespace) -> None:
    from seqattn_tf.training import recipes

    known = recipes.names()
    width = max(map(len, known))
    for name in known:
        print(f"{name:<{width}}  {recipes.get(name).summary}")
    print("seqattn train RECIPE --help lists the settings of one", file=sys.stderr)


def _train(options: argparse.Namespace) -> int:
    from seqattn_tf.models.presets import find
    from seqattn_tf.training import recipes, run
    from seqattn_tf.training.distillation import Teaching, distill
    from seqattn_tf.training.distribution import WorkerLost, open_strategy
    from seqattn_tf.training.identity import settings_of
    from seqattn_tf.training.record import plugins_of, read_record
    from seqattn_tf.training.stopping import Stopped

    if options.recipe is None:
        if not options.help:
            raise ValueError(f"recipe: expected one of {recipes.names()}, or a Python file. Received: none")
        options.print_help()
        return 0
    recipe = (recipes.from_file if options.recipe.endswith(".py") else recipes.get)(options.recipe)
    settings = recipe.small if options.preset == "small" else recipe.settings
    if options.init_from:
        settings = settings_of(recipe, read_record(find(options.init_from))["settings"])
    if options.help:
        options.print_help()
        _print_settings(recipe.name, settings)
        return 0
    chosen = [f"metric={options.metric}"] if options.metric else []
    folder = options.folder or Path("runs") / recipe.name
    settings = settings.with_assignments([*options.set, *chosen])
    distribution = open_strategy(options.strategy, options.workers, options.worker_index)
    keeping = run.Keeping(options.checkpoint_steps, options.checkpoint_minutes)
    try:
        how: dict[str, Any] = {
            "keeping": keeping,
            "init_from": options.init_from,
            "tensorboard": options.tensorboard,
            "distribution": distribution,
            "xla": options.xla,
        }
        if options.command == "distill":
            teaching = Teaching(options.made_up, options.top, options.least)
            model = distill(recipe, settings, folder, options.teacher, options.data, teaching, **how)
        else:
            model = run.train(recipe, settings, folder, options.data, **how)
    except WorkerLost as lost:
        print(f"seqattn {options.command}: {lost}", file=sys.stderr)
        return _TO_BE_CONTINUED
    except Stopped as stop:
        kept = f"the same command goes on with the next step, from {folder}"
        if stop.number == signal.SIGINT:
            raise KeyboardInterrupt(kept) from None
        print(f"seqattn {options.command}: stopped: {kept}", file=sys.stderr)
        return _TO_BE_CONTINUED
    needed = plugins.options({**model.plugins, **plugins_of(recipe, settings)})
    if distribution.is_chief:
        print(f"the best model is in {folder}; seqattn evaluate {shlex.quote(str(folder))} {needed}".rstrip())
    return 0


def _print_settings(recipe: str, settings: Any) -> None:
    """What can be set, how it stands, and what it means."""
    meanings = settings.meanings()
    shown = {name: f"{name}={getattr(settings, name)}" for name in meanings}
    width = max(map(len, shown.values()))
    print(f"\nsettings of {recipe}, changed by --set NAME=VALUE:")
    for name, text in shown.items():
        print(f"  {text:<{width}}  {meanings[name]}")


def _runs(options: argparse.Namespace) -> None:
    from seqattn_tf.explain import draw_history, save_figure
    from seqattn_tf.explain.alignment import check_ending
    from seqattn_tf.training.runs import find_runs, table

    if options.output:
        check_ending(options.output)
    found = find_runs(options.folders)
    print_table(table(found))
    figures = list(dict.fromkeys(name for run in found for logs in run.history for name in logs))
    for number, name in enumerate(figures if options.output else []):
        curves = {run.folder.name: [logs[name] for logs in run.history if name in logs] for run in found}
        output = options.output.with_stem(f"{options.output.stem}-{name}") if number else options.output
        save_figure(draw_history(curves, ylabel=name), output)
        print(output)


def _ensemble(options: argparse.Namespace) -> None:
    from seqattn_tf.training.ensembling import combine

    chosen = {name: getattr(options, name) for name in ("beam_width", "alternatives")}
    made = combine(options.runs, options.output, **{name: n for name, n in chosen.items() if n is not None})
    rescorers = len(getattr(made.network, "rescorers", ()))
    again = f", and {rescorers} from right to left score answers again" if rescorers else ""
    print(f"{len(made.network.members)} models answer as one in {options.output}{again}")


def _compact(options: argparse.Namespace) -> None:
    from seqattn_tf.models.presets import find
    from seqattn_tf.training.compacting import compact

    print_table(compact(find(options.model), options.folder, options.weights, options.data, options.split).table())
