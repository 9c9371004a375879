"""All `seqattn` commands in README and docs/ must be valid, including their settings."""

import pytest
from support import pages

from seqattn_tf import cli
from seqattn_tf.training import recipes
from seqattn_tf.training.recipes import Recipe


@pytest.mark.parametrize("page", [page for page in pages.PAGES if pages.commands_of(page)])
def test_every_command_of_the_page_exists(page):
    parser = cli._parser()
    for command in pages.commands_of(page):
        options = parser.parse_args(command)
        if getattr(options, "recipe", None) in Recipe.made and getattr(options, "set", None):
            recipes.get(options.recipe).settings.with_assignments(options.set)


def test_every_kind_of_command_is_shown():
    shown = {command[0] for page in pages.PAGES for command in pages.commands_of(page)}
    assert {
        "query",
        "explain",
        "serve",
        "train",
        "evaluate",
        "export",
        "map",
        "ensemble",
        "distill",
        "quantize",
    } <= shown
