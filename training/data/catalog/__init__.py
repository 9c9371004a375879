"""The public data sets that the recipes read: where they come from, their checksums, and how to convert the originals.

One small file per set in `sets/`, found by its name. Nothing here imports TensorFlow or downloads anything.
"""

import importlib
import pkgutil

from seqattn_tf.core.registry import suggest
from seqattn_tf.training.data.catalog import sets
from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source

__all__ = ["Dataset", "Expected", "Source", "get", "names"]


def names() -> list[str]:
    """Return the names of all data sets.

    >>> names()[:3]
    ['babi', 'brown', 'cmudict']
    """
    return sorted(module.name for module in pkgutil.iter_modules(sets.__path__))


def get(name: str) -> Dataset:
    """Return the data set of this name.

    >>> get("ud_ewt").source.version
    'release 2.16 (May 2025)'
    """
    if name not in names():
        raise ValueError(f"name: expected one of {names()}. Received: {name!r}{suggest(name, names())}")
    return importlib.import_module(f"{sets.__name__}.{name}").dataset
