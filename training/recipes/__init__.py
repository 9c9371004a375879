"""One short file per application, found by its name."""

import importlib
import pkgutil

from seqattn_tf.training.recipes.base import Recipe

__all__ = ["Recipe", "get", "names"]


def names() -> list[str]:
    """The recipes there are."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base")


def get(name: str) -> Recipe:
    """The recipe of that name."""
    if name not in names():
        raise ValueError(f"recipe: expected one of {names()}. Received: {name!r}")
    return importlib.import_module(f"{__name__}.{name}").recipe
