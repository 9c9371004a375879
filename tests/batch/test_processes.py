"""Tests with real processes: killed, resumed and interrupted commands, a killed worker, and the command line."""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from mapping_toys import TEXTS
from support import forked
from support.slow import slow

from seqattn_tf import cli
from seqattn_tf.batch import Options, map_file

ROWS = 3000
COMMAND = [sys.executable, "-m", "seqattn_tf.cli", "map"]
TELLS_THREADS = """
import os, pathlib
import tensorflow as tf

found = tf.config.threading.get_intra_op_parallelism_threads(), tf.config.threading.get_inter_op_parallelism_threads()
said = " ".join(map(str, (*found, os.environ.get("OMP_NUM_THREADS"))))
pathlib.Path(__file__).with_name(f"{os.getpid()}.txt").write_text(said)
"""
OPTIONS = ["--shard-rows", "50", "--batch-size", "8"]


@pytest.fixture
def source(tmp_path):
    rows = [{"n": n, "text": TEXTS[n % 50] + " x" * (n % 211 == 0) * 20} for n in range(ROWS)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "in.jsonl"


def start_map(toy, source, output, processes=2):
    command = [*COMMAND, str(toy), str(source), str(output), *OPTIONS, "--processes", str(processes)]
    return forked.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)


def parts(output):
    return len(list(output.with_name(f"{output.name}.parts").glob("part-*")))


def until(condition, process, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert process is None or process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def of_group(group):
    """Return the running processes of a process group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its = path.read_text().rpartition(") ")[2].split()[:3]
        except OSError:
            continue
        if int(its) == group and state != "Z":
            found.append(int(path.parent.name))
    return found


@pytest.mark.parametrize(("kills", "processes"), [((os.killpg,), 0), slow((os.killpg, os.kill), 2)])
def test_killed_it_goes_on_to_the_same_bytes(toy, source, tmp_path, answers_in_place, capfd, kills, processes):
    whole = answers_in_place(toy, source, tmp_path / "whole.jsonl", shard_rows=50, batch_size=8)
    output, done = tmp_path / "out.jsonl", 0
    for kill in kills:  # first all processes, then only the parent, whose children exit with it
        with start_map(toy, source, output, max(processes, 1)) as process:
            until(lambda so_far=done: parts(output) > so_far + 3, process)
            time.sleep(random.random() / 5)
            kill(process.pid, signal.SIGKILL)
        until(lambda of=process.pid: not of_group(of), None, 20)
        assert not output.exists()
        assert done < parts(output) < ROWS / 50
        done = parts(output)
    capfd.readouterr()
    assert cli.main(["map", str(toy), str(source), str(output), *OPTIONS, "--processes", str(processes)]) == 0
    said = capfd.readouterr()
    answered, rejected = ROWS - whole.rejected, f"{output}.rejected.jsonl"
    assert said.out == f"{answered:,} rows written to {output}\n15 rejected rows written to {rejected}, with reasons\n"
    assert f" {done * 50}/{ROWS} [" in said.err  # the bar begins where the last one ended
    assert output.read_bytes() == whole.output.read_bytes()
    assert Path(rejected).read_bytes() == whole.rejected_output.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir() if "out" in path.name) == [
        "out.jsonl",
        "out.jsonl.map.json",
        "out.jsonl.rejected.jsonl",
    ]


def test_a_process_ends_with_the_one_that_began_it():
    """A child exits when its end of the pipe is closed, which happens however the parent dies."""
    code = (
        "import multiprocessing.connection as m; from seqattn_tf.batch import local; local._end_with(m.Connection(0))"
    )
    with forked.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        time.sleep(0.1)
        assert process.poll() is None
    assert process.returncode == 1


def test_one_process_killed_ends_the_command_which_goes_on(toy, source, tmp_path):
    output, killed = tmp_path / "out.jsonl", []

    def kill():
        while not parts(output):
            time.sleep(0.02)
        killed.extend(child.pid for child in multiprocessing.active_children())
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    plugin = tmp_path / "tells_threads.py"
    plugin.write_text(TELLS_THREADS)
    options = Options(processes=1, threads=3, shard_rows=50, batch_size=1, plugins=[str(plugin)])
    with pytest.raises(ChildProcessError) as caught:
        map_file(toy, source, output, options, quiet=True)
    killer.join()
    assert (tmp_path / f"{killed[0]}.txt").read_text() == "3 3 3"
    assert len(killed) == 1
    killed = "a worker process was killed, perhaps because it ran out of memory; try fewer --processes"
    assert (
        str(caught.value)
        == f"{killed}; run the same command again to resume after {50 * parts(output):,} of {ROWS:,} rows"
    )
    assert not multiprocessing.active_children()


@pytest.mark.slow
@pytest.mark.parametrize("part_done", [True, False], ids=["after the first part", "while processes start"])
def test_an_interrupt_leaves_a_clean_line(toy, source, tmp_path, part_done):
    output = tmp_path / "out.jsonl"
    with start_map(toy, source, output) as process:
        until(lambda: parts(output) > 0 if part_done else len(of_group(process.pid)) > 3, process)
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith("seqattn map: stopped: run the same command again to resume after ")
    assert "Traceback" not in said
    assert not of_group(process.pid)


@pytest.mark.parametrize("processes", [0, slow(1)])
def test_a_broken_model_says_so(toy, source, tmp_path, processes):
    (tmp_path / "broken/assets").mkdir(parents=True)
    for name in ("config.json", "assets/inputs.json", "assets/target.json"):
        (tmp_path / "broken" / name).write_bytes((toy / name).read_bytes())
    with pytest.raises(ValueError, match="expected a complete network"):
        map_file(tmp_path / "broken", source, tmp_path / "out.jsonl", Options(processes=processes), quiet=True)


def test_the_command_line_in_this_process(toy, tmp_path, capsys, answers_in_place):
    (tmp_path / "in.csv").write_text("word\ngood\n")
    asked = ["map", str(toy), str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), "--processes", "0"]
    for more, message in (
        (["--column", "text"], "column: expected INPUT=COLUMN. Received: 'text'"),
        ([], "in.csv: expected columns named ['text']. Received: ['word']; if a column has another name, use --column"),
        (
            ["--column", "text=word", "--attention"],
            "attention: expected an output ending in .jsonl, .parquet, or a folder",
        ),
        (["--shard-rows", "0"], "shard_rows: expected at least 1. Received: 0"),
    ):
        assert cli.main([*asked, *more]) == 2
        assert message in capsys.readouterr().err
    assert cli.main([*asked, "--column", "text=word"]) == 0
    assert capsys.readouterr().out == f"1 rows written to {tmp_path}/out.csv\n"


def test_the_status_tells_that_all_rows_are_bad(toy, tmp_path, capsys, answers_in_place):
    for number, (text, status) in enumerate([("[]\n[]\n", 1), ('[]\n{"text": "good"}\n', 0), ("", 0)]):
        (tmp_path / f"{number}.jsonl").write_text(text)
        output = str(tmp_path / f"out-{number}.jsonl")
        assert cli.main(["map", str(toy), str(tmp_path / f"{number}.jsonl"), output, "--processes", "0"]) == status
