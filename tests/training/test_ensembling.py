"""Runs in both directions, and their ensemble: evaluated, queried, explained and exported like any other model."""

import dataclasses
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support import reverse
from support.step_by_step import answering_eagerly, untraced

from seqattn_tf import cli
from seqattn_tf.models import Ensemble, load
from seqattn_tf.models.base import read_config
from seqattn_tf.training import ensembling, recipes, run
from seqattn_tf.training.ensembling import combine

pytestmark = pytest.mark.usefixtures("eagerly")

TINY = ["units=12", "embedding=8", "epochs=1", "batch_size=32", "warmup_steps=2", "max_target_length=4", "metric=exact"]
TABLE = [
    "source_tokenizer=spaces",
    "target_tokenizer=spaces",
    "text_column=ask",
    "target_column=say",
    "max_length_ratio=3",
]
SEARCH = ["beam_width=1", "alternatives=0", "length_penalty=0"]
OTHERS = {"other": ["units=8"], "back": ["direction=right_to_left"]}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with a table, a run on it, and untrained models with the record of that run."""
    folder = tmp_path_factory.mktemp("runs")
    rows = [f"word {i % 7} and {i},a long answer {i % 7}" for i in range(90)]
    (folder / "own.csv").write_text("\n".join(["ask,say", *rows]) + "\n", encoding="utf-8")
    recipe = recipes.get("translate")
    with pytest.MonkeyPatch.context() as patch, answering_eagerly(), untraced():
        patch.chdir(folder)
        chosen = [part for setting in (*TINY, *TABLE, *SEARCH) for part in ("--set", setting)]
        assert cli.main(["train", "translate", "--preset", "small", "--data", "own.csv", "--run", "one", *chosen]) == 0
        record = read_config("one")["record"]
        for name, more in OTHERS.items():
            settings = recipe.small.with_assignments([*TINY, *TABLE, *SEARCH, *more])
            model = recipe.task.open(settings, run.open_splits(recipe, settings, "own.csv")).model
            model.save(name, {**record, "settings": dataclasses.asdict(settings)})
    return folder


@pytest.fixture
def here(runs, monkeypatch):
    """The same folder as the working directory, without files of other tests."""
    monkeypatch.chdir(runs)
    shutil.rmtree(runs / "all", ignore_errors=True)
    return runs


@pytest.mark.slow
def test_what_is_said_from_its_end_is_learned_and_read_like_any_other(tmp_path):
    settings = dataclasses.replace(reverse.SETTINGS, direction="right_to_left", epochs=4)
    model = run.train(reverse.RECIPE, settings, tmp_path)
    assert reverse.RECIPE.task.measure(model, reverse.language().test).metrics["symbol_error_rate"] < 0.1
    [answer] = model.answer(["abcd"])
    assert answer.text == "D C B A"
    assert answer.attention["text"].weights.argmax(-1).tolist() == [3, 2, 1, 0]


def test_several_runs_are_one(here, capsys):
    assert cli.main(["ensemble", "one", "other", "back", "-o", "all", "--alternatives", "2"]) == 0
    assert capsys.readouterr().out == ("combined 2 models in all; right-to-left models that rescore its answers: 1\n")
    made = load(here / "all")
    assert isinstance(made, Ensemble)
    assert (made.beam_width, made.alternatives) == (4, 2)
    record, first = (read_config(here / name)["record"] for name in ("all", "one"))
    assert record["members"] == ["one", "other", "back"]
    assert {"metrics", "seconds"} & record.keys() == set()
    for name in ("recipe", "fingerprint", "data", "given", "examples", "references", "summary", "counts"):
        assert record[name] == first[name]
    assert record["settings"] == {**first["settings"], "beam_width": 4, "alternatives": 2}
    question = "word 3 and 5"
    expected = [weight for name in ("one", "other", "back") for weight in load(here / name).network.get_weights()]
    networks = [*made.network.members, *made.network.rescorers]
    held = [weight for network in networks for weight in network.get_weights()]
    for a, b in zip(held, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    [answer] = made.answer([question])
    assert cli.main(["query", "all", question, "--nbest"]) == 0
    out, err = capsys.readouterr()
    assert "ranked by mean log-probability" in err
    said = [line.split("\t")[1] for line in out.splitlines()]
    assert said == [answer.text, *(text for text, _ in answer.alternatives)]


@pytest.mark.slow
def test_it_is_evaluated_and_explained(here, capsys):
    combine(["one", "other", "back"], "all")
    assert cli.main(["evaluate", "all"]) == 0
    assert "\naccuracy  0." in capsys.readouterr().out
    assert cli.main(["explain", "all", "word 3 and 5", "-o", "why.png"]) == 0
    assert (here / "why.png").read_bytes().startswith(b"\x89PNG")


def test_the_first_may_be_said_from_its_end(here):
    made = combine(["back", "one"], "all", beam_width=3)
    assert (made.beam_width, made.target.direction) == (3, "left_to_right")
    assert read_config(here / "all")["record"]["settings"]["direction"] == "left_to_right"


@pytest.mark.slow
@pytest.mark.traced
def test_it_is_exported(here, tmp_path, capsys):
    assert cli.main(["ensemble", "one", "other", "-o", "all"]) == 0
    assert capsys.readouterr().out == "combined 2 models in all\n"
    assert cli.main(["export", "all", str(tmp_path / "models/all"), "--no-lite"]) == 0
    manifest = json.loads((tmp_path / "models/all/1/assets.extra/manifest.json").read_text())
    assert (manifest["system"], manifest["record"]["members"]) == ("ensemble", ["one", "other"])


def test_runs_that_are_not_of_one_kind_are_refused(here, capsys):
    changed = here / "changed"
    for name, value in (("recipe", "transliterate"), ("fingerprint", "other")):
        shutil.copytree(here / "other", changed)
        config = json.loads((changed / "config.json").read_text())
        config["record"][name] = value
        (changed / "config.json").write_text(json.dumps(config))
        assert cli.main(["ensemble", "one", "changed", "-o", "all"]) == 2
        shutil.rmtree(changed)
        held = read_config(here / "one")["record"][name]
        assert f"runs: expected the {name} of one, {held!r}, in all runs. Received: {value!r} in changed" in (
            capsys.readouterr().err
        )
    assert cli.main(["ensemble", "one", "nowhere", "-o", "all"]) == 2
    assert "Received: 'nowhere'" in capsys.readouterr().err
    assert cli.main(["ensemble", "back", "-o", "all"]) == 2
    assert "models: expected at least one with direction left_to_right" in capsys.readouterr().err
    assert cli.main(["ensemble", "one", "-o", "other"]) == 2
    assert "output: expected a folder without a model. Received: other" in capsys.readouterr().err
    assert not (here / "all").exists()


def test_the_record_of_an_ensemble_is_of_all_its_members(tmp_path, monkeypatch):
    """The record must not contain how the first run started, nor the plug-ins of the first run alone."""
    own = {"metrics": {"symbol_error_rate": 1}, "seconds": 3, "init_from": "0f3a", "xla": "on"}  # true of one run only
    alike = {"recipe": "toy", "fingerprint": "12", "settings": {"beam_width": 1, "units": 8}}
    records = {name: {**alike, **own, "plugins": {f"part_of_{name}": ""}} for name in ("one", "other")}
    saved = []
    made = SimpleNamespace(settings={"beam_width": 4}, target=None, save=lambda *given: saved.append(given))
    monkeypatch.setattr(ensembling, "find", Path)
    monkeypatch.setattr(ensembling, "read_record", lambda run: records[run.name])
    monkeypatch.setattr(ensembling, "load", lambda run: run)
    monkeypatch.setattr(ensembling, "as_one", lambda models, **settings: made)
    ensembling.combine(["one", "other"], tmp_path / "all")
    [(folder, record)] = saved
    assert folder == tmp_path / "all"
    assert record == {
        **{name: alike[name] for name in ("recipe", "fingerprint")},
        "settings": {"beam_width": 4, "units": 8},
        "plugins": {"part_of_one": "", "part_of_other": ""},
        "members": ["one", "other"],
    }
