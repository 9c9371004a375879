"""Training on a small made-up language: say each letter, in reverse."""

import dataclasses
import json

import pytest
from support.reverse import RECIPE, SETTINGS, language

from seqattn_tf.models.base import read_config
from seqattn_tf.training import recipes, run
from seqattn_tf.training.checkpoints import Checkpoints
from seqattn_tf.training.data import from_text
from seqattn_tf.training.metrics import ERRORS
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.tasks import PairTask, Settings


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
    assert record["references"] == [[example.target] for example in language().dev[::5]]
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


def test_early_stopping_keeps_the_best(tmp_path):
    settings = dataclasses.replace(SETTINGS, learning_rate=0.0, epochs=9, patience=2, max_examples=64)
    run.train(RECIPE, settings, tmp_path)
    progress = Checkpoints(tmp_path / "checkpoints").newest().about["progress"]
    assert (progress["epoch"], progress["best_epoch"]) == (3, 0)  # two more without a better one
    assert len(json.loads((tmp_path / "history.json").read_text())) == 3


def test_a_loss_that_is_no_number_stops_the_run_with_advice(tmp_path):
    settings = dataclasses.replace(SETTINGS, max_examples=64)
    object.__setattr__(settings, "learning_rate", float("nan"))  # which settings refuse
    with pytest.raises(
        FloatingPointError,
        match=r"the (loss|gradient) became nan in epoch 1, step \d: the weight .* is no number; try",
    ):
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
