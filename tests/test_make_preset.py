"""The plans of the shipped models: their commands are valid, describe what ships, and are run in order, once."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from seqattn_tf import cli, make_preset, presets
from seqattn_tf.make_preset import PLANS, commands
from seqattn_tf.training import recipes

LAST_EPOCHS = {"pretrained", "frozen", "batch_size", "epochs", "learning_rate"}  # recorded for two trainings together


def settings_of(command):
    options = cli._parser().parse_args(command)
    recipe = recipes.get(options.recipe)
    return recipe, recipe.settings.with_assignments(options.set)


def test_there_is_a_plan_for_every_preset():
    assert sorted(PLANS) == presets.presets()


@pytest.mark.parametrize("name", sorted(PLANS))
def test_the_last_step_has_the_settings_of_the_shipped_model(name):
    """Would fail if a plan drifted from what ships, or if a setting were renamed."""
    record = json.loads((presets.FOLDER / name / "config.json").read_text())["record"]
    planned = commands(name, Path("data"), Path("made"))
    *_, (recipe, settings) = [settings_of(command) for command in planned if command[0] in ("train", "distill")]
    assert recipe.name == record["recipe"]
    skipped = LAST_EPOCHS if name == "answer_scene" else {"pretrained_embeddings"}
    compared = {key: value for key, value in record["settings"].items() if key not in skipped}
    assert {key: getattr(settings, key) for key in compared} == compared


def test_steps_read_what_earlier_ones_write():
    for name in PLANS:
        written = set()
        for command in commands(name, Path("data"), Path("made")):
            read = {word.partition("=")[2] or word for word in command[:-1] if "made/steps" in word}
            assert read <= written, name
            written.add(command[-1])


@pytest.fixture
def steps(tmp_path, monkeypatch):
    """A plan of two trainings, their ensemble and a student; the commands that run are recorded, not executed."""
    plan = make_preset.Plan(
        [
            ("one", "train toy"),
            ("other", "train toy --data {data}/set"),
            ("both", "ensemble {steps}/one {steps}/other"),
            ("student", "distill toy --data {data}/set --teacher {steps}/both"),
        ],
        needs=["set"],
    )
    monkeypatch.setattr(make_preset, "PLANS", {"small": plan})
    monkeypatch.chdir(tmp_path)
    ran = []

    def run(command, check):
        words = command[3:]
        ran.append(words)
        folder = Path(words[-1])
        folder.mkdir(parents=True, exist_ok=True)
        vectors = Path("data/vectors.npz").resolve()
        record = {"given": str(vectors.parent), "settings": {"vectors": str(vectors), "units": 4, "rate": "1/2"}}
        (folder / "config.json").write_text(json.dumps({"record": record}))
        return SimpleNamespace(returncode=0)

    def ship(folder, data):
        assert data == "data/set"
        (folder / "lite").mkdir()
        (folder / "lite/manifest.json").write_text("{}")
        ran.append(["ship", str(folder)])

    monkeypatch.setattr(make_preset, "subprocess", SimpleNamespace(run=run))
    monkeypatch.setattr("seqattn_tf.ship.ship", ship)
    return ran


def test_all_steps_run_in_order_and_what_is_complete_is_not_repeated(steps, tmp_path):
    (tmp_path / "data/set").mkdir(parents=True)
    (tmp_path / "data/vectors.npz").touch()
    assert make_preset.make_preset("small") == Path("made/small/small")
    assert [words[0] for words in steps] == ["train", "train", "ensemble", "distill", "quantize", "ship"]
    assert steps[1] == ["train", "toy", "--data", "data/set", "--run", "made/small/steps/other"]
    assert steps[4] == ["quantize", "made/small/steps/student", "made/small/small"]
    record = json.loads(Path("made/small/small/config.json").read_text())["record"]
    assert record == {"given": None, "settings": {"vectors": "vectors.npz", "units": 4, "rate": "1/2"}}  # no path
    steps.clear()
    make_preset.make_preset("small")
    assert [words[0] for words in steps] == ["train", "train", "distill"]  # which return at once, or resume


def test_a_step_that_fails_ends_it(steps, tmp_path, monkeypatch, capsys):
    (tmp_path / "data/set").mkdir(parents=True)
    failing = SimpleNamespace(run=lambda *_, **__: SimpleNamespace(returncode=75))
    monkeypatch.setattr(make_preset, "subprocess", failing)
    assert cli.main(["make-preset", "small"]) == 2
    assert "train toy ended with status 75; the same command resumes" in capsys.readouterr().err
    assert not steps


def test_missing_data_and_unknown_names_are_errors(steps, capsys):
    assert cli.main(["make-preset", "small"]) == 2
    assert "data: expected data/set. Received: no such file; see `seqattn data`" in capsys.readouterr().err
    assert cli.main(["make-preset", "smal"]) == 2
    assert "did you mean 'small'" in capsys.readouterr().err
    assert cli.main(["make-preset"]) == 0
    assert capsys.readouterr().out.startswith("small: 4 steps")
    assert cli.main(["make-preset", "small", "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "seqattn train toy --run made/small/steps/one"
    assert not steps
