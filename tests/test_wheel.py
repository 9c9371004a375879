"""The wheel: all four source folders under one import name, independent of a user's own `training/` folder."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from support.tree import PACKAGES, copy_of_tree


def run(*command: object, **options) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def check_contents(wheel: Path, tree: Path) -> None:
    """Check that the wheel contains every file of the four packages, with presets and web pages, plus only metadata."""
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
    """Check that the installed packages can be imported from a folder with other `training`, `export` and `serving`."""
    for name in ("training", "export", "serving"):
        (elsewhere / name).mkdir(parents=True)
        (elsewhere / name / "__init__.py").write_text("raise RuntimeError('the wrong package')")
    code = """if True:
        import seqattn_tf, seqattn_tf.training, seqattn_tf.export, seqattn_tf.serving
        for module in seqattn_tf, seqattn_tf.training, seqattn_tf.export, seqattn_tf.serving:
            print(module.__file__)
    """
    # An editable install of ours adds a finder to every interpreter through a .pth file, which could hide files missing
    # in the wheel. -S disables .pth files; the dependencies are passed as a plain path instead.
    path = os.pathsep.join([str(target), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    environment = {**os.environ, "PYTHONPATH": path}
    files = run(sys.executable, "-S", "-c", code, cwd=elsewhere, env=environment)
    assert [Path(line).parent for line in files.splitlines()] == [target / package for package in PACKAGES.values()]


def required(distribution: metadata.Distribution, extra: str = "") -> set[str]:
    """Return the names of everything that a distribution requires here, directly or not, with one of its extras."""
    found: set[str] = set()
    for line in distribution.requires or []:
        requirement = Requirement(line)
        if not requirement.marker or requirement.marker.evaluate({"extra": extra}):
            found |= {requirement.name, *required(metadata.distribution(requirement.name))}
    return found


def bare_python(folder: Path, wheel: Path) -> Path:
    """Return the interpreter of a new environment with only the wheel and the requirements of `seqattn-lite`."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    (packages,) = (folder / "lib").glob("python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    add_requirements(packages, "")
    return python


def add_requirements(packages: Path, extra: str) -> None:
    """Add what `seqattn-lite` requires with an extra, as links to the packages of this environment."""
    (info,) = packages.glob("seqattn_lite-*.dist-info")
    for name in required(metadata.PathDistribution(info), extra):
        distribution = metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files or []} - {".."}:
            if not (packages / top).exists():
                (packages / top).symlink_to(distribution.locate_file(top))


def test_light_wheel_answers_without_tensorflow(tmp_path):
    """A module or a file that answers need, missing in `seqattn-lite`, or a requirement that it lacks."""
    tree = copy_of_tree(tmp_path / "tree")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    environment = {**os.environ, "SEQATTN_DISTRIBUTION": "seqattn-lite"}
    run(*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path / "dist", tree, env=environment)
    (wheel,) = (tmp_path / "dist").iterdir()
    assert wheel.name.startswith("seqattn_lite-")
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("weights.npz")]
    seqattn = [bare_python(tmp_path / "bare", wheel), "-m", "seqattn_tf.cli"]
    where = {"cwd": tmp_path, "env": {"PATH": os.environ["PATH"]}}
    (tmp_path / "words.txt").write_text("hello\n", encoding="utf-8")
    assert run(*seqattn, "query", "pronounce", "hello", **where).split("\t")[1] == "HH AH L OW"
    run(*seqattn, "map", "pronounce", "words.txt", "spoken.txt", "--processes", "0", **where)
    assert (tmp_path / "spoken.txt").read_text(encoding="utf-8") == "HH AH L OW\n"
    lacking = {
        "evaluate pronounce": "tensorflow",
        "explain pronounce hello": "matplotlib",
        "serve pronounce": "grpc_health",
    }
    for command, package in lacking.items():
        failed = subprocess.run([*seqattn, *command.split()], capture_output=True, text=True, **where)
        assert failed.returncode == 2, failed.stderr
        assert f"expected the package {package}. Received: it is not installed; run pip install" in failed.stderr
    add_requirements(next((tmp_path / "bare" / "lib").glob("python*/site-packages")), "serve")
    command = [*seqattn, "serve", "pronounce", "--rest_api_port", "0", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **where) as server:
        try:
            addresses = {line.split()[0]: line.split()[1] for line in (server.stdout.readline() for _ in range(4))}
            for api in ("REST", "gRPC"):
                found = run(*seqattn, "query", "pronounce", "hello", "--url", addresses[api], **where)
                assert found.split("\t")[1] == "HH AH L OW"
        finally:
            server.terminate()


def test_wheel_holds_the_house_and_nothing_else(tmp_path):
    tree = copy_of_tree(tmp_path / "tree")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path / "dist", tree)
    (wheel,) = (tmp_path / "dist").iterdir()
    check_contents(wheel, tree)

    target = tmp_path / "installed"
    run(*pip, "install", "--no-deps", "--target", target, wheel)
    check_imports(target, tmp_path / "elsewhere")
