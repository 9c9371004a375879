"""The CPU seconds of each test, including its child processes; `--budget` fails a run with tests that cost too much.

A fixture that several tests share is counted separately, not with the first test. If a test costs too much, the limit
is adapted to the speed that its core has at that moment: a slow or shared core raises it.
"""

import argparse
import json
import resource
from collections import defaultdict
from pathlib import Path

import pytest

LIMIT = 3.0  # CPU seconds of a test
TOLERANCE = 5 / 3  # slowdown of a test next to other work that hardly affects `compile_something`
COMPILING = 0.12  # CPU seconds of `compile_something` on a core of 2.5 GHz beside a busy one
CONVERTS = "converts a model with loops to LiteRT and runs it"
READS = "reads sounds, clips or pictures in the graph of the data and in that of the model"
TRAINS = "trains through the command line, and goes on with the run"
EXPENSIVE = {  # prefix of a test's name -> its limit, and the reason
    "tests/core/test_recurrence.py::test_compiled_loop_has": (5, "XLA compiles a loop and its gradient"),
    "tests/decoding/test_sample.py::test_one_seed": (5, "XLA compiles a search with all its options"),
    "tests/training/data/test_column_files.py::test_trees_whole": (5, "reads a whole treebank"),
    "tests/test_wheel.py": (16, "builds wheels and installs them"),
    "tests/test_cli.py::test_the_mapping_is_printed": (6, TRAINS),
    "tests/test_cli.py::test_a_signal_leaves": (5, "a real training is stopped by a signal"),
    "tests/habits/test_returns.py::test_exported": (5, CONVERTS),
    "tests/test_cli.py::test_warnings_name_no_file_of_ours": (6, TRAINS),
    "tests/decoders/test_decoders.py::TestBahdanauThatRemembersAndGates::test_compiled": (6, "one decoder is compiled"),
    "tests/export/test_compatibility.py::test_our_own_answers": (6, "loads the shipped export and runs all signatures"),
    "tests/export/test_cpp_loader.py::test_the_shipped_model": (9, "a clean process optimises the shipped graphs"),
    "tests/export/test_cpp_loader.py::test_every_signature": (6, "a clean process optimises four graphs"),
    "tests/export/test_folders.py::test_every_version_has_its_lite_folder": (6, CONVERTS),
    "tests/export/test_forms.py::test_a_chain_of_choices": (6, CONVERTS),
    "tests/export/test_forms.py::test_lite_in_int8": (8, "converts the shipped model to int8 and answers 100 words"),
    "tests/export/test_forms.py::test_weights_of_lite_are_chosen": (
        6,
        "converts a model and verifies two exports",
    ),
    "tests/models/test_ensemble.py::test_both_directions_say": (7, CONVERTS),
    "tests/models/test_readers.py::test_an_answer_is_the_same": (7, "structures are inferred eagerly, batch by batch"),
    "tests/models/test_rearranger.py::test_a_pointer_points": (6, CONVERTS),
    "tests/batch/test_processes.py": (8, "real processes, which import TensorFlow, are killed"),
    "tests/serving/test_launcher.py::test_a_folder_of_models": (8, "starts two servers as processes"),
    "tests/training/recipes/test_pronounce.py::test_shipped_model": (9, "1 200 test words, for a figure that we claim"),
    "tests/training/recipes/test_image_to_latex.py::test_formulas": (7, READS),
    "tests/training/tasks/test_transcribing.py::test_sounds": (10, READS),
    "tests/training/tasks/test_videos.py::test_clips": (9, READS),
    "tests/training/tasks/test_captioning.py": (7, "a frozen backbone maps pictures"),
    "tests/training/tasks/test_language.py::test_a_large_vocabulary": (7, "has to learn what it measures"),
    "tests/training/data/test_stream.py::test_it_is_taken_up": (6, "seven epochs of batches are made"),
    "tests/training/test_resume.py::test_data_on_disk": (6, "three trainings, one of them killed, on data on disk"),
    "tests/training/test_distillation.py::test_a_student_of_two_runs": (8, TRAINS),
    "tests/training/test_gallery.py::test_a_page_shows_each": (6, "two shipped models answer and explain"),
}
SHOWN = 10
COSTS = pytest.StashKey[tuple]()


