"""Files designed to cost far more than their size: both halves of every field read or reject them cheaply.

Before the first test, a child process measures all of them: its peak memory and the CPU seconds of each call.
"""

import pickle

import pytest
import tensorflow as tf
from support.hostile import AT_ONCE, BATCHES, CASES, FIELDS
from support.measured import Child, Cost
from support.once import once

from seqattn_tf.inputs import graph_field
from seqattn_tf.lite.fields import Field

MEGABYTES, SECONDS = 600, 5.0  # the largest picture that is accepted takes 500 MB and 1.3 s
HALVES = ("plain", "graph")


@pytest.fixture(scope="module")
def costs(tmp_path_factory):
    """The cost of every case: `costs[half, name, case]`; "whole" means many values in one call of the graph."""
    folder = once(tmp_path_factory, "hostile", lambda to: (to / "costs").write_bytes(pickle.dumps(measured())))
    return pickle.loads((folder / "costs").read_bytes())


def measured():
    asked = {}
    for half, table in (("plain", CASES), ("graph", CASES), ("plain", AT_ONCE), ("graph", AT_ONCE), ("whole", BATCHES)):
        asked |= {(half, name, case): make for name, cases in table.items() for case, make in cases.items()}
    found, child = {}, Child()
    for (half, name, case), make in asked.items():
        try:
            found[half, name, case] = child.read("graph" if half == "whole" else half, name, make())
        except TimeoutError as error:  # the child was terminated, so the next case gets a new one
            found[half, name, case] = Cost(str(error), float("inf"), float("inf"))
            child = Child()
    child.close()
    return found


def check(case, cost, seconds=SECONDS):
    assert cost.megabytes < MEGABYTES, f"{case}: {cost.megabytes:.0f} MB"
    assert cost.seconds < seconds, f"{case}: {cost.seconds:.1f} s"


def test_every_field_has_cases():
    """Every new field must be measured as well, because it might trust the sizes in a file."""
    ours = {name for name, field in Field.registry.items() if field.__module__.startswith("seqattn_tf.")}
    assert ours == FIELDS.keys() == CASES.keys()
    assert all(CASES.values())


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in CASES.items() for case in cases])
def test_one_file_costs_little_and_both_halves_agree_on_it(costs, name, case):
    """Without limits, a WAV of 4 KB can take 4.4 GB (by its rate), and a PNG of 4 KB 12 GB (33 megapixels in a row)."""
    plain, graph = (costs[half, name, case] for half in HALVES)
    check(f"plain, {case}", plain)
    check(f"graph, {case}", graph)
    assert bool(plain.error) == bool(graph.error), f"{case}: {plain.error!r} but {graph.error!r}"
    assert plain.error.startswith("expected ") or not plain.error


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in BATCHES.items() for case in cases])
def test_a_batch_is_refused_as_a_whole_before_anything_is_decoded(costs, name, case):
    """10 MB can contain a thousand pictures of 32 megapixels; padding a batch to the longest value costs as much."""
    cost = costs["whole", name, case]
    check(case, cost, seconds=15)  # the headers of 300 or more files take 3 s; decoding the files would take minutes
    assert f"{name}: expected " in cost.error
    assert "in one batch" in cost.error


@pytest.mark.parametrize("half", HALVES)
def test_short_sounds_at_a_high_rate_cost_little(costs, half):
    """The cost of resampler weights must depend on the length of a sound, not on that of a whole block (60 ms)."""
    for name, cases in AT_ONCE.items():
        for case in cases:
            assert not costs[half, name, case].error
            check(case, costs[half, name, case])


@pytest.mark.parametrize("name", BATCHES)
def test_training_reads_batches_of_any_size(name, monkeypatch):
    """The limit for batches applies only to requests, not to the columns that `fit` reads."""
    field = FIELDS[name]
    graph = graph_field(field, "it")
    monkeypatch.setattr(f"{type(graph).__module__}.max", lambda *_: 1, raising=False)  # replaces every limit by 1
    values = field.sample_inputs(3)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"it: expected .* in one batch"):
        graph.read(tf.constant(values))
    column = graph.column(values)
    assert all(len(rows) == 3 for rows in column.rows(tf.range(3)).values())
