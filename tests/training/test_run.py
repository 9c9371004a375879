"""Training on small generated data: pronounce letters in reverse order, or detect one."""

import dataclasses
import json

import pytest
from support import reverse
from support.sees import RECIPE, SETTINGS, sentences
from support.step_by_step import answering_eagerly, unimproved

from seqattn_tf.models.base import read_config
from seqattn_tf.training import evaluation, recipes, run
from seqattn_tf.training.checkpoints import Checkpoints
from seqattn_tf.training.data import from_text
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.tasks import ClassifyTask, Settings

pytestmark = pytest.mark.usefixtures("as_traced")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "sees"
    with answering_eagerly(), unimproved():
        return folder, run.train(RECIPE, SETTINGS, folder)


def test_a_decoder_learns_its_rule_on_words_it_has_not_seen_and_to_look_backwards(reversing):
    assert reverse.RECIPE.task.measure(reversing, reverse.language().test).metrics["symbol_error_rate"] < 0.1
    [answer] = reversing.answer(["abcd"])
    assert answer.text == "D C B A"
    assert answer.attention["text"].weights.argmax(-1).tolist() == [3, 2, 1, 0]


def test_record_says_where_the_model_comes_from(trained):
    folder, model = trained
    record = read_config(folder)["record"]
    assert record["recipe"] == "classify"
    assert record["settings"] == dataclasses.asdict(SETTINGS)
    assert record["data"] == "made up"
    assert record["summary"] == "sees a letter"
    assert record["counts"] == {"train": len(sentences().train), "dev": 8, "test": 8}
    assert record["examples"] == [{"text": example.key} for example in sentences().dev[:6]]
    assert record["references"] == [[example.target] for example in sentences().dev[:6]]
    figures = RECIPE.task.measure(model, sentences().dev).metrics
    assert record["metrics"]["dev_accuracy"] == pytest.approx(figures["accuracy"], abs=1e-4)


def test_the_model_has_the_running_mean_of_weights_and_its_training_goes_on_from_the_last(tmp_path):
    with answering_eagerly(), unimproved():
        model = run.train(RECIPE, dataclasses.replace(SETTINGS, epochs=1, ema_decay=0.9, max_examples=40), tmp_path)
    state = Checkpoints(tmp_path / run.CHECKPOINTS).newest().arrays
    pairs = [pair for pair in zip(model.network.variables, state, strict=False) if pair[0].trainable]
    assert [mean.shape for mean, _ in pairs] == [last.shape for _, last in pairs]
    assert all((mean.numpy() != last).any() for mean, last in pairs)


@dataclasses.dataclass(frozen=True)
class Counting(ClassifyTask):
    """Returns the number of examples in place of baselines."""

    def baselines(self, model, train, examples):
        return {"learned_from": len(train), "measured_on": len(examples)}


def test_no_more_than_so_many_examples_are_learned_from_and_recorded(tmp_path, monkeypatch):
    recipe = dataclasses.replace(RECIPE, task=Counting())
    settings = dataclasses.replace(SETTINGS, max_examples=20, epochs=1)
    training = recipe.task.open(settings, run.open_splits(recipe, settings, None))
    assert (training.rows.tolist(), training.steps) == (list(range(20)), 2)
    assert list(training.splits.train) == sentences().train[:20]
    run.train(recipe, settings, tmp_path)
    assert read_config(tmp_path)["record"]["counts"] == {"train": 20, "dev": 8, "test": 8}
    monkeypatch.setattr(recipes, "get", lambda _: recipe)
    figures = evaluation.evaluate(tmp_path).metrics
    assert (figures["learned_from"], figures["measured_on"]) == (20, 8)


def test_finished_run_returns_at_once_and_other_settings_are_refused(trained):
    folder, model = trained
    before = (folder / "model.keras").stat().st_mtime_ns
    again = run.train(RECIPE, SETTINGS, folder)
    assert (folder / "model.keras").stat().st_mtime_ns == before
    assert again.answer(["a b"])[0].text == model.answer(["a b"])[0].text
    with pytest.raises(ValueError, match=r"other settings .*'units': \(6, 8\)"):
        run.train(RECIPE, dataclasses.replace(SETTINGS, units=8), folder)


def test_other_data_is_refused(trained, monkeypatch):
    folder, _ = trained
    other = dataclasses.replace(RECIPE, load=lambda *_: dataclasses.replace(sentences(), test=sentences().dev))
    with pytest.raises(ValueError, match=r"other settings .*'data': \('\w{8}', '\w{8}'\)"):
        run.train(other, SETTINGS, folder)
    monkeypatch.setattr(recipes, "get", lambda _: other)
    with pytest.raises(ValueError, match=r"data: expected made up .*, which the model was trained on"):
        evaluation.evaluate(folder)


def test_early_stopping_keeps_the_best(tmp_path):
    settings = dataclasses.replace(SETTINGS, learning_rate=0.0, epochs=9, patience=2)
    run.train(RECIPE, settings, tmp_path)
    progress = Checkpoints(tmp_path / "checkpoints").newest().about["progress"]
    assert (progress["epoch"], progress["best_epoch"]) == (3, 0)  # two more epochs without an improvement
    assert len(json.loads((tmp_path / "history.json").read_text())) == 3


def test_a_loss_that_is_no_number_stops_the_run_with_advice(tmp_path):
    settings = dataclasses.replace(SETTINGS)
    object.__setattr__(settings, "learning_rate", float("nan"))  # settings would reject this value
    with pytest.raises(
        FloatingPointError,
        match=r"the (loss|gradient) became nan in epoch 1, step \d: the weight .* contains NaN or infinity; try",
    ):
        run.train(RECIPE, settings, tmp_path)


def test_settings_by_assignment():
    assert Settings().with_assignments(["units=8", "dropout=0.5", "cell=lstm"]) == Settings(
        units=8, dropout=0.5, cell="lstm"
    )
    with pytest.raises(ValueError, match="expected NAME=VALUE with one of the names"):
        Settings().with_assignments(["unit=8"])
    for wrong in ("batch_size=0", "epochs=0", "patience=0", "units=-1"):
        with pytest.raises(ValueError, match=r"expected at least 1\. Received"):
            Settings().with_assignments([wrong])
    with pytest.raises(ValueError, match="dropout: expected a fraction"):
        Settings().with_assignments(["dropout=1"])
    with pytest.raises(ValueError, match=r"units: expected int\. Received: 'many'"):
        Settings().with_assignments(["units=many"])


def test_recipes_are_found_by_name():
    assert "pronounce" in recipes.names()
    assert recipes.get("pronounce").name == "pronounce"
    with pytest.raises(ValueError, match="recipe: expected one of"):
        recipes.get("base")


def test_words_too_long_to_answer_are_found_before_training(tmp_path):
    long = dataclasses.replace(sentences(), dev=[from_text("a " * 161, "yes")])
    with pytest.raises(ValueError, match=r"development split: expected text of at most 160 positions"):
        run.train(dataclasses.replace(RECIPE, load=lambda *_: long), SETTINGS, tmp_path)


def test_evaluate_needs_a_record(tmp_path, trained):
    trained[1].save(tmp_path / "bare")
    with pytest.raises(ValueError, match="expected a training record with 'recipe'"):
        evaluation.evaluate(tmp_path / "bare")


def test_a_run_of_another_recipe_is_refused(trained):
    other = dataclasses.replace(RECIPE, name="another")
    with pytest.raises(ValueError, match=r"other settings .*'recipe': \('classify', 'another'\)"):
        run.train(other, SETTINGS, trained[0])
    Recipe.made.pop("another")
