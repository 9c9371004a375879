"""One short file per application, found by its name; one from outside by its file, or once it is imported."""

import importlib
import pkgutil
from pathlib import Path

from seqattn_tf import plugins
from seqattn_tf.core.registry import suggest
from seqattn_tf.training.recipes.base import Recipe, load_pairs

__all__ = ["PACKAGED", "Recipe", "from_file", "get", "load_pairs", "names"]

PACKAGED = tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base"))


def names() -> list[str]:
    """The recipes there are: of the package, of installed plug-ins, and of what was imported."""
    plugins.load_installed()
    return sorted({*PACKAGED, *Recipe.made})


def get(name: str) -> Recipe:
    """The recipe of that name."""
    if name in PACKAGED:
        return importlib.import_module(f"{__name__}.{name}").recipe
    if name not in Recipe.made and name not in names():
        near = suggest(name, names())
        raise ValueError(f"recipe: expected one of {names()}, or a Python file to train. Received: {name!r}{near}")
    return Recipe.get(name)


def from_file(path: str | Path) -> Recipe:
    """What a Python file calls `recipe`; the file is run."""
    recipe = getattr(plugins.load(path), "recipe", None)
    if not isinstance(recipe, Recipe):
        raise ValueError(f"{path}: expected a Recipe named `recipe`. Received: {recipe!r:.80}")
    if recipe.name in PACKAGED:
        raise ValueError(f"{path}: expected a name that no recipe of the package has. Received: {recipe.name!r}")
    return recipe
