"""The command line: the one place, with `demo`, that knows all four packages.

What a command needs is imported when it runs, so that `seqattn --help` answers at once.
"""

import argparse
import json
import math
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from seqattn_tf import __version__, plugins

TO_BE_CONTINUED = 75  # the status of a training that SIGTERM ended: the same command goes on (EX_TEMPFAIL)
VALUES = "a value; NAME=VALUE for one of several inputs; @FILE for what a file holds, @@ for an @"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; bad input ends with a message and status 2, a server's refusal with status 1."""
    from seqattn_tf.serving.config import expand_flags
    from seqattn_tf.serving.errors import ServingError

    options = _parser().parse_args(expand_flags(sys.argv[1:] if arguments is None else arguments))

    def say(message: object) -> None:
        print(f"seqattn {options.command}: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        _show_plainly(say)
        try:
            by_rest = (getattr(options, "url", None) or "").startswith(("http://", "https://"))
            if not by_rest:  # which needs no TensorFlow
                _load_tensorflow_quietly()
            for name in getattr(options, "plugin", []):
                plugins.load(name)
            return options.run(options) or 0
        except (ValueError, FloatingPointError, OSError) as error:
            say(error)
            return 2
        except ServingError as error:
            say(error)
            return 1
        except KeyboardInterrupt as stop:
            say(": ".join(["stopped", *map(str, stop.args)]))
            return 130


def _show_plainly(say: Callable[[object], None]) -> None:
    """What users are warned of goes by itself, without the Python file and line that noticed it."""
    usual = warnings.showwarning

    def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, UserWarning):
            say(message)
        else:
            usual(message, category, *where, **more)

    warnings.showwarning = show


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="seqattn", description="Recurrent models with attention you can look at.")
    parser.add_argument("--version", action="version", version=f"seqattn {__version__}")
    foreign = argparse.ArgumentParser(add_help=False)
    foreign.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="MODULE",
        help="import a module or a Python file first, whose cells, scores, recipes, ... are then found by name",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, run: Any, text: str, **how: Any) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text, **how)
        made.set_defaults(run=run)
        return made

    demo = command("demo", _demo, "train a small model, export, serve, ask it, and draw what it looked at")
    demo.add_argument("--folder", type=Path, default=Path("demo"), help="where everything goes")

    command("recipes", _recipes, "list what can be trained", parents=[foreign])

    train = command("train", _train, "train a recipe", parents=[foreign], add_help=False)
    _add_training(train)
    _add_strategy(train)

    distill = command(
        "distill", _train, "train a recipe on what teachers say, besides the data", parents=[foreign], add_help=False
    )
    _add_training(distill)
    _add_teaching(distill)
    distill.set_defaults(strategy="none", workers="", worker_index=None)

    runs = command("runs", _runs, "list runs beside each other, and draw how they went")
    runs.add_argument("folders", nargs="*", default=["runs"], metavar="FOLDER", help="of runs, or with runs in them")
    runs.add_argument("-o", "--output", type=Path, help="png, svg or pdf: a picture of each figure over the epochs")

    ensemble = command("ensemble", _ensemble, "make one model of several runs of a recipe", parents=[foreign])
    ensemble.add_argument("runs", nargs="+", metavar="RUN", help="the folder of a run, or a preset")
    ensemble.add_argument("-o", "--output", type=Path, required=True, metavar="RUN", help="the folder that it goes to")
    ensemble.add_argument("--beam-width", type=int, metavar="N", help="that of the first run otherwise")
    ensemble.add_argument(
        "--alternatives", type=int, metavar="N", help="other answers; those of the first run otherwise"
    )

    evaluate = command(
        "evaluate", _evaluate, "print how good models are on their data, and draw it by groups", parents=[foreign]
    )
    evaluate.add_argument("models", nargs="+", metavar="MODEL", help="the folder of a run, or a preset")
    evaluate.add_argument("--data", help="where the data are, if not where they were in training")
    evaluate.add_argument("-o", "--output", type=Path, default=Path("evaluation.png"), help="png, svg or pdf")
    evaluate.add_argument("--split", choices=("train", "dev", "test"), default="test")
    evaluate.add_argument(
        "--faithfulness",
        action="store_true",
        help="also tell how much less probable answers are without what was looked at most, and draw it",
    )

    _add_compact(command("compact", _compact, "store a model in less space, and tell what it costs", parents=[foreign]))

    explain = command("explain", _explain, "draw what a model looked at", parents=[foreign])
    explain.add_argument("model", help="the folder of a run, or a preset")
    explain.add_argument("values", nargs="+", metavar="VALUE", help=VALUES)
    explain.add_argument("-o", "--output", type=Path, default=Path("alignment.png"), help="png, svg or pdf")

    gallery = command(
        "gallery", _gallery, "show each system with one input, its answer and its picture on a page", parents=[foreign]
    )
    gallery.add_argument(
        "models", nargs="*", metavar="MODEL", help="folders of runs, or presets; all presets otherwise"
    )
    gallery.add_argument("-o", "--output", type=Path, default=Path("gallery.md"), help="Markdown; images/ beside it")

    export = command(
        "export", _export, "write SavedModel and LiteRT, verified against the Keras model", parents=[foreign]
    )
    export.add_argument("model", nargs="?", help="the folder of a run, or a preset")
    export.add_argument("target", type=Path, nargs="?", help="models/NAME, which gets its next version")
    export.add_argument("--no-lite", action="store_true", help="the SavedModel alone, of what LiteRT has no ops for")
    export.add_argument(
        "--check",
        type=Path,
        metavar="DIR",
        help="write nothing; tell whether TensorFlow Serving can run a SavedModel",
    )

    from seqattn_tf.serving.config import add_flags

    serve = command("serve", _serve, "serve a folder of exported models by TensorFlow Serving's REST and gRPC")
    serve.add_argument("models", type=Path, nargs="?", help="the folder; without it the presets are served")
    serve.add_argument("--embedded", action="store_true", help="our own server, even where TensorFlow Serving is")
    serve.add_argument("--container_image", default="", help="run TensorFlow Serving from this image, with Docker")
    serve.add_argument("--version", action="store_true", help="print the versions of server and TensorFlow, and end")
    add_flags(serve)

    query = command("query", _query, "ask a model", parents=[foreign])
    query.add_argument("model", help="a preset or the folder of a run; with --url, the name on the server")
    query.add_argument("values", nargs="+", metavar="VALUE", help=VALUES)
    query.add_argument("--url", help="http://HOST:PORT or grpc://HOST:PORT; in this process otherwise")
    query.add_argument("--json", action="store_true", help="print everything, attention included")
    query.add_argument("--nbest", action="store_true", help="print the other answers as well, best first")

    _add_map(command("map", _map, "answer all rows of files, in parts that go on after an end", parents=[foreign]))
    return parser


