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
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

_GROUP = "seqattn_tf.plugins"  # entry points: each names a module
_OURS = ("seqattn_tf", "keras", "tensorflow", "numpy", "builtins")
_files: dict[str, str] = {}  # of the modules that were loaded as files, by name, as they were given


def load(name: str | os.PathLike[str]) -> ModuleType:
    """The module of a dotted name, or of a Python file; what lies in the working folder, or beside the file, is found.

    Raises:
        ValueError: there is no such module or file, a file has the name of another module, or it fails.

    >>> load("json").__name__
    'json'
    """
    try:
        return _load_file(Path(name)) if str(name).endswith(".py") else _load_module(str(name))
    except _Refused as error:
        raise ValueError(f"plug-in: {error}") from None
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        where = f", {Path(frames[-1].filename).name} line {frames[-1].lineno}" if not _is_import(error) else ""
        why = f"{type(error).__name__}: {error}{where}"
        raise ValueError(f"plug-in: expected a module that can be imported. Received: {name}, {why}") from error


class _Refused(Exception):
    """What is no plug-in at all."""


def _is_import(error: BaseException) -> bool:
    return isinstance(error, ImportError | SyntaxError)


def _load_module(name: str) -> ModuleType:
    _see(os.getcwd())
    return importlib.import_module(name)


def _see(folder: str) -> None:
    if folder not in sys.path:
        sys.path.append(folder)


def _load_file(given: Path) -> ModuleType:
    if not given.is_file():
        raise _Refused(f"expected a Python file. Received: {given}")
    name, path = given.stem, given.resolve()
    if not name.isidentifier():
        raise _Refused(f"expected a file named with letters, digits and _. Received: {given.name}")
    held = sys.modules.get(name)
    if held is not None and _path_of(held) == path:
        return held
    _see(str(path.parent))
    spec = importlib.util.find_spec(name) if held is None else None
    if spec is None or Path(spec.origin or "").resolve() != path:
        raise _Refused(f"expected a file whose name is no other module's. Received: {given.name}")
    _files[name] = str(given)
    return importlib.import_module(name)


def _path_of(module: ModuleType) -> Path:
    return Path(getattr(module, "__file__", None) or "").resolve()


@functools.cache
def load_installed() -> None:
    """Import what installed distributions offer; one that fails is reported and passed over."""
    for entry in importlib.metadata.entry_points(group=_GROUP):
        try:
            entry.load()
        except Exception as error:
            warnings.warn(f"plug-in {entry.name} ({entry.value}) cannot be imported: {error}", stacklevel=2)


def needed_by(parts: Iterable[Any]) -> dict[str, str]:
    """The modules from outside that define these objects, functions or classes.

    Each comes with the name of its file, where it was loaded as a file or is the running program.

    >>> from pathlib import Path
    >>> needed_by([Path, "a text", needed_by])
    {'pathlib': ''}
    """
    found: dict[str, str] = {}
    for part in parts:
        module = (part if inspect.isroutine(part) or inspect.isclass(part) else type(part)).__module__ or ""
        if module.partition(".")[0] not in _OURS:
            found[module] = _file_name(module)
    return dict(sorted(found.items()))


def holding(thing: Any) -> dict[str, str]:
    """The modules from outside in which something stands under a name of its own, as `needed_by` gives them."""
    modules = [(name, module) for name, module in list(sys.modules.items()) if name.partition(".")[0] not in _OURS]
    found = [name for name, module in modules if any(value is thing for value in list(vars(module).values()))]
    return {name: _file_name(name) for name in sorted(found)}


def _file_name(module: str) -> str:
    if module == "__main__":
        return _path_of(sys.modules[module]).name
    return Path(_files.get(module, "")).name


def options(needed: Mapping[str, str]) -> str:
    """What to say on the command line to have these modules; files as they were given, where that is known.

    >>> options({"my_package.parts": "", "my_file": "my file.py"})
    "--plugin my_package.parts --plugin 'my file.py'"
    """
    named = [_files.get(module) or file or module for module, file in needed.items()]
    return " ".join(f"--plugin {shlex.quote(str(name))}" for name in named)


def advice(needed: Mapping[str, str]) -> str:
    """What to import before a model that was made with these modules can be opened; empty where all are imported."""
    if "__main__" in needed:
        return f"; it was made in {needed['__main__'] or 'a program'}: move its classes into a module, and train again"
    missing = {module: file for module, file in needed.items() if module not in sys.modules}
    return f"; it was made with {', '.join(missing)}: import that first, or say {options(missing)}" if missing else ""
