"""How a command is added to the command line."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

Run = Callable[[argparse.Namespace], int | None]
VALUES = "a value; NAME=VALUE for one of several inputs; @FILE for what a file holds, @@ for an @"


class Commands:
    """The commands of a parser.

    Args:
        parser: of the whole command line.
    """

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
        self._foreign = argparse.ArgumentParser(add_help=False)
        self._foreign.add_argument(
            "--plugin",
            action="append",
            default=[],
            metavar="MODULE",
            help="import a module or a Python file first, whose cells, scores, recipes, ... are then found by name",
        )

    def add(self, name: str, run: Run, text: str, foreign: bool = True, **how: Any) -> argparse.ArgumentParser:
        """A command and what runs it; `foreign` where it takes plug-ins."""
        parents = [self._foreign] if foreign else []
        made = self._commands.add_parser(name, help=text, description=text, parents=parents, **how)
        made.set_defaults(run=run)
        return made


def print_table(lines: Sequence[Sequence[str]]) -> None:
    """Rows of texts, each column as wide as its widest."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)).rstrip())