def _add_compact(compact: argparse.ArgumentParser) -> None:
    compact.add_argument("model", metavar="RUN", help="the folder of a run, or a preset")
    compact.add_argument("folder", metavar="FOLDER", type=Path, help="where the model goes; none may be there")
    compact.add_argument(
        "--weights", choices=("int8", "float16"), default="int8", help="a quarter of float32, or half of it"
    )
    compact.add_argument("--data", help="where the data are, if not where they were in training")
    compact.add_argument("--split", choices=("train", "dev", "test"), default="dev", help="what both are measured on")


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


def _add_map(mapped: argparse.ArgumentParser) -> None:
    mapped.add_argument("model", metavar="MODEL", help="the folder of a run, or a preset")
    mapped.add_argument("source", metavar="INPUT", help=".jsonl, .csv, .tsv, .txt or .parquet; a folder; '*.csv'")
    mapped.add_argument("output", metavar="OUTPUT", type=Path, help="a file with such an ending; a folder otherwise")
    mapped.add_argument("--column", action="append", default=[], metavar="INPUT=COLUMN", help="where an input stands")
    mapped.add_argument("--attention", action="store_true", help="also write what the model looked at")
    mapped.add_argument("--batch-size", type=int, default=256, help="rows that the model is given at once")
    mapped.add_argument("--shard-rows", type=int, default=2000, help="rows of a part")
    mapped.add_argument("--processes", type=int, help="as many as there are cores otherwise; 0 for this one alone")
    mapped.add_argument("--threads", type=int, default=1, help="of TensorFlow in each process")
    mapped.add_argument("--engine", choices=("local", "ray"), default="local", help="where the processes run")
    mapped.add_argument("--address", help="of the Ray cluster; RAY_ADDRESS, or this machine alone, otherwise")


