"""docs/gpu.md: its commands are valid, and it names every recipe."""

import re
import shlex

import pytest
from support.pages import text_of

from seqattn_tf.training import recipes

pytest.importorskip("jax", reason="needs jax: pip install -e '.[dev]'")

from tools.gpu import __main__ as command  # what needs jax is imported last
from tools.gpu import run


def commands(start):
    """Return the arguments of the commands that begin with these words."""
    blocks = "".join(re.findall(r"```sh\n(.*?)```", text_of("gpu.md"), re.S)).replace("\\\n", " ")
    lines = [line for line in blocks.splitlines() if line.startswith(f"{start} ")]
    return [shlex.split(line.removeprefix(start), comments=True) for line in lines]


def test_the_commands_of_the_page_exist():
    parser = command.parser()
    shown = [parser.parse_args(given) for given in commands("python -m tools.gpu")]
    assert [options.command for options in shown] == ["prepare", "finish", "prepare", "prepare"]
    for options in shown:
        if options.command == "prepare":
            recipes.get(options.recipe).settings.with_assignments(options.set)
    [options] = [run.parser().parse_args(given) for given in commands("python tools/gpu/run.py")]
    assert options.lane.name == shown[0].lane.name
    options = run.parser().parse_args(["lane", "out"])
    assert (options.keep, options.part_mib, options.total_mib) == (3, 16, 64)  # as the page says


def test_the_page_names_every_recipe():
    named = set(re.findall(r"`(\w+)`", text_of("gpu.md")))
    assert not set(recipes.PACKAGED) - named
