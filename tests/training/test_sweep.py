"""Sweeps: their runs, what is left after an interruption, failures, means over seeds, and figures."""

import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support import forked

from seqattn_tf import cli
from seqattn_tf.models import load
from seqattn_tf.training import processes
from seqattn_tf.training import sweep as sweeping
from seqattn_tf.training.evaluation import evaluate
from seqattn_tf.training.processes import run_process
from seqattn_tf.training.runs import Group, Run, find_runs, group_table, groups
from seqattn_tf.training.sweep import Failure, sweep, trials

RECIPE = """
from support import sees
from seqattn_tf.training.recipes import Recipe

recipe = Recipe("sees_alone", "sees a letter", sees.sentences, sees.RECIPE.task, sees.SETTINGS, sees.SETTINGS)
"""
TESTS = str(Path(__file__).resolve().parents[1])


def use_forks(patch, folder):
    """Run trainings in forked processes, in this folder; load its recipe even if another worker's turn left one."""
    for name in ("sees_alone", "fails"):
        sys.modules.pop(name, None)
    patch.setattr(sys, "path", list(sys.path))
    patch.setattr(processes, "subprocess", forked)
    patch.setattr(forked, "PIPE", subprocess.PIPE, raising=False)
    patch.setenv("PYTHONPATH", TESTS)
    patch.chdir(folder)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a recipe that trains in a second."""
    use_forks(monkeypatch, tmp_path)
    (tmp_path / "sees_alone.py").write_text(RECIPE)
    return tmp_path


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A sweep of two sizes and two seeds, and what the command printed."""
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("sweep")
    (folder / "sees_alone.py").write_text(RECIPE)
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        use_forks(patch, folder)
        grid = ["--grid", "units=4,6", "--seeds", "0,1", "--jobs", "2", "--evaluate", "-o", "plot.png"]
        assert cli.main(["sweep", "sees_alone.py", "--set", "epochs=1", *grid]) == 0
    return folder, out.getvalue()


NAMES = ["units=4,seed=0", "units=4,seed=1", "units=6,seed=0", "units=6,seed=1"]


def test_every_combination_is_an_ordinary_run(done):
    folder = done[0] / "sweeps/sees_alone"
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == NAMES
    for name in NAMES:
        settings = json.loads((folder / name / "config.json").read_text())["record"]["settings"]
        assert f"units={settings['units']},seed={settings['seed']}" == name
        assert settings["epochs"] == 1
    assert load(folder / NAMES[0]).answer(["a b"])[0].text in ("yes", "no")
    assert evaluate(folder / NAMES[0]).metrics == {
        name: found["value"]
        for name, found in json.loads((folder / NAMES[0] / "test.json").read_text())["metrics"].items()
    }


def test_means_and_deviations_over_seeds_are_printed_and_drawn(done, capsys):
    folder, out = done
    runs = find_runs([folder / "sweeps/sees_alone"])
    found = {run.folder.name: run.metrics for run in runs}
    values = [found[name]["test_accuracy"] for name in NAMES[:2]]
    shown = f"{statistics.fmean(values):.4f} ± {statistics.stdev(values):.4f}"
    title, small, *_ = out.splitlines()
    assert title.split()[:2] == ["units", "runs"]
    assert small.split()[:2] == ["4", "2"]
    assert shown in small
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert cli.main(["runs", str(folder / "sweeps/sees_alone")]) == 0  # the same table, below that of the runs
    assert small in capsys.readouterr().out


def test_finished_runs_are_not_started_again_but_those_of_another_command_are(done, monkeypatch):
    folder, _ = done
    monkeypatch.chdir(folder)
    started = []

    def run_process(command, log, *_):
        started.append((command[-1], log.parent.name))
        return 0

    monkeypatch.setattr(sweeping, "run_process", run_process)
    how = {"folder": folder / "sweeps/sees_alone", "evaluate": True}
    arguments = ["--preset", "full", "--xla", "off", "--set", "epochs=1"]
    runs, failures = sweep("sees_alone.py", {"units": ["4", "6"]}, [0, 1], arguments=arguments, **how)
    assert ([run.folder.name for run in runs], failures, started) == (NAMES, [], [])
    (folder / "sweeps/sees_alone" / NAMES[3] / "config.json").rename(folder / "aside")
    try:
        sweep("sees_alone.py", {"units": ["4", "6"]}, [0, 1, 2], arguments=arguments, **how)
    finally:
        (folder / "aside").rename(folder / "sweeps/sees_alone" / NAMES[3] / "config.json")
    assert sorted(name for _, name in started) == ["units=4,seed=2", "units=6,seed=1", "units=6,seed=2"]
    started.clear()
    sweep("sees_alone.py", {"units": ["4"]}, [0], arguments=[*arguments, "--set", "patience=3"], **how)
    assert len(started) == 1


def test_a_run_that_fails_leaves_the_others_and_is_named(here, capsys):
    (here / "fails.py").write_text(RECIPE + "\nimport os, sys\nif 'units=5' in sys.argv: os._exit(9)\n")
    arguments = ["--set", "epochs=1", "--grid", "units=5,4"]
    assert cli.main(["sweep", "fails.py", *arguments]) == 1
    said = capsys.readouterr()
    assert "units=5,seed=0 failed with status 9: see" in said.err
    assert said.out.splitlines()[-1].startswith("1 ")
    assert [run.folder.name for run in find_runs(["sweeps/fails"])] == ["units=4,seed=0"]


