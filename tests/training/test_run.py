"""Training on a small made-up language whose rule can be learned in seconds: say each letter, in reverse."""

import dataclasses
import random
import subprocess
import sys
import time

import numpy as np
import pytest

from seqattn_tf.models import load
from seqattn_tf.models.base import read_config
from seqattn_tf.training import recipes, run
from seqattn_tf.training.data import Splits, from_text
from seqattn_tf.training.metrics import ERRORS
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.tasks import PairSettings, PairTask, Settings

SETTINGS = PairSettings(
    units=24,
    embedding=12,
    dropout=0.0,
    label_smoothing=0.0,
    batch_size=32,
    epochs=6,
    learning_rate=2e-2,
    warmup_steps=20,
    target_split="spaces",
)


def language(_folder=None, _settings=None):
    generator = random.Random(0)
    words = {"".join(generator.choices("abcd", k=generator.randint(1, 4))) for _ in range(2000)}
    examples = [from_text(word, " ".join(reversed(word.upper()))) for word in sorted(words)]
    generator.shuffle(examples)
    return Splits(examples[60:] * 12, examples[:30], examples[30:60], "made up")


RECIPE = Recipe(
    name="pronounce",
    summary="reverse",
    load=language,
    task=PairTask(metrics=[ERRORS]),
    settings=SETTINGS,
    small=SETTINGS,
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "reverse"
    return folder, run.train(RECIPE, SETTINGS, folder)


def test_learns_the_rule_on_words_it_has_not_seen(trained):
    _, model = trained
    assert RECIPE.task.measure(model, language().test).figures["per"] < 0.1


def test_attention_learns_to_look_backwards(trained):
    _, model = trained
    [answer] = model.answer(["abcd"])
    assert answer.text == "D C B A"
    assert answer.looks["text"].weights.argmax(-1).tolist() == [3, 2, 1, 0]


def test_record_says_where_the_model_comes_from(trained):
    folder, model = trained
    record = read_config(folder)["record"]
    assert record["recipe"] == "pronounce"
    assert record["settings"] == dataclasses.asdict(SETTINGS)
    assert record["data"] == "made up"
    assert record["summary"] == "reverse"
    assert record["counts"] == {"train": len(language().train), "dev": 30, "test": 30}
    assert record["examples"] == [{"text": example.key} for example in language().dev[::5]]
    figures = RECIPE.task.measure(model, language().dev).figures
    assert record["figures"]["dev_per"] == pytest.approx(figures["per"], abs=1e-4)


@dataclasses.dataclass(frozen=True)
class Counting(PairTask):
    """What is simpler and learned from the same says from how many examples."""

    def baselines(self, model, train, examples):
        return {"learned_from": len(train), "measured_on": len(examples)}


def test_no_more_than_so_many_examples_are_learned_from_and_recorded(tmp_path, monkeypatch):
    recipe = dataclasses.replace(RECIPE, task=Counting(metrics=[ERRORS]))
    settings = dataclasses.replace(SETTINGS, max_examples=70, epochs=1)
    training = recipe.task.open(settings, run.open_splits(recipe, settings, None))
    assert (training.rows.tolist(), training.steps) == (list(range(70)), 2)
    assert list(training.splits.train) == language().train[:70]
    run.train(recipe, settings, tmp_path)
    assert read_config(tmp_path)["record"]["counts"] == {"train": 70, "dev": 30, "test": 30}
    monkeypatch.setattr(recipes, "get", lambda _: recipe)
    figures = run.evaluate(tmp_path).figures
    assert (figures["learned_from"], figures["measured_on"]) == (70, 30)


def test_finished_run_returns_at_once_and_other_settings_are_refused(trained):
    folder, model = trained
    before = (folder / "model.keras").stat().st_mtime_ns
    again = run.train(RECIPE, SETTINGS, folder)
    assert (folder / "model.keras").stat().st_mtime_ns == before
    assert again.answer(["dab"])[0].text == model.answer(["dab"])[0].text
    with pytest.raises(ValueError, match=r"other settings .*'units': \(24, 8\)"):
        run.train(RECIPE, dataclasses.replace(SETTINGS, units=8), folder)


def test_other_data_is_refused(trained):
    folder, _ = trained
    other = dataclasses.replace(RECIPE, load=lambda *_: dataclasses.replace(language(), test=language().dev))
    with pytest.raises(ValueError, match=r"other settings .*'data': \('\w{8}', '\w{8}'\)"):
        run.train(other, SETTINGS, folder)
    with pytest.raises(ValueError, match="expected what the model was trained on, made up"):
        run.evaluate(folder)


def test_damaged_progress_is_refused_with_a_way_out(trained, tmp_path):
    folder, _ = trained
    whole = (folder / "progress.npz").read_bytes()
    (tmp_path / "progress.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="expected a whole file; delete it to start anew"):
        run.train(RECIPE, SETTINGS, tmp_path)


def test_early_stopping_keeps_the_best(tmp_path):
    settings = dataclasses.replace(SETTINGS, learning_rate=0.0, epochs=9, patience=2, max_examples=64)
    run.train(RECIPE, settings, tmp_path)
    with np.load(tmp_path / "progress.npz") as stored:
        assert stored["scalars"].tolist()[:2] == [3, 0]  # best at the first epoch, two more without a better one


KILLED = """
import sys
sys.path.insert(0, {folder!r})
import dataclasses, pathlib
from test_run import RECIPE, SETTINGS, run
run.train(RECIPE, dataclasses.replace(SETTINGS, epochs=60, learning_rate=0.0, patience=99), pathlib.Path({target!r}))
"""


def test_killed_run_goes_on_where_it_was(tmp_path):
    code = KILLED.format(folder=__file__.rsplit("/", 1)[0], target=str(tmp_path / "run"))
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        deadline = time.time() + 120
        while not (tmp_path / "run/progress.npz").exists() and time.time() < deadline:
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    load(tmp_path / "run")  # whole, although the process was killed at some arbitrary moment
    with np.load(tmp_path / "run/progress.npz") as stored:
        done = int(stored["scalars"][0])
    settings = dataclasses.replace(SETTINGS, epochs=60, learning_rate=0.0, patience=99)
    starts, bars = [], []

    class Stop(Exception):
        pass

    def begin(self, epoch, logs=None):
        starts.append(epoch)
        bars.append((self.bar.n, self.bar.total))
        raise Stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run.ProgressBar, "on_epoch_begin", begin)
        with pytest.raises(Stop):
            run.train(RECIPE, settings, tmp_path / "run")
    assert starts == [done]
    steps = len(language().train) // settings.batch_size
    assert bars == [(done * steps, 60 * steps)]


def test_a_loss_that_is_no_number_stops_the_run_with_advice(tmp_path):
    settings = dataclasses.replace(SETTINGS, learning_rate=float("nan"), max_examples=64)
    with pytest.raises(FloatingPointError, match="the loss became nan in epoch 1: try a smaller learning_rate"):
        run.train(RECIPE, settings, tmp_path)


def test_settings_by_assignment():
    assert Settings().with_assignments(["units=8", "dropout=0.5", "cell=lstm"]) == Settings(
        units=8, dropout=0.5, cell="lstm"
    )
    with pytest.raises(ValueError, match="expected NAME=VALUE with a name among"):
        Settings().with_assignments(["unit=8"])
    for wrong in ("batch_size=0", "epochs=0", "patience=0", "units=-1"):
        with pytest.raises(ValueError, match=r"expected at least 1\. Received"):
            Settings().with_assignments([wrong])
    with pytest.raises(ValueError, match="dropout: expected a share"):
        Settings().with_assignments(["dropout=1"])
    with pytest.raises(ValueError, match=r"units: expected int\. Received: 'many'"):
        Settings().with_assignments(["units=many"])


def test_recipes_are_found_by_name():
    assert "pronounce" in recipes.names()
    assert recipes.get("pronounce").name == "pronounce"
    with pytest.raises(ValueError, match="recipe: expected one of"):
        recipes.get("base")


def test_words_too_long_to_answer_are_found_before_training(tmp_path):
    long = dataclasses.replace(language(), dev=[from_text("a" * 65, "A")])
    with pytest.raises(ValueError, match=r"development split: expected text of at most 64 places"):
        run.train(dataclasses.replace(RECIPE, load=lambda *_: long), SETTINGS, tmp_path)


def test_evaluate_needs_a_record(tmp_path, trained):
    trained[1].save(tmp_path / "bare")
    with pytest.raises(ValueError, match="expected the record of a training with 'recipe'"):
        run.evaluate(tmp_path / "bare")


def test_a_run_of_another_recipe_is_refused(trained):
    other = dataclasses.replace(RECIPE, name="another")
    with pytest.raises(ValueError, match=r"other settings .*'recipe': \('pronounce', 'another'\)"):
        run.train(other, SETTINGS, trained[0])
    Recipe.made.pop("another")