def _load_tensorflow_quietly() -> None:
    """Import TensorFlow without its start-up notes on standard error; what matters comes as an exception."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        import tensorflow as tf

        tf.config.list_physical_devices()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _demo(options: argparse.Namespace) -> None:
    from seqattn_tf.demo import demo

    demo(options.folder)


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
        return TO_BE_CONTINUED
    except Stopped as stop:
        kept = f"the same command goes on with the next step, from {folder}"
        if stop.number == signal.SIGINT:
            raise KeyboardInterrupt(kept) from None
        print(f"seqattn {options.command}: stopped: {kept}", file=sys.stderr)
        return TO_BE_CONTINUED
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
    _print_table(table(found))
    figures = list(dict.fromkeys(name for run in found for logs in run.history for name in logs))
    for number, name in enumerate(figures if options.output else []):
        curves = {run.folder.name: [logs[name] for logs in run.history if name in logs] for run in found}
        output = options.output.with_stem(f"{options.output.stem}-{name}") if number else options.output
        save_figure(draw_history(curves, ylabel=name), output)
        print(output)


def _print_table(lines: Sequence[Sequence[str]]) -> None:
    """Rows of texts, each column as wide as its widest."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)).rstrip())


def _compact(options: argparse.Namespace) -> None:
    from seqattn_tf.models.presets import find
    from seqattn_tf.training.compacting import compact

    _print_table(compact(find(options.model), options.folder, options.weights, options.data, options.split).table())


def _ensemble(options: argparse.Namespace) -> None:
    from seqattn_tf.training.ensembling import combine

    chosen = {name: getattr(options, name) for name in ("beam_width", "alternatives")}
    made = combine(options.runs, options.output, **{name: n for name, n in chosen.items() if n is not None})
    rescorers = len(getattr(made.network, "rescorers", ()))
    again = f", and {rescorers} from right to left score answers again" if rescorers else ""
    print(f"{len(made.network.members)} models answer as one in {options.output}{again}")


def _evaluate(options: argparse.Namespace) -> None:
    from seqattn_tf.explain import draw_lengths, save_figure
    from seqattn_tf.explain.alignment import check_ending
    from seqattn_tf.models.presets import find
    from seqattn_tf.training import run

    folders = {model: find(model) for model in options.models}  # before any is evaluated
    check_ending(options.output)
    erased = {  # first: not every model can be asked so
        model: run.evaluate_faithfulness(folder, options.data, options.split)
        for model, folder in folders.items()
        if options.faithfulness
    }
    reports = {model: run.evaluate(folder, options.data, options.split) for model, folder in folders.items()}
    for model, report in reports.items():
        if len(reports) > 1:
            print(model)
        for name, value in report.figures.items():
            print(f"{name.upper()} {value:.4f}")
        for title, rows in report.groups.items():
            print(title)
            for label, count, value in rows:
                print(f"  {label:<24}{count:>6}{value:10.4f}")
    titles = list(dict.fromkeys(title for report in reports.values() for title in report.groups))
    for number, title in enumerate(titles, 1):
        groups = {str(model): report.groups[title] for model, report in reports.items() if report.groups.get(title)}
        stem = options.output.stem + (f"-{number}" if number > 1 else "")
        output = options.output.with_stem(stem)
        save_figure(draw_lengths(groups, ylabel=title.partition(" by ")[0], xlabel=title.partition(" by ")[2]), output)
        print(output)
    for number, (model, found) in enumerate(erased.items(), 1):
        if len(reports) > 1:
            print(model)
        output = options.output.with_stem(f"{options.output.stem}-faithfulness" + (f"-{number}" if number > 1 else ""))
        _show_faithfulness(found, output)


def _show_faithfulness(found: Any, output: Path) -> None:
    """Print and draw what erasing does to answers."""
    from seqattn_tf.explain import draw_lengths, save_figure

    print(f"drop of the answer's probability ({found.probability:.4f}) by {found.erased} erased, and what chose them")
    print(f"  {'':<12}" + "".join(f"{label:>10}" for label, _, _ in found.drops["attention"]))
    for choice, rows in found.drops.items():
        print(f"  {choice:<12}" + "".join(f"{value:>10.4f}" for _, _, value in rows))
    print(f"  {'of rows':<12}" + "".join(f"{count:>10}" for _, count, _ in found.drops["attention"]))
    save_figure(draw_lengths(found.drops, ylabel="drop of probability", xlabel=f"{found.erased} erased"), output)
    print(output)


def _explain(options: argparse.Namespace) -> None:
    from seqattn_tf.explain import save_figure
    from seqattn_tf.models.presets import open_model
    from seqattn_tf.values import read_rows

    model = open_model(options.model)
    rows = read_rows(options.values, list(model.inputs))
    if len(rows) != 1:
        raise ValueError(f"values: expected those of one question. Received: those of {len(rows)}")
    for number, look in enumerate(model.looks or [""]):
        output = options.output.with_stem(f"{options.output.stem}-{look}") if number else options.output
        save_figure(model.explain(rows[0], look), output)
        print(output)


def _gallery(options: argparse.Namespace) -> None:
    from seqattn_tf.training.gallery import write_gallery

    lacking = write_gallery(options.models, options.output)
    print(options.output)
    if lacking:
        print(f"without a model: {', '.join(lacking)}")