def test_a_training_saves_its_state_when_the_sweep_ends_and_resumes(here):
    """The process notices the end of its input, which also happens if the sweep is killed."""
    command = ["train", "sees_alone.py", "--run", "run", "--set", "epochs=400", "--set", "patience=400"]
    stop = threading.Event()

    def stop_in_training():
        while not (here / "run/history.json").is_file():
            time.sleep(0.02)
        stop.set()

    threading.Thread(target=stop_in_training).start()
    assert run_process(command, here / "run/sweep.log", stop) == 75
    assert "run the same command again to resume" in (here / "run/sweep.log").read_text()
    assert len(json.loads((here / "run/history.json").read_text())) < 400
    assert list((here / "run/checkpoints").iterdir())


def test_a_sweep_that_is_running_is_not_started_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeping, "_WAIT", -1)
    with sweeping._only_one(tmp_path), pytest.raises(ValueError, match="expected a sweep that is not running"):
        sweep("toy", {"units": ["4"]}, folder=tmp_path)


def test_a_signal_ends_the_sweep_after_its_runs(tmp_path, monkeypatch):
    def run_process(command, log, stop, *_):
        signal.raise_signal(signal.SIGINT) if not stop.is_set() else None
        assert stop.wait(10)
        return 75

    monkeypatch.setattr(sweeping, "run_process", run_process)
    with pytest.raises(KeyboardInterrupt, match="3 runs are left; run the same command again to resume"):
        sweep("toy", {"units": ["4", "5", "6"]}, folder=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--grid", "units"], "grid: expected NAME=VALUE,VALUE,... Received: 'units'"),
        (["--grid", "seed=1,2"], "grid: expected settings other than seed"),
        (["--grid", "units=4,4"], "units: expected at least one value, all different"),
        (["--seeds", "0,x"], "seeds: expected numbers separated by commas. Received: '0,x'"),
        (["--seeds", "0,0"], "seeds: expected at least one value, all different"),
        (["--grid", "unist=4"], "unist"),
        (["--grid", "units=four"], "units"),
        (["--jobs", "0"], "jobs: expected a number of at least 1"),
        (["-o", "plot.xyz"], "ends in .png, .svg or .pdf"),
    ],
)
def test_invalid_sweeps_are_refused_before_any_training(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["sweep", "toy", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_folders_are_named_by_settings_and_values_keep_apart():
    [one] = trials(Path("x"), {"data": ["a/b c"]}, [3])
    assert one.folder == Path("x/data=a_b_c,seed=3")
    assert one.assignments == ["data=a/b c", "seed=3"]
    with pytest.raises(ValueError, match="values that differ in letters or digits"):
        trials(Path("x"), {"data": ["a/b", "a b"]}, [0])


def made(folder, recipe="translate", history=(), **settings):
    metrics = {"dev_bleu": settings.pop("bleu")}
    return Run(Path(folder), {"recipe": recipe, "settings": settings, "metrics": metrics}, list(history))


def test_runs_are_grouped_by_all_settings_but_the_seed():
    runs = [made(f"{i}", bleu=10.0 + i, seed=i % 2, align="crf" if i < 2 else "softmax", units=8) for i in range(4)]
    found = groups(runs)
    assert [(group.name, len(group.runs)) for group in found] == [("align=crf", 2), ("align=softmax", 2)]
    assert group_table(found) == [
        ["align", "runs", "dev_bleu"],
        ["crf", "2", f"10.5000 ± {statistics.stdev([10, 11]):.4f}"],
        ["softmax", "2", f"12.5000 ± {statistics.stdev([12, 13]):.4f}"],
    ]
    alone = groups(runs[:1])
    assert [(group.name, group.spread("dev_bleu"), group.spread("dev_chrf")) for group in alone] == [
        ("all", (10.0, 0.0), None)
    ]
    other = groups([runs[0], made("x", "tag", bleu=1.0, seed=0, align="crf", units=8)])
    assert [group.settings for group in other] == [{"recipe": "translate"}, {"recipe": "tag"}]
    assert Group({}, [made("y", bleu=0.0, history=[{"loss": 2.0}, {"loss": 1.0}])]).curves("loss") == [[2.0, 1.0]]


def test_the_last_line_of_a_log_is_the_message(tmp_path):
    (tmp_path / "log").write_bytes(b"one\ntwo \xff\n\n")
    assert sweeping._last_line(tmp_path / "log").startswith("two")
    assert sweeping._last_line(tmp_path / "none") == "no output"
    assert Failure(trials(tmp_path, {}, [0])[0], 1, "x").message == "x"


@pytest.mark.slow
def test_a_sweep_is_killed_twice_and_resumed(tmp_path):
    """With real processes: after SIGKILL its trainings save their state, and the next call resumes with them."""
    (tmp_path / "sees_alone.py").write_text(RECIPE)
    words = ["--grid", "units=4,6", "--seeds", "0,1", "--set", "epochs=60", "--set", "patience=60", "--jobs", "2"]
    command = [sys.executable, "-m", "seqattn_tf.cli", "sweep", "sees_alone.py", *words]
    how = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": TESTS}, "stderr": subprocess.PIPE, "text": True}
    for _ in range(2):
        process = subprocess.Popen(command, **how)
        begun = {path: path.stat().st_mtime for path in tmp_path.glob("sweeps/*/*/history.json")}
        while not any(begun.get(path) != path.stat().st_mtime for path in tmp_path.glob("sweeps/*/*/history.json")):
            time.sleep(0.1)
        process.kill()
        process.communicate()
    whole = subprocess.run(command, timeout=300, check=True, stdout=subprocess.PIPE, **how)
    assert len(whole.stdout.splitlines()) == 3
    runs = find_runs([tmp_path / "sweeps/sees_alone"])
    assert [run.epochs for run in runs] == ["60/60"] * 4
    logs = [(run.folder / "sweep.log").read_text() for run in runs]
    assert sum("run the same command again to resume" in log for log in logs) >= 1, logs
