"""Files made to cost far more than their size: every field reads or refuses them cheaply, in both halves alike.

One child process measures all of them before the first test: the peak of its memory and the CPU seconds of each call.
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
    """What every case costs: `costs[half, name, case]`; "whole" where the graph gets many values at once."""
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
        except TimeoutError as error:  # it was ended: the next case gets another
            found[half, name, case] = Cost(str(error), float("inf"), float("inf"))
            child = Child()
    child.close()
    return found


def check(case, cost, seconds=SECONDS):
    assert cost.megabytes < MEGABYTES, f"{case}: {cost.megabytes:.0f} MB"
    assert cost.seconds < seconds, f"{case}: {cost.seconds:.1f} s"


def test_every_field_has_cases():
    """A new field, which may trust what a file says of itself, is measured as well."""
    ours = {name for name, field in Field.registry.items() if field.__module__.startswith("seqattn_tf.")}
    assert ours == FIELDS.keys() == CASES.keys()
    assert all(CASES.values())


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in CASES.items() for case in cases])
def test_one_file_costs_little_and_both_halves_agree_on_it(costs, name, case):
    """A WAV of 4 KB took 4.4 GB (its rate went unchecked), a PNG of 4 KB 12 GB (one row of 33 million pixels)."""
    plain, graph = (costs[half, name, case] for half in HALVES)
    check(f"plain, {case}", plain)
    check(f"graph, {case}", graph)
    assert bool(plain.error) == bool(graph.error), f"{case}: {plain.error!r} but {graph.error!r}"
    assert plain.error.startswith("expected ") or not plain.error


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in BATCHES.items() for case in cases])
def test_a_batch_is_refused_as_a_whole_before_anything_is_decoded(costs, name, case):
    """A thousand pictures of 32 megapixels fit into 10 MB; padding to the longest of a batch is no cheaper."""
    cost = costs["whole", name, case]
    check(case, cost, seconds=15)  # headers of 300 files or more: 3 s; decoding them takes minutes
    assert f"{name}: expected " in cost.error
    assert "in one batch" in cost.error


@pytest.mark.parametrize("half", HALVES)
def test_short_sounds_at_a_high_rate_cost_little(costs, half):
    """The weights of a resampler for a whole block took 60 ms for each, however short the sound was."""
    for name, cases in AT_ONCE.items():
        for case in cases:
            assert not costs[half, name, case].error
            check(case, costs[half, name, case])


@pytest.mark.parametrize("name", BATCHES)
def test_training_reads_batches_of_any_size(name, monkeypatch):
    """The limit of a batch is for requests: the columns that `fit` reads have none."""
    field = FIELDS[name]
    graph = graph_field(field, "it")
    monkeypatch.setattr(f"{type(graph).__module__}.max", lambda *_: 1, raising=False)  # the largest of all limits
    values = field.made_up(3)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"it: expected .* in one batch"):
        graph.read(tf.constant(values))
    column = graph.column(values)
    assert all(len(rows) == 3 for rows in column.rows(tf.range(3)).values())
