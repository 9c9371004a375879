"""Modules from outside the package: imported by name, as a file, or because an installed distribution offers them.

What such a module defines (cells, scores, alignments, encoders, fields, targets, systems, recipes, metrics) is found by
its name once the module is imported. Nothing is imported because a model folder says so: a folder only tells what it
was made with.
"""

import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

GROUP = "seqattn_tf.plugins"  # entry points: each names a module
_OURS = ("seqattn_tf", "keras", "tensorflow", "numpy", "builtins")


def load(name: str | os.PathLike[str]) -> ModuleType:
    """The module of a dotted name, or of a Python file; modules of the working folder are found, too.

    Raises:
        ValueError: there is no such module or file, a file has the name of another module, or it cannot be run.

    >>> load("json").__name__
    'json'
    """
    is_file = str(name).endswith(".py")
    try:
        return _load_file(Path(name)) if is_file else _load_module(str(name))
    except (ImportError, SyntaxError) as error:
        raise ValueError(f"plug-in: expected a module that can be imported. Received: {name}, {error}") from error


def _load_module(name: str) -> ModuleType:
    if (folder := os.getcwd()) not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ValueError(f"plug-in: expected a Python file. Received: {path}")
    name, path = path.stem, path.resolve()
    held = sys.modules.get(name)
    if held is not None and getattr(held, "__file__", None) == str(path):
        return held
    if not name.isidentifier() or held is not None or _is_elsewhere(name, path):
        raise ValueError(f"plug-in: expected a file whose name is no other module's. Received: {path.name}")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no loader for {path.name}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _is_elsewhere(name: str, path: Path) -> bool:
    found = importlib.util.find_spec(name)
    return found is not None and found.origin != str(path)


@functools.cache
def load_installed() -> None:
    """Import what installed distributions offer; one that fails is reported and passed over."""
    for entry in importlib.metadata.entry_points(group=GROUP):
        try:
            entry.load()
        except Exception as error:
            warnings.warn(f"plug-in {entry.name} ({entry.value}) cannot be imported: {error}", stacklevel=2)


def needed_by(parts: Iterable[Any]) -> dict[str, str]:
    """The modules from outside that define these objects, functions or classes, each with the name of its file.

    >>> from pathlib import Path
    >>> needed_by([Path, "a text", needed_by])
    {'pathlib': 'pathlib.py'}
    """
    found: dict[str, str] = {}
    for part in parts:
        defined = part if inspect.isroutine(part) or inspect.isclass(part) else type(part)
        module = defined.__module__ or ""
        if module.partition(".")[0] not in _OURS:
            found[module] = Path(getattr(sys.modules.get(module), "__file__", None) or "").name
    return dict(sorted(found.items()))


def advice(needed: Mapping[str, str]) -> str:
    """What to import before a model that was made with these modules can be opened; empty where all are imported."""
    missing = {module: file for module, file in needed.items() if module not in sys.modules}
    if not missing:
        return ""
    options = " ".join(f"--plugin {file if '.' not in module and file else module}" for module, file in missing.items())
    return f"; it was made with {', '.join(missing)}: import that first, or say {options}"
