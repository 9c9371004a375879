"""The wheel: all four source folders under one import name, safe from a user's own `training/` folder."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from support.tree import PACKAGES, copy_of_tree


def run(*command: object, **options) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def check_contents(wheel: Path, tree: Path) -> None:
    """Every file of the four packages is in, presets and web pages included; nothing else but the metadata is."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if not name.endswith("/")}
        (entry_points,) = [name for name in inside if name.endswith(".dist-info/entry_points.txt")]
        assert "seqattn = seqattn_tf.cli:main" in archive.read(entry_points).decode()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in inside)

    expected = set()
    for folder, package in PACKAGES.items():
        paths = [path.relative_to(tree / folder) for path in (tree / folder).rglob("*") if path.is_file()]
        expected |= {f"{package}/{path.as_posix()}" for path in paths}
    assert {f"{package}/__init__.py" for package in PACKAGES.values()} <= expected
    found = {name for name in inside if ".dist-info/" not in name}
    assert sorted(expected - found) == [], "in the tree, not in the wheel: see packages and package_data in setup.py"
    assert sorted(found - expected) == [], "in the wheel, not in the tree"


def check_imports(target: Path, elsewhere: Path) -> None:
    """The installed packages import, from a folder whose own `training`, `export` and `serving` are traps."""
    for name in ("training", "export", "serving"):
        (elsewhere / name).mkdir(parents=True)
        (elsewhere / name / "__init__.py").write_text("raise RuntimeError('the wrong package')")
    code = """if True:
        import seqattn_tf, seqattn_tf.training, seqattn_tf.export, seqattn_tf.serving
        for module in seqattn_tf, seqattn_tf.training, seqattn_tf.export, seqattn_tf.serving:
            print(module.__file__)
    """
    # An editable install of ours puts a finder into every interpreter through a .pth file, and would lend what the
    # wheel lacks. -S reads no .pth files; the packages we depend on are given as a plain path instead.
    path = os.pathsep.join([str(target), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    environment = {**os.environ, "PYTHONPATH": path}
    files = run(sys.executable, "-S", "-c", code, cwd=elsewhere, env=environment)
    assert [Path(line).parent for line in files.splitlines()] == [target / package for package in PACKAGES.values()]


def test_wheel_holds_the_house_and_nothing_else(tmp_path):
    tree = copy_of_tree(tmp_path / "tree")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path / "dist", tree)
    (wheel,) = (tmp_path / "dist").iterdir()
    check_contents(wheel, tree)

    target = tmp_path / "installed"
    run(*pip, "install", "--no-deps", "--target", target, wheel)
    check_imports(target, tmp_path / "elsewhere")
