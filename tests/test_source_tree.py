"""The rules of the source tree: allowed imports between packages, lazy imports, and forbidden contents."""

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.budget import EXPENSIVE

import seqattn_tf

ROOT = Path(__file__).resolve().parent.parent
HOMES = {
    "seqattn_tf": "seqattn_tf",
    **{package: f"seqattn_tf.{package}" for package in ("training", "export", "serving")},
}

# Imports go down only: a package may import itself and the layers before its own, but not a sibling.
LAYERS = [
    ["seqattn_tf"],  # the package's own __init__: version and lazy names
    ["plugins"],
    ["core"],
    ["lite", "vision"],
    ["structured", "text"],
    ["attention"],
    ["cells"],
    ["recurrent"],
    ["decoders", "encoders"],
    ["decoding", "explain", "layers"],
    ["inputs", "outputs"],
    ["lectures", "models"],
    ["presets"],
    ["batch", "training", "export"],
    ["serving"],
    ["checks", "convert", "demo", "ship"],
    ["make_preset"],
    ["cli"],
    ["__main__"],
]
LEVEL = {package: level for level, packages in enumerate(LAYERS) for package in packages}
FORBIDDEN = {
    "serving": {"training"},  # a model directory contains everything it needs
    "explain": {"tensorflow", "keras", "tensorflow_text"},  # draws arrays and tokens
    "lite": {"tensorflow", "keras", "tensorflow_text", "matplotlib"},  # runs on devices
    "seqattn_tf": {"tensorflow", "keras", "numpy", "matplotlib"},
}
NOT_INSTALLED = {"benchmarks", "tools", "tests"}


def module_name(path: Path) -> str:
    """Return the module name of a path.

    `training/data/files.py` is `seqattn_tf.training.data.files`; `__init__.py` files keep that suffix.
    """
    home, *inner = path.with_suffix("").parts
    return ".".join([HOMES[home], *inner])


def imported(tree: ast.Module, module: str) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of everything a module imports, including relative and literal dynamic imports.

    `from a import b` yields `a.b`: whether b is a module or a name in one, its package is the same.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = module.split(".")[: -node.level] if node.level else []
            yield from ((node.lineno, ".".join([*parents, *filter(None, [node.module]), a.name])) for a in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "seqattn_tf":
            yield node.lineno, f"seqattn_tf.{node.attr}"  # loads the package, like an import
        elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func) and node.args:
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and not name.value.startswith("."):
                yield node.lineno, name.value


def package_of(name: str) -> str:
    """Return the package of a dotted name of ours, or the top-level name of another package."""
    top, _, rest = name.partition(".")
    first = rest.partition(".")[0]
    if top != "seqattn_tf" or (first.startswith("__") and first != "__main__"):
        return top
    return seqattn_tf._NAMES.get(first, first) or top


def violations(path: Path, source: str) -> list[str]:
    """Return the imports of the file at `path` (relative to the root) that violate the rules."""
    module = module_name(path)
    package = package_of(module)
    if package not in LEVEL:
        return [f"{path}: package {package!r} stands in no layer of tests/test_source_tree.py"]
    found = []
    for line, name in imported(ast.parse(source), module):
        other = package_of(name)
        ours = name.partition(".")[0] == "seqattn_tf"
        if not ours and other in HOMES:
            found.append(f"{path}:{line}: imports {name!r}; installed it is seqattn_tf.{other}")
        elif not ours and other in NOT_INSTALLED:
            found.append(f"{path}:{line}: imports {name!r}, which is not installed")
        elif other in FORBIDDEN.get(package, ()):
            found.append(f"{path}:{line}: {package} must not import {name!r}")
        elif ours and other != package and LEVEL.get(other, len(LAYERS)) >= LEVEL[package]:
            found.append(f"{path}:{line}: {package} imports {name!r}, which is not below it")
    return found


