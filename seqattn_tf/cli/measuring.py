"""Commands that evaluate models and draw what they attend to."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqattn_tf.cli.base import (
    VALUES,
    Commands,
    add_engine,
    check_files,
    load_tensorflow,
    open_quietly,
    print_markdown,
    print_table,
)


def add(commands: Commands) -> None:
    """Add the commands of this module."""
    evaluate = commands.add(
        "evaluate", _evaluate, "evaluate models with confidence intervals, compare them, and plot metrics by group"
    )
    evaluate.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help="a run folder or a preset; several ones are compared with the first if their test data are the same",
    )
    evaluate.add_argument("--data", help="location of the training data, if it changed since training")
    evaluate.add_argument(
        "--test",
        metavar="DATA",
        help="evaluate on this labelled file or folder instead of the data of the model, in the format of its recipe",
    )
    evaluate.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a setting for reading --test, such as text_column",
    )
    form = evaluate.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print CSV: a row for each model and metric")
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="print a Markdown table")
    evaluate.add_argument(
        "-o", "--output", type=Path, help="png, svg or pdf file for metrics by group, if any (default: evaluation.png)"
    )
    evaluate.add_argument("--split", choices=("train", "dev", "test"), default="test")
    evaluate.add_argument(
        "--faithfulness",
        action="store_true",
        help="also measure how much the probability drops when the most attended tokens are erased, and plot it",
    )

    explain = commands.add("explain", _explain, "draw the attention weights of a model for one input")
    explain.add_argument("model", help="a run folder or a preset")
    explain.add_argument("values", nargs="+", metavar="VALUE", help=VALUES)
    add_engine(explain)
    explain.add_argument(
        "-o", "--output", type=Path, default=Path("alignment.png"), help="png, svg or pdf file (default: alignment.png)"
    )

    gallery = commands.add("gallery", _gallery, "write a page with one input, answer and picture for each recipe")
    gallery.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="run folders or presets; of each recipe, the first (default: all presets)",
    )
    gallery.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("gallery.md"),
        help="Markdown file; images are saved in images/ next to it (default: gallery.md)",
    )


def _evaluate(options: argparse.Namespace) -> None:
    from seqattn_tf.presets import find

    folders = {model: find(model) for model in options.models}  # check all before evaluating any
    load_tensorflow()
    from seqattn_tf.explain import draw_lengths, save_figure
    from seqattn_tf.explain.alignment import check_ending
    from seqattn_tf.training import evaluation

    check_ending(options.output or Path("evaluation.png"))
    if options.set and options.test is None:
        raise ValueError("set: expected --test, which these settings apply to. Received: none")
    if options.faithfulness and options.test is not None:
        raise ValueError("test: expected none with --faithfulness. Received: both")
    if options.output and not options.faithfulness and not any(map(evaluation.groups_of, folders.values())):
        raise ValueError("output: expected a metric with groups to plot. Received: none; omit --output")
    options.output = options.output or Path("evaluation.png")
    erased = {  # first, because not every model supports it
        model: evaluation.evaluate_faithfulness(folder, options.data, options.split)
        for model, folder in folders.items()
        if options.faithfulness
    }
    how = {"test": options.test, "assignments": options.set}
    reports = {
        model: evaluation.evaluate(folder, options.data, options.split, **how) for model, folder in folders.items()
    }
    _print_reports(reports, options)
    if options.csv or options.json or options.markdown:
        return
    for model, report in reports.items():
        if len(reports) > 1 and report.groups:
            print(model)
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


def _print_reports(found: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Print the results in the chosen form, and notes about the test data to the error stream."""
    from seqattn_tf.training import reports

    same = len(found) > 1 and len({tuple(one.identities) for one in found.values()}) == 1
    for note in reports.notes(found):
        print(note, file=sys.stderr)
    if options.csv or options.json:
        print(reports.as_csv(found) if options.csv else reports.as_json(found, same))
        return
    tables = [reports.table(found), reports.comparisons(found) if same else []]
    if len(found) > 1 and not same:
        print("not compared, because their test data differ", file=sys.stderr)
    for number, rows in enumerate(filter(None, tables)):
        if number:
            print()
        print_markdown(rows) if options.markdown else print_table(rows)


def _show_faithfulness(found: Any, output: Path) -> None:
    """Print and draw how erasing parts of the input changes the answers."""
    from seqattn_tf.explain import draw_lengths, save_figure

    print(
        f"drop in the answer's probability ({found.probability:.4f}) by number of erased {found.erased}, "
        "for each way of choosing them"
    )
    print(f"  {'':<12}" + "".join(f"{label:>10}" for label, _, _ in found.drops["attention"]))
    for choice, rows in found.drops.items():
        print(f"  {choice:<12}" + "".join(f"{value:>10.4f}" for _, _, value in rows))
    print(f"  {'rows':<12}" + "".join(f"{count:>10}" for _, count, _ in found.drops["attention"]))
    save_figure(draw_lengths(found.drops, ylabel="drop in probability", xlabel=f"erased {found.erased}"), output)
    print(output)


def _explain(options: argparse.Namespace) -> None:
    from seqattn_tf.cli.values import read_rows
    from seqattn_tf.explain import save_figure

    model = open_quietly(options.model, options.engine)
    rows = read_rows(options.values, list(model.inputs))
    check_files(rows, {name: field.widget for name, field in model.inputs.items()})
    if len(rows) != 1:
        raise ValueError(f"values: expected the inputs of a single row. Received: {len(rows)} rows")
    if options.output.resolve() in [Path(value.partition("@")[2]).resolve() for value in options.values]:
        raise ValueError(f"output: expected another file than that of the input. Received: {options.output}")
    for number, look in enumerate(model.attention_maps or [""]):
        output = options.output.with_stem(f"{options.output.stem}-{look}") if number else options.output
        save_figure(model.explain(rows[0], look), output)
        print(output)


def _gallery(options: argparse.Namespace) -> None:
    load_tensorflow()
    from seqattn_tf.training.gallery import write_gallery

    lacking = write_gallery(options.models, options.output)
    print(options.output)
    if lacking:
        print(f"recipes without a model: {', '.join(lacking)}")
