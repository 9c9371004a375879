"""The commands that prepare a training for a machine without TensorFlow, and finish it."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from seqattn_tf import plugins
from seqattn_tf.cli.base import Commands, Parser, load_tensorflow
from seqattn_tf.cli.learning import add_choices, chosen_settings, recipe_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; invalid input prints a message and returns status 2."""
    options = parser().parse_args(arguments)
    load_tensorflow()
    try:
        for name in getattr(options, "plugin", []):
            plugins.load(name)
        options.run(options)
    except (ValueError, OSError) as error:
        print(f"{options.command}: {error}", file=sys.stderr)
        return 2
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = Parser(prog="python -m tools.gpu", description="Train on a GPU machine that has JAX but no TensorFlow.")
    commands = Commands(parser)
    prepare = commands.add(
        "prepare", _prepare, "write a training for tools/gpu/run.py, which runs on the other machine"
    )
    prepare.add_argument("recipe", metavar="RECIPE", help="a recipe from `seqattn recipes`, or a Python file")
    prepare.add_argument("lane", type=Path, metavar="LANE", help="the folder to create")
    add_choices(prepare)
    prepare.add_argument("--buckets", type=int, default=6, metavar="N", help="maximum number of shapes (default: 6)")
    prepare.add_argument("--max-mib", type=int, default=64, metavar="N", help="maximum MiB of LANE (default: 64)")
    finish = commands.add("finish", _finish, "write the best epoch of a training as a run", foreign=False)
    finish.add_argument("lane", type=Path, metavar="LANE", help="the folder that `prepare` wrote")
    finish.add_argument("out", type=Path, metavar="OUT", help="the folder that tools/gpu/run.py wrote")
    finish.add_argument("folder", type=Path, metavar="RUN", help="the folder of the run to create")
    return parser


def _prepare(options: argparse.Namespace) -> None:
    from seqattn_tf.training.data.finding import place
    from tools.gpu.lane import MIB, Chosen
    from tools.gpu.prepare import prepare

    recipe, defaults = recipe_of(options)
    settings = chosen_settings(options, defaults)
    own = [place(options.recipe)] if options.recipe.endswith(".py") else []
    chosen = Chosen(recipe, settings, options.data, options.init_from, [*options.plugin, *own])
    prepare(chosen, options.lane, options.buckets, options.max_mib)
    size = sum(path.stat().st_size for path in options.lane.iterdir()) / MIB
    print(f"{options.lane}: {size:.1f} MiB; on the other machine: python run.py {shlex.quote(options.lane.name)} OUT")


def _finish(options: argparse.Namespace) -> None:
    from tools.gpu.finish import finish

    finish(options.lane, options.out, options.folder)
    print(f"saved in {options.folder}; evaluate it: seqattn evaluate {shlex.quote(str(options.folder))}")


if __name__ == "__main__":
    sys.exit(main())
