"""What each test costs in CPU seconds, its child processes included; `make test` fails where one costs too much.

A fixture that several tests share is counted by itself, not with the test that happens to come first.
"""

import json
import os
import resource
from collections import defaultdict
from pathlib import Path

import pytest

LIMIT = 3.0  # CPU seconds of a case
EXPENSIVE: dict[str, str] = {}  # the start of a case's name, and why it may cost more
SHOWN = 10


def cpu() -> float:
    """CPU seconds of this process and of children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Meter:
    """CPU seconds of the running case, and of the shared fixtures that it had set up."""

    def __init__(self) -> None:
        self.fixtures: dict[str, float] = {}
        self.inner = 0.0  # of fixtures, within what is being measured

    def reset(self) -> None:
        self.fixtures, self.inner = {}, 0.0


METER = Meter()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    if fixturedef.scope == "function":
        return (yield)
    begun, before = cpu(), METER.inner
    METER.inner = 0.0
    try:
        return (yield)
    finally:
        whole = cpu() - begun
        name = f"{request.node.nodeid or 'session'}: {fixturedef.argname}"
        METER.fixtures[name] = METER.fixtures.get(name, 0.0) + whole - METER.inner
        METER.inner = before + whole


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    now = cpu()
    report.cpu = now - getattr(item, "_cpu_begun", now) - METER.inner
    report.fixtures = METER.fixtures
    METER.reset()
    item._cpu_begun = now
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    METER.reset()
    item._cpu_begun = cpu()
    return (yield)


def pytest_terminal_summary(terminalreporter, config):
    cases, fixtures = defaultdict(float), defaultdict(float)
    wall = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "cpu"):
                cases[report.nodeid] += report.cpu
                wall[report.nodeid] += report.duration
                for name, seconds in report.fixtures.items():
                    fixtures[name] += seconds
    if os.environ.get("SEQATTN_COSTS"):
        Path(os.environ["SEQATTN_COSTS"]).write_text(json.dumps({"cases": cases, "fixtures": fixtures, "wall": wall}))
