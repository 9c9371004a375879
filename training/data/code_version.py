"""A digest of the code that writes files to a cache, so that files written by other versions are not read."""

import functools
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

from seqattn_tf import __version__
from seqattn_tf.training.checkpoints import digest

_FORMAT = 1  # increase this if the same code writes something else, as after an update of a library that it uses
SPLITTING = ("seqattn_tf.text", "seqattn_tf.lite", "seqattn_tf.inputs", "seqattn_tf.outputs", "seqattn_tf.core.columns")
READING = tuple(f"seqattn_tf.training.data.{name}" for name in ("reading", "files", "tfds", "examples", "windows"))


@functools.cache
def code_version(*modules: str) -> str:
    """Return a digest of the source files of modules, and of all modules of packages.

    >>> code_version("seqattn_tf.text") == code_version("seqattn_tf.text") != code_version("seqattn_tf.lite.fields")
    True
    """
    found = [f"{_FORMAT} {__version__}".encode()]
    for module in sorted(set(modules)):
        for path in _sources(module):
            found += [path.name.encode(), path.read_bytes()]
    return digest(b"\0".join(found))


def _sources(module: str) -> Iterator[Path]:
    """Yield the source files of a module; none if it was entered interactively or is installed without its source."""
    if module == "__main__" or (module in sys.modules and sys.modules[module].__spec__ is None):
        origin, inside = getattr(sys.modules[module], "__file__", None), None
    else:
        spec = importlib.util.find_spec(module)
        origin, inside = (spec.origin, spec.submodule_search_locations) if spec else (None, None)
    if inside:
        yield from (path for folder in inside for path in sorted(Path(folder).rglob("*.py")))
    elif origin and Path(origin).suffix == ".py" and Path(origin).is_file():
        yield Path(origin)
