"""The command line, which is the only module besides `demo` that uses all four packages.

Each command imports what it needs when it runs, and TensorFlow only if it needs it, so that the others are fast.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from seqattn_tf import __version__, plugins
from seqattn_tf.cli import asking, datasets, experimenting, learning, measuring, serving
from seqattn_tf.cli.base import Commands, Parser, load_tensorflow

_PROVIDED_BY = {  # what to install if a package is missing, which `seqattn-lite` does not need
    "tensorflow": "seqattn-tf",
    "keras": "seqattn-tf",
    "grpc": "'seqattn-lite[serve]'",
    "grpc_health": "'seqattn-lite[serve]'",
    "google": "'seqattn-lite[serve]'",
    "matplotlib": "'seqattn-lite[explain]'",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; invalid input prints a message and returns status 2, an error from a server status 1."""
    from seqattn_tf.serving.config import expand_flags
    from seqattn_tf.serving.errors import ServingError, readable

    options = _parser().parse_args(expand_flags(sys.argv[1:] if arguments is None else arguments))

    def say(message: object) -> None:
        print(f"seqattn {options.command}: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        _show_plainly(say)
        try:
            for name in getattr(options, "plugin", []):
                load_tensorflow()  # which plug-ins import
                plugins.load(name)
            status = options.run(options) or 0
            sys.stdout.flush()  # here, where the end of a pipe is handled
            return status
        except BrokenPipeError:  # the reader of the output, such as `head`, wants no more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except (ValueError, FloatingPointError, OSError) as error:
            say(error)
            return 2
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package not in _PROVIDED_BY:
                raise
            advice = f"run pip install {_PROVIDED_BY[package]}"
            say(f"expected the package {package}. Received: it is not installed; {advice}")
            return 2
        except ServingError as error:
            say(readable(str(error)))
            return 1
        except KeyboardInterrupt as stop:
            say(": ".join(["stopped", *map(str, stop.args)]))
            return 130


def _show_plainly(say: Callable[[object], None]) -> None:
    """Print warnings for users without the Python file and line that raised them."""
    usual = warnings.showwarning

    def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, UserWarning):
            say(message)
        else:
            usual(message, category, *where, **more)

    warnings.showwarning = show


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="seqattn", description="Recurrent models with attention that you can inspect.")
    parser.add_argument("--version", action="version", version=f"seqattn {__version__}")
    commands = Commands(parser)
    for group in (learning, experimenting, datasets, measuring, serving, asking):
        group.add(commands)
    return parser
