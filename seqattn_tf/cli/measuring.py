"""Commands that tell how good models are and show what they look at."""

import argparse
from pathlib import Path
from typing import Any

from seqattn_tf.cli.base import VALUES, Commands, check_files


def add(commands: Commands) -> None:
    """The commands."""
    evaluate = commands.add("evaluate", _evaluate, "print how good models are on their data, and draw it by groups")
    evaluate.add_argument("models", nargs="+", metavar="MODEL", help="the folder of a run, or a preset")
    evaluate.add_argument("--data", help="where the data are, if not where they were in training")
    evaluate.add_argument(
        "-o", "--output", type=Path, help="png, svg or pdf of the figures by groups (default: evaluation.png, if any)"
    )
    evaluate.add_argument("--split", choices=("train", "dev", "test"), default="test")
    evaluate.add_argument(
        "--faithfulness",
        action="store_true",
        help="also tell how much less probable answers are without what was looked at most, and draw it",
    )

    explain = commands.add("explain", _explain, "draw what a model looked at")
    explain.add_argument("model", help="the folder of a run, or a preset")
    explain.add_argument("values", nargs="+", metavar="VALUE", help=VALUES)
    explain.add_argument("-o", "--output", type=Path, default=Path("alignment.png"), help="png, svg or pdf")

    gallery = commands.add("gallery", _gallery, "show each system with one input, its answer and its picture on a page")
    gallery.add_argument(
        "models", nargs="*", metavar="MODEL", help="folders of runs, or presets; all presets otherwise"
    )
    gallery.add_argument("-o", "--output", type=Path, default=Path("gallery.md"), help="Markdown; images/ beside it")


def _evaluate(options: argparse.Namespace) -> None:
    from seqattn_tf.explain import draw_lengths, save_figure
    from seqattn_tf.explain.alignment import check_ending
    from seqattn_tf.models.presets import find
    from seqattn_tf.training import run

    folders = {model: find(model) for model in options.models}  # before any is evaluated
    check_ending(options.output or Path("evaluation.png"))
    if options.output and not options.faithfulness and not any(map(run.groups_of, folders.values())):
        raise ValueError(f"output: expected a metric with groups to draw. Received: none to write to {options.output}")
    options.output = options.output or Path("evaluation.png")
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
    from seqattn_tf.cli.values import read_rows
    from seqattn_tf.explain import save_figure
    from seqattn_tf.models.presets import open_model

    model = open_model(options.model)
    rows = read_rows(options.values, list(model.inputs))
    check_files(rows, {name: field.kind for name, field in model.inputs.items()})
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