def test_imports_go_down_only():
    paths = [path.relative_to(ROOT) for home in HOMES for path in sorted((ROOT / home).rglob("*.py"))]
    assert paths
    found = [fault for path in paths for fault in violations(path, (ROOT / path).read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def first_cycle(sources: dict[Path, str]) -> list[str]:
    """Return a cycle of modules that import each other, with the first one repeated at the end, or an empty list."""
    modules = {module_name(path).removesuffix(".__init__"): path for path in sources}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        graph[module] = set()
        for _, name in imported(ast.parse(sources[path]), module_name(path)):
            while name and name not in modules:  # a name in a module, or an external module
                name = name.rpartition(".")[0]
            graph[module] |= {name} - {"", module}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_no_modules_import_each_other():
    paths = [path.relative_to(ROOT) for home in HOMES for path in sorted((ROOT / home).rglob("*.py"))]
    assert not first_cycle({path: (ROOT / path).read_text(encoding="utf-8") for path in paths})


def test_a_planted_cycle_is_found():
    base, text, shown = (Path(f"seqattn_tf/inputs/{name}.py") for name in ("base", "text", "shown"))
    sources = {base: "def f():\n    from .text import Text", text: "from seqattn_tf.inputs import base", shown: ""}
    assert {name.rpartition(".")[2] for name in first_cycle(sources)} == {"base", "text"}
    assert first_cycle({**sources, base: "from . import shown"}) == []


def test_what_a_device_imports_needs_nothing_else():
    found = []
    for path in sorted((ROOT / "seqattn_tf/lite").rglob("*.py")):
        source, module = path.read_text(encoding="utf-8"), module_name(path.relative_to(ROOT))
        for line, name in imported(ast.parse(source), module):
            below = tuple(f"seqattn_tf.{part}." for part in ("lite", "core.registry", "core.atomic_io"))
            if name.startswith("seqattn_tf") and not f"{name}.".startswith(below):
                found.append(f"{path.name}:{line}: {name}")
    assert not found


def test_rooms_of_the_server_import_down_only():
    floors = (
        ("errors",),
        ("protos", "config", "text_protos"),
        ("models",),
        ("api",),
        ("front", "client"),
        ("warmup", "launcher"),
    )
    floor = {package: level for level, packages in enumerate(floors) for package in packages} | {"server": len(floors)}
    paths = [path.relative_to(ROOT) for path in sorted((ROOT / "serving").rglob("*.py"))]
    found = []
    for path in paths:
        package = path.with_suffix("").parts[1]
        for line, name in imported(ast.parse((ROOT / path).read_text(encoding="utf-8")), module_name(path)):
            other = name.split(".")[2:3] if name.startswith("seqattn_tf.serving.") else []
            if other and other[0] in floor and other[0] != package and floor[other[0]] >= floor.get(package, -1):
                found.append(f"{path}:{line}: {package} imports {name!r}, which is not below it")
    assert paths
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("seqattn_tf/cells/gru.py", "from ..recurrent import Recurrent"),
        ("seqattn_tf/cells/gru.py", "from .. import recurrent"),
        ("seqattn_tf/cells/__init__.py", "from ..recurrent import Recurrent"),
        ("seqattn_tf/cells/gru.py", "def f():\n    import seqattn_tf.models"),
        ("seqattn_tf/vision/cnn.py", "from ..lite import answer"),
        ("seqattn_tf/core/scan.py", "from .. import cells"),
        ("seqattn_tf/decoding/beam.py", "from seqattn_tf.inputs import GraphText"),
        ("seqattn_tf/decoder.py", "from seqattn_tf import Seq2Seq"),
        ("seqattn_tf/decoder.py", "import seqattn_tf\nseqattn_tf.models.load"),
        ("seqattn_tf/decoder.py", "import importlib\nimportlib.import_module('seqattn_tf.models')"),
        ("seqattn_tf/explain/alignment.py", "import tensorflow as tf"),
        ("seqattn_tf/explain/alignment.py", "from keras import ops"),
        ("seqattn_tf/explain/alignment.py", "from ..models import load"),
        ("seqattn_tf/__init__.py", "from .cells import GRUCell"),
        ("seqattn_tf/__init__.py", "import numpy as np"),
        ("training/run.py", "from ..export import save"),
        ("training/data/files.py", "from ...serving.client import Client"),
        ("export/lite.py", "from seqattn_tf.training import run"),
        ("serving/server.py", "from ..training import run"),
        ("serving/server.py", "from ..cli import main"),
        ("serving/server.py", "import training"),
        ("training/run.py", "from tools.gpu import run"),
        ("seqattn_tf/models/base.py", "from .. import surprise"),
        ("seqattn_tf/surprise.py", ""),
    ],
)
def test_planted_violations_are_caught(path, source):
    assert len(violations(Path(path), source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("seqattn_tf/cells/gru.py", "from . import base\nfrom .base import Cell\nfrom ..core.scan import scan"),
        ("seqattn_tf/cells/__init__.py", "from .gru import GRUCell\nfrom . import gru\nfrom ..core import masking"),
        ("seqattn_tf/models/base.py", "import keras\nfrom .. import __version__\nfrom ..decoding import beam"),
        ("seqattn_tf/explain/page.py", "import numpy as np\nfrom matplotlib.figure import Figure"),
        ("training/data/files.py", "from . import builder\nfrom .. import run\nfrom ...models import load"),
        ("serving/server.py", "from seqattn_tf import load\nfrom ..export.manifest import read"),
        ("seqattn_tf/cli.py", "from . import training, export, serving, __version__"),
        ("seqattn_tf/__main__.py", "from .cli import main"),
    ],
)
def test_proper_imports_are_allowed(path, source):
    assert violations(Path(path), source) == []


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_bare_import_loads_nothing_heavy():
    code = "import sys, seqattn_tf; dir(seqattn_tf); print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = set(run_python(code).split())
    assert "seqattn_tf" in loaded
    assert not loaded & {"tensorflow", "keras", "numpy", "matplotlib"}


