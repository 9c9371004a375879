"""The command line: the one place, with `demo`, that knows all four packages.

What a command needs is imported when it runs, so that `seqattn --help` answers at once.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from seqattn_tf import __version__, plugins
from seqattn_tf.cli import asking, learning, measuring, serving
from seqattn_tf.cli.base import Commands, Parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; bad input ends with a message and status 2, a server's refusal with status 1."""
    from seqattn_tf.serving.config import expand_flags
    from seqattn_tf.serving.errors import ServingError, readable

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
            say(readable(str(error)))
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
    parser = Parser(prog="seqattn", description="Recurrent models with attention you can look at.")
    parser.add_argument("--version", action="version", version=f"seqattn {__version__}")
    commands = Commands(parser)
    for group in (learning, measuring, serving, asking):
        group.add(commands)
    return parser


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
