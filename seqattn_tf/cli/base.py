"""The parser of the command line, and helpers for its commands."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from seqattn_tf.cli.values import forgotten_at
from seqattn_tf.core.quiet import hide_messages
from seqattn_tf.core.registry import suggest
from seqattn_tf.presets import ENGINES, lite_folder, open_model

Run = Callable[[argparse.Namespace], int | None]
VALUES = "an input value, or NAME=VALUE for models with several inputs; @FILE reads a file, @@ is a literal @"


class Parser(argparse.ArgumentParser):
    """A parser that suggests a correction for unknown commands, options and choices."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all arguments; unknown arguments are an error."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command = getattr(found, "parser", self)
            options = [name for name in command._option_string_actions if name.startswith("--")]
            near = suggest(unknown[0].partition("=")[0], options) if unknown[0].startswith("-") else ""
            command.error(f"unrecognized arguments: {' '.join(unknown)}{near}")
        return found

    def error(self, message: str) -> NoReturn:
        """Print the message with a suggestion for a misspelled choice, and exit with status 2."""
        if match := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)$", message):
            message += suggest(match[1], re.findall(r"[\w.-]+", match[2]))
        super().error(message)


class Commands:
    """The commands of a parser.

    Args:
        parser: The parser of the whole command line.
    """

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
        self._foreign = argparse.ArgumentParser(add_help=False)
        self._foreign.add_argument(
            "--plugin",
            action="append",
            default=[],
            metavar="MODULE",
            help="module or Python file to import first; its cells, scores, recipes, ... are then available by name",
        )

    def add(self, name: str, run: Run, text: str, foreign: bool = True, **how: Any) -> argparse.ArgumentParser:
        """Add a command with the function that runs it; `foreign` adds the option for plug-ins."""
        parents = [self._foreign] if foreign else []
        made = self._commands.add_parser(name, help=text, description=text, parents=parents, **how)
        made.set_defaults(run=run, parser=made)
        return made


def load_tensorflow() -> None:
    """Import TensorFlow without its start-up messages."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with hide_messages():
        import tensorflow as tf

        tf.config.list_physical_devices()


def open_quietly(name: str, engine: str) -> Any:
    """Open a model without the start-up messages of LiteRT or TensorFlow."""
    if lite_folder(name, engine) is None:
        load_tensorflow()
        return open_model(name, engine)
    with hide_messages():
        return open_model(name, engine)


def add_engine(command: argparse.ArgumentParser) -> None:
    """Add the option for the engine that runs a model."""
    command.add_argument(
        "--engine",
        choices=ENGINES,
        default="auto",
        help="run the model with LiteRT or with Keras (default: LiteRT for presets, Keras for run folders)",
    )


def print_table(lines: Sequence[Sequence[str]]) -> None:
    """Print rows of texts, with each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)).rstrip())


def print_markdown(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of texts as a Markdown table, the first as its title."""
    title, *others = ("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    print("\n".join([title, "| " + " | ".join(["---"] * len(rows[0])) + " |", *others]))


def check_files(rows: Sequence[Mapping[str, str | bytes]], kinds: Mapping[str, str]) -> None:
    """Check for values that probably lack an `@`: an error if the input is not a text, otherwise a note.

    Args:
        rows: The rows to answer, by input.
        kinds: The kind of each input: `text`, `lines`, `image`, ...
    """
    for name, value in ((name, value) for row in rows for name, value in row.items()):
        takes_text = kinds[name] in ("text", "lines")
        if meant := forgotten_at(value, takes_text):
            if not takes_text:
                raise ValueError(f"{name}: expected the bytes of a file. Received: {value!r}; did you mean {meant}?")
            print(f"{meant[1:]} is the name of an existing file; did you mean {meant}?", file=sys.stderr)
