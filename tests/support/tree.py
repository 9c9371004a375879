"""A copy of the source tree for builds."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"seqattn_tf": "seqattn_tf", **{name: f"seqattn_tf/{name}" for name in ("training", "export", "serving")}}


def copy_of_tree(to: Path) -> Path:
    """Copy the source tree, because `build/` of an earlier build beside the sources would leak into the wheel."""
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", *PACKAGES, "tests", "benchmarks"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (ROOT / name).exists():
            to.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, to / name)
    return to
