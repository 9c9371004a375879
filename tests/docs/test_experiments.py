"""docs/experiments.md: its Python runs, and its table of presets agrees with the plans."""

import re

from support import pages
from support.step_by_step import untraced

from seqattn_tf.make_preset import PLANS


def test_the_python_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    [code] = pages.python_of("experiments.md")
    names = {}
    with untraced():
        exec(code, names)
    shown = [line for line in capsys.readouterr().out.splitlines() if "±" in line]
    assert [line.split()[0] for line in shown] == ["cell=gru", "cell=rnn"]
    low, high = names["found"].intervals["accuracy"]
    assert low <= names["found"].metrics["accuracy"] <= high
    assert -1 <= names["difference"].low <= names["difference"].value <= names["difference"].high <= 1


def test_the_table_has_every_preset_with_what_its_plan_needs():
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \|", pages.text_of("experiments.md"), re.M)
    assert sorted(name for name, _ in rows) == sorted(PLANS)
    for name, data in rows:
        sets = {needed.partition("/")[0] for needed in PLANS[name].needs}
        assert set(re.findall(r"`(\w+)`", data)) == sets
