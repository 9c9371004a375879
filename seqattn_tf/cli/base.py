"""How a command is added to the command line."""

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from seqattn_tf.cli.values import forgotten_at
from seqattn_tf.core.registry import suggest

Run = Callable[[argparse.Namespace], int | None]
VALUES = "a value; NAME=VALUE for one of several inputs; @FILE for what a file holds, @@ for an @"


class Parser(argparse.ArgumentParser):
    """A parser that suggests a correction for unknown commands, options and choices."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all arguments; unknown ones are an error."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command = getattr(found, "parser", self)
            options = [name for name in command._option_string_actions if name.startswith("--")]
            near = suggest(unknown[0].partition("=")[0], options) if unknown[0].startswith("-") else ""
            command.error(f"unrecognized arguments: {' '.join(unknown)}{near}")
        return found

    def error(self, message: str) -> NoReturn:
        """Print the message, and what was probably meant, and exit with status 2."""
        if match := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)$", message):
            message += suggest(match[1], re.findall(r"[\w.-]+", match[2]))
        super().error(message)


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
        made.set_defaults(run=run, parser=made)
        return made


def print_table(lines: Sequence[Sequence[str]]) -> None:
    """Rows of texts, each column as wide as its widest."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)).rstrip())


def check_files(rows: Sequence[Mapping[str, str | bytes]], kinds: Mapping[str, str]) -> None:
    """Say where an `@` was probably forgotten: an error where the input is no text, else a note.

    Args:
        rows: what is asked, by input.
        kinds: what each input is: `text`, `lines`, `image`, ...
    """
    for name, value in ((name, value) for row in rows for name, value in row.items()):
        takes_text = kinds[name] in ("text", "lines")
        if meant := forgotten_at(value, takes_text):
            if not takes_text:
                raise ValueError(f"{name}: expected the bytes of a file. Received: {value!r}; did you mean {meant}?")
            print(f"{meant[1:]} is the name of a file; did you mean {meant}?", file=sys.stderr)