def cpu() -> float:
    """Return the CPU seconds of this process and of its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def compile_something():
    """Do a fixed amount of work similar to that of tests: Python code that allocates small objects."""
    source = Path(argparse.__file__).read_text(encoding="utf-8")
    for _ in range(6):
        compile(source, "<string>", "exec")


def allowed():
    """Return the CPU seconds that a test may cost at the current speed of this core."""
    begun = cpu()
    compile_something()
    return LIMIT * max(1.0, (cpu() - begun) / COMPILING)


class Meter:
    """The CPU seconds of the current test, and of the shared fixtures that it set up."""

    def __init__(self) -> None:
        self.fixtures: dict[str, float] = {}
        self.inner = 0.0  # of fixtures, within the current measurement

    def reset(self) -> None:
        self.fixtures, self.inner = {}, 0.0

    def count(self, name: str, seconds: float, whole: float | None = None) -> None:
        """Add the cost of a fixture; `whole` includes the other fixtures that it set up."""
        self.fixtures[name] = self.fixtures.get(name, 0.0) + seconds
        self.inner += seconds if whole is None else whole


METER = Meter()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    if fixturedef.scope == "function":
        return (yield)
    name = f"{request.node.nodeid or 'session'}: {fixturedef.argname}"
    ending = []  # CPU time before its own teardown, which is the last one of all fixtures that depend on it
    fixturedef.addfinalizer(lambda: METER.count(name, cpu() - ending.pop()))
    begun, before = cpu(), METER.inner
    METER.inner = 0.0
    try:
        return (yield)
    finally:
        whole, inner = cpu() - begun, METER.inner
        METER.inner = before
        METER.count(name, whole - inner, whole)
        fixturedef.addfinalizer(lambda: ending.append(cpu()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    now = cpu()
    report.cpu = now - getattr(item, "_cpu_begun", now) - METER.inner
    if report.when == "teardown":  # teardown after the last test of a module belongs to all its tests
        ended = f"{item.nodeid.split('::')[0]}: what ended with it"
        METER.fixtures[ended] = METER.fixtures.get(ended, 0.0) + report.cpu
        report.cpu = 0.0
    item._cpu_in_all += report.cpu
    report.allowed = allowed() if item._cpu_in_all > LIMIT else 0.0
    report.fixtures = METER.fixtures
    METER.reset()
    item._cpu_begun = now
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    METER.reset()
    item._cpu_begun, item._cpu_in_all = cpu(), 0.0
    return (yield)


def add_options(parser):
    """Add the command-line options."""
    parser.addoption("--budget", action="store_true", help=f"fail if a case takes more than {LIMIT:g} CPU seconds")
    parser.addoption("--costs", metavar="FILE", help="write the CPU seconds of every case as JSON")


def runs_tests(config):
    """Return whether this process runs tests, rather than distributing them to workers."""
    return hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if hasattr(config, "workerinput") or reporter is None:
        return
    cases, fixtures, excess = costs(reporter)
    config.stash[COSTS] = cases, fixtures, excess
    if config.getoption("--costs"):
        Path(config.getoption("--costs")).write_text(json.dumps({"cases": cases, "fixtures": fixtures}))
    if config.getoption("--budget") and session.exitstatus == pytest.ExitCode.OK and excess:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def limit_of(name):
    """Return the limit of a test in CPU seconds, on a core of normal speed."""
    return next((limit for start, (limit, _) in EXPENSIVE.items() if name.startswith(start)), LIMIT)


def costs(reporter):
    """Return the CPU seconds of every test and shared fixture, and the tests that exceed their limits."""
    cases, fixtures, limits = defaultdict(float), defaultdict(float), defaultdict(float)
    for report in (report for reports in reporter.stats.values() for report in reports if hasattr(report, "cpu")):
        cases[report.nodeid] += report.cpu
        for name, seconds in report.fixtures.items():
            fixtures[name] += seconds
        limits[report.nodeid] = max(limits[report.nodeid], report.allowed)
    excess = {}
    for name, bound in limits.items():
        bound *= TOLERANCE * limit_of(name) / LIMIT
        if 0 < bound < cases[name]:
            excess[name] = (cases[name], bound)
    return cases, fixtures, excess


def pytest_terminal_summary(terminalreporter, config):
    cases, fixtures, excess = config.stash.get(COSTS, ({}, {}, {}))
    if not cases:
        return
    total = sum(cases.values()) + sum(fixtures.values())
    terminalreporter.section(f"{total:.0f} CPU seconds; the {SHOWN} most expensive cases and fixtures")
    everything = {**cases, **{f"fixture {name}": seconds for name, seconds in fixtures.items()}}
    for name, seconds in sorted(everything.items(), key=lambda entry: -entry[1])[:SHOWN]:
        terminalreporter.line(f"{seconds:6.1f}  {name}")
    if config.getoption("--budget"):
        for name, (seconds, most) in excess.items():
            terminalreporter.line(
                f"OVER BUDGET: {name}: expected at most {most:.1f} CPU seconds. Received: {seconds:.1f}"
            )
