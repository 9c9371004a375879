"""The recipes: one short file per application, found by name; others are found by file, or by name once imported.

Importing a recipe imports TensorFlow, which takes seconds; their names and summaries are known without that.
"""

import ast
import importlib
import pkgutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqattn_tf import plugins
from seqattn_tf.core.registry import suggest

if TYPE_CHECKING:
    from seqattn_tf.training.recipes.base import Recipe, load_pairs

__all__ = ["PACKAGED", "Recipe", "check_name", "from_file", "get", "load_pairs", "names", "summaries"]

PACKAGED = tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base"))


def names() -> list[str]:
    """Return the names of all recipes: those of the package, of installed plug-ins, and of imported modules."""
    return sorted({*PACKAGED, *_imported()})


def summaries() -> dict[str, str]:
    """Return the summary of each recipe, by name."""
    others = _imported()
    return {name: _packaged_summary(name) if name in PACKAGED else others[name].summary for name in names()}


def check_name(name: str) -> None:
    """Check that there is a recipe with this name."""
    if name not in names():
        near = suggest(name, names())
        raise ValueError(f"recipe: expected one of {names()}, or a Python file to train. Received: {name!r}{near}")


def get(name: str) -> "Recipe":
    """Return the recipe with this name."""
    if name in PACKAGED:
        return importlib.import_module(f"{__name__}.{name}").recipe
    check_name(name)
    return _imported()[name]


def from_file(path: str | Path) -> "Recipe":
    """Run a Python file and return the recipe named `recipe` in it."""
    from seqattn_tf.training.recipes.base import Recipe

    recipe = getattr(plugins.load(path), "recipe", None)
    if not isinstance(recipe, Recipe):
        raise ValueError(f"{path}: expected a Recipe named `recipe`. Received: {recipe!r:.80}")
    if recipe.name in PACKAGED:
        raise ValueError(
            f"{path}: expected a name that differs from the recipes of the package. Received: {recipe.name!r}"
        )
    return recipe


def _imported() -> Mapping[str, Any]:
    """Return the recipes that have been imported, among them those of installed plug-ins."""
    plugins.load_installed()
    base = sys.modules.get(f"{__name__}.base")
    return base.Recipe.made if base else {}


def _packaged_summary(name: str) -> str:
    """Return the summary of a recipe of the package from its source."""
    source = Path(__path__[0], f"{name}.py").read_text(encoding="utf-8")
    arguments = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.keyword))
    return next(ast.literal_eval(argument.value) for argument in arguments if argument.arg == "summary")


def __getattr__(name: str) -> Any:
    if name in ("Recipe", "load_pairs"):
        return getattr(importlib.import_module(f"{__name__}.base"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
