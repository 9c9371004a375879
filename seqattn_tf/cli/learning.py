"""Commands that train and distill models, and commands that combine and quantize runs."""

import argparse
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

from seqattn_tf import plugins
from seqattn_tf.cli.base import Commands, load_tensorflow, print_table

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

    ensemble = commands.add("ensemble", _ensemble, "combine several runs of a recipe into one model")
    ensemble.add_argument("runs", nargs="+", metavar="RUN", help="a run folder or a preset")
    ensemble.add_argument("-o", "--output", type=Path, required=True, metavar="RUN", help="the folder to write")
    ensemble.add_argument("--beam-width", type=int, metavar="N", help="beam width (default: as in the first run)")
    ensemble.add_argument(
        "--alternatives", type=int, metavar="N", help="additional answers to return (default: as in the first run)"
    )

    _add_quantize(commands.add("quantize", _quantize, "store a model in less space, and report the loss in quality"))


RECIPE = "a recipe from `seqattn recipes`, or a Python file that defines one"


def _add_training(train: argparse.ArgumentParser) -> None:
    train.add_argument("recipe", nargs="?", metavar="RECIPE", help=RECIPE)
    train.add_argument("-h", "--help", action="store_true", help="show this help, and the settings of RECIPE if given")
    train.add_argument("--run", dest="folder", type=Path, help="folder of the run (default: runs/RECIPE)")
    add_choices(train)
    add_xla(train)
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


def add_xla(train: argparse.ArgumentParser) -> None:
    """Add the option for compiled steps."""
    train.add_argument(
        "--xla",
        choices=("auto", "on", "off"),
        default="off",
        help="compile the training step with XLA; auto measures both and keeps the faster one",
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


def _print_settings(recipe: str, settings: Any) -> None:
    """Print all settings with their values and meanings."""
    meanings = settings.meanings()
    shown = {name: f"{name}={getattr(settings, name)}" for name in meanings}
    width = max(map(len, shown.values()))
    print(f"\nsettings of {recipe}, to be changed with --set NAME=VALUE:")
    for name, text in shown.items():
        print(f"  {text:<{width}}  {meanings[name]}")


def _ensemble(options: argparse.Namespace) -> None:
    load_tensorflow()
    from seqattn_tf.training.ensembling import combine

    chosen = {name: getattr(options, name) for name in ("beam_width", "alternatives")}
    made = combine(options.runs, options.output, **{name: n for name, n in chosen.items() if n is not None})
    rescorers = len(getattr(made.network, "rescorers", ()))
    again = f"; right-to-left models that rescore its answers: {rescorers}" if rescorers else ""
    print(f"combined {len(made.network.members)} models in {options.output}{again}")


def _quantize(options: argparse.Namespace) -> None:
    from seqattn_tf.presets import find

    model = find(options.model)
    load_tensorflow()
    from seqattn_tf.training.quantization import quantize

    print_table(quantize(model, options.folder, options.dtype, options.data, options.split).table())