def _export(options: argparse.Namespace) -> int:
    if (options.check is None) != (options.target is not None) or (options.check and options.model):
        raise ValueError("expected either MODEL and TARGET, or --check DIR. Received: neither or both")
    if options.check is not None:
        return _check(options.check)
    from seqattn_tf.export.package import FORMS, export
    from seqattn_tf.models.presets import find

    forms = [form for form in FORMS if form.title != "LiteRT" or not options.no_lite]
    done = export(find(options.model), options.target, forms=forms)
    print(done.version if options.no_lite else f"{done.version}  {done.lite}")
    agreeing = ", ".join(f"{title} {count}" for title, count in done.agreeing.items())
    print(f"agree with the Keras model on {done.rows} rows: {agreeing}")
    return 0


def _check(folder: Path) -> int:
    """Say of each version what TensorFlow's C++ loader makes of it; status 1 where one cannot be served."""
    from seqattn_tf.export.check import check

    found = check(folder)
    for version, findings in found.items():
        print(version)
        for finding in findings:
            print(f"  {finding}")
    return int(any(finding.fault for findings in found.values() for finding in findings))


def _serve(options: argparse.Namespace) -> None:
    from seqattn_tf.serving import launcher
    from seqattn_tf.serving.config import from_flags

    if options.version:
        return _print_versions()
    models = options.models
    if models is None and options.model_base_path is None and options.model_config_file is None:
        from seqattn_tf.export.package import export_presets

        models = export_presets()
    config = from_flags(models, options)
    if options.container_image or (launcher.find() and not options.embedded):
        launcher.serve(config, options.container_image)
    else:
        from seqattn_tf.serving.server import serve

        for line in ("the embedded server: for development, tests and small installations", *config.idle()):
            print(line, file=sys.stderr)
        serve(config)


def _print_versions() -> None:
    import tensorflow as tf

    print(f"seqattn_tf: {__version__}\nTensorFlow Library: {tf.__version__}")


def _query(options: argparse.Namespace) -> None:
    from seqattn_tf.values import read_rows

    if options.url:
        from seqattn_tf.serving.client import connect

        with closing(connect(options.url)) as client:
            rows = read_rows(options.values, client.inputs(options.model))
            answers = client.answer(options.model, rows)
        ranked_by = "what the server's model ranks them by"
    else:
        from seqattn_tf.models.presets import open_model

        model = open_model(options.model)
        rows = read_rows(options.values, list(model.inputs))
        answers = model.answer(rows)
        ranked_by = model.ranked_by
    if options.nbest and not any(answer.alternatives for answer in answers):
        print("there are no other answers: a model gives as many as its `alternatives`", file=sys.stderr)
    elif options.nbest:
        print(f"ranked by {ranked_by}; the number is the log-probability", file=sys.stderr)
    for row, answer in zip(rows, answers, strict=True):
        if options.json:
            print(_as_json(answer))
            continue
        for text, score in [(answer.text, answer.score), *(answer.alternatives if options.nbest else [])]:
            print("\t".join([*map(_shown, row.values()), text, f"{score:.3f}"]))


def _map(options: argparse.Namespace) -> int:
    from seqattn_tf.serving.mapping import Options, map_file

    pairs = [given.partition("=") for given in options.column]
    if wrong := [name for name, equals, column in pairs if not (name and equals and column)]:
        raise ValueError(f"column: expected INPUT=COLUMN. Received: {wrong[0]!r}")
    names = ("attention", "batch_size", "shard_rows", "processes", "threads", "engine", "address")
    chosen = {name: getattr(options, name) for name in names}
    how = Options(columns={name: column for name, _, column in pairs}, plugins=options.plugin, **chosen)
    done = map_file(options.model, options.source, options.output, how)
    print(f"{done.rows - done.rejected:,} rows are answered in {done.output}")
    if done.rejected:
        print(f"{done.rejected:,} were set aside, with their reasons, in {done.rejected_output}")
    return int(0 < done.rows == done.rejected)


def _shown(value: str | bytes) -> str:
    """A value in one column of one line."""
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    return " / ".join(line.strip("\r") for line in value.replace("\t", " ").strip("\n").split("\n"))


def _as_json(answer: Any) -> str:
    """Everything of an answer; what JSON has no word for, infinity among it, as null."""
    whole = {**vars(answer), "looks": {name: vars(look) for name, look in answer.looks.items()}}
    return json.dumps(_plain(whole), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Arrays and bytes as JSON can hold them."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


if __name__ == "__main__":
    sys.exit(main())
