"""Plug-ins: modules outside the package, imported by name, as a file, or as entry points of installed distributions.

Everything that such a module defines (cells, scores, alignments, encoders, fields, targets, systems, recipes, metrics)
is found by name once the module is imported. A model folder never causes an import: it only lists the modules with
which it was created.
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

_GROUP = "seqattn_tf.plugins"  # the group of entry points, each of which names a module
_OURS = ("seqattn_tf", "keras", "tensorflow", "numpy", "builtins")
_files: dict[str, str] = {}  # the given paths of modules that were loaded as files, by module name


def load(name: str | os.PathLike[str]) -> ModuleType:
    """Import a module, given its dotted name or a Python file.

    Modules in the working folder, or in the folder of the file, can be imported, too.

    Raises:
        ValueError: If there is no such module or file, if a file has the name of another module, or if the import
            fails.

    >>> load("json").__name__
    'json'
    """
    try:
        return _load_file(Path(name)) if str(name).endswith(".py") else _load_module(str(name))
    except _Refused as error:
        raise ValueError(f"plug-in: {error}") from None
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if not _is_import(error) else ""
        why = f"{type(error).__name__}: {error}{where}"
        raise ValueError(f"plug-in: expected a module that can be imported. Received: {name}, {why}") from error


class _Refused(Exception):
    """The error for a value that is not a plug-in."""


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
        raise _Refused(f"expected a file name that is not the name of another module. Received: {given.name}")
    _files[name] = str(given)
    return importlib.import_module(name)


def _path_of(module: ModuleType) -> Path:
    return Path(getattr(module, "__file__", None) or "").resolve()


@functools.cache
def load_installed() -> None:
    """Import the plug-ins of installed distributions; report those that fail and skip them."""
    for entry in importlib.metadata.entry_points(group=_GROUP):
        try:
            entry.load()
        except Exception as error:
            warnings.warn(f"plug-in {entry.name} ({entry.value}) cannot be imported: {error}", stacklevel=2)


def needed_by(parts: Iterable[Any]) -> dict[str, str]:
    """Return the modules outside the package that define these objects, functions or classes.

    Each is mapped to the name of its file if it was loaded as a file or is the running program.

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
    """Return the modules outside the package that contain the object under some name, in the form of `needed_by`."""
    # A copy is one step; a list of the items creates tuples, which may start a garbage collection that imports modules.
    modules = [(name, module) for name, module in sys.modules.copy().items() if name.partition(".")[0] not in _OURS]
    found = [name for name, module in modules if any(value is thing for value in list(vars(module).values()))]
    return {name: _file_name(name) for name in sorted(found)}


def _file_name(module: str) -> str:
    if module == "__main__":
        return _path_of(sys.modules[module]).name
    return Path(_files.get(module, "")).name


def options(needed: Mapping[str, str]) -> str:
    """Return the command-line options that import these modules; files are given by their original path if it is known.

    >>> options({"my_package.parts": "", "my_file": "my file.py"})
    "--plugin my_package.parts --plugin 'my file.py'"
    """
    named = [_files.get(module) or file or module for module, file in needed.items()]
    return " ".join(f"--plugin {shlex.quote(str(name))}" for name in named)


def advice(needed: Mapping[str, str]) -> str:
    """Return advice on the imports required to open a model created with these modules; empty if all are imported."""
    if "__main__" in needed:
        return (
            f"; it was created in {needed['__main__'] or 'a program'}: move its classes into a module and train again"
        )
    missing = {module: file for module, file in needed.items() if module not in sys.modules}
    return f"; it needs {', '.join(missing)}: import that first, or use {options(missing)}" if missing else ""
