"""The command that lists the data sets that recipes read, and verifies or converts a copy of one."""

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any

from seqattn_tf.cli.base import Commands, print_table

_WIDTH = 110


def add(commands: Commands) -> None:
    """Add the commands of this module."""
    data = commands.add(
        "data", _data, "list the data sets that recipes read; verify or convert a copy of one", foreign=False
    )
    data.add_argument("name", nargs="?", metavar="NAME", help="a data set, to show its origin, split and checksums")
    data.add_argument(
        "--from",
        dest="folder",
        metavar="FOLDER",
        help="a copy to verify, or the original distribution (a folder or an archive) to convert",
    )
    data.add_argument(
        "-o", "--output", type=Path, metavar="DEST", help="the folder to write when converting (default: data/NAME)"
    )


def _data(options: argparse.Namespace) -> int:
    from seqattn_tf.training.data import catalog

    if options.name is None:
        if options.folder or options.output:
            raise ValueError(f"name: expected one of {catalog.names()} with --from. Received: none")
        _list([catalog.get(name) for name in catalog.names()])
        return 0
    dataset = catalog.get(options.name)
    if options.folder is None:
        if options.output:
            raise ValueError("from: expected a folder or an archive with --output. Received: none")
        _show(dataset)
        return 0
    return _check(dataset, Path(options.folder), options.output)


def _list(datasets: list[Any]) -> None:
    rows = [
        (dataset.name, dataset.title, dataset.license, _megabytes(dataset.size), ", ".join(dataset.recipes))
        for dataset in datasets
    ]
    print_table([("name", "what", "license", "size", "recipes"), *rows])
    print(
        "seqattn data NAME shows the origin of a set; seqattn data NAME --from FOLDER verifies or converts a copy",
        file=sys.stderr,
    )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _show(dataset: Any) -> None:
    from seqattn_tf.training.data.catalog.base import UNCHECKED

    source = dataset.source
    facts = {
        "what": dataset.title,
        "recipes": ", ".join(dataset.recipes),
        "origin": source.project,
        "version": source.version,
        "license": source.license,
        "address": source.address or UNCHECKED,
        "split": dataset.split,
        "original": ", ".join(dataset.originals) or "read as it is, or not known",
        "converter": dataset.status,
    }
    for title, text in facts.items():
        lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
        print(f"{title:<10} " + f"\n{'':<11}".join(lines))
    print("\nfiles, decompressed, with their SHA-256:")
    for name, file in dataset.files.items():
        print(f"{file.sha256}  {name}  {file.size} bytes{f' in {file.count} files' if file.pattern else ''}")
    if any(file.pattern for file in dataset.files.values()):
        print("The checksum of several files is that of the output of `LC_ALL=C sha256sum FILES`.")


def _check(dataset: Any, folder: Path, output: Path | None) -> int:
    """Verify a copy, or convert the original distribution and verify the result."""
    from seqattn_tf.training.data.catalog import checking
    from seqattn_tf.training.data.catalog.originals import Originals

    found = checking.verify(dataset, folder)
    has_none = all(finding.state == checking.MISSING for finding in found)
    if checking.is_prepared(dataset, folder) and not has_none:
        if output:
            raise ValueError(f"output: expected none, because {folder} needs no conversion. Received: {output}")
        return _conclude(dataset, folder, found)
    originals = Originals(folder)
    if dataset.convert and not originals.missing(dataset.originals):
        destination = output or Path("data") / dataset.name
        checking.convert(dataset, originals, destination)
        print(f"converted {folder} to {destination}")
        return _conclude(dataset, destination, checking.verify(dataset, destination))
    if has_none:
        raise checking.unrecognized(dataset, folder, originals.names)
    return _conclude(dataset, folder, found)


def _conclude(dataset: Any, folder: Path, findings: list[Any]) -> int:
    """Print the comparison and what it means; the status is 0 for the reference and for other known versions."""
    from seqattn_tf.training.data.catalog import checking

    print_table([(finding.name, finding.state, finding.detail) for finding in findings])
    if all(finding.state == checking.EQUAL for finding in findings):
        print(f"{folder} equals the copy that docs/results.md was measured with")
        return 0
    if version := checking.version_of(dataset, findings):
        print(f"{folder} is {version} of {dataset.name}. docs/results.md was measured with {dataset.source.version}")
        return 0
    if any(finding.state == checking.MISSING for finding in findings):
        print(f"{folder} is an incomplete copy of {dataset.name}", file=sys.stderr)
    else:
        print(
            f"{folder} is another version of {dataset.name} than that of docs/results.md, or damaged", file=sys.stderr
        )
    return 1