def test_rooms_load_on_use_and_explain_without_tensorflow():
    code = "import sys, seqattn_tf; print(seqattn_tf.explain.draw_alignment.__name__, 'tensorflow' in sys.modules)"
    assert run_python(code).split() == ["draw_alignment", "False"]


def test_lazy_names():
    assert {*seqattn_tf._ROOMS, *seqattn_tf._NAMES, "__version__"} <= set(dir(seqattn_tf))
    assert set(seqattn_tf._NAMES.values()) <= set(seqattn_tf._ROOMS)
    with pytest.raises(AttributeError, match="no attribute 'surprise'"):
        _ = seqattn_tf.surprise


def tracked_files() -> list[Path]:
    """Return the files of the repository, including untracked ones that are not ignored."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs a git checkout: {error}")
    paths = [ROOT / name for name in listed.split("\0") if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


HOME_PATH = re.compile(r"(?<![\w.:/-])/(?:work|root|home)/")


def test_no_file_holds_a_path_of_somebodys_machine():
    found = []
    for path in tracked_files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # weights and pictures
        found += [
            f"{path.relative_to(ROOT)}:{n}: {s.strip()[:100]}" for n, s in enumerate(lines, 1) if HOME_PATH.search(s)
        ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("folder", ["work", "root", "home"])
def test_machine_paths_are_recognised(folder):
    assert HOME_PATH.search(f'open("/{folder}/me/data")')
    assert not HOME_PATH.search(f"https://example.org/{folder}/page and some/{folder}/x")


def public_names(package: Path) -> set[str] | None:
    """Return the names in `__all__` of a package's `__init__`, or None if it has none."""
    for node in ast.parse((package / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return None


def test_documents_import_what_packages_export():
    """Documents must not import from internal modules, because that would make their locations public."""
    homes = {module: ROOT / home for home, module in HOMES.items()}
    found, count = [], 0
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for module, names in re.findall(r"^from (seqattn_tf[\w.]*) import ([\w, ]+)", path.read_text("utf-8"), re.M):
            home = max((name for name in homes if f"{module}.".startswith(f"{name}.")), key=len)
            place = homes[home].joinpath(*module.removeprefix(home).strip(".").split("."))
            for name in re.split(r", *", names.strip()):
                count += 1
                exported = place.is_dir() and ((place / f"{name}.py").is_file() or name in (public_names(place) or {}))
                if not exported and module != "seqattn_tf":
                    found.append(f"{path.name}: from {module} import {name}")
    assert count > 50
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", EXPENSIVE)
def test_the_budget_names_tests_that_exist(name):
    """An exception for a test that was renamed would expire unnoticed until the test takes longer."""
    path, _, test = name.partition("::")
    source = (ROOT / path).read_text(encoding="utf-8")
    assert f"def {test.split('::')[-1]}" in source if test else source
