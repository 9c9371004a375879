"""Models for numbers trained on toy tasks."""

import dataclasses

import pytest

from seqattn_tf.lite.targets import Label, Number
from seqattn_tf.models import load
from seqattn_tf.training import evaluation, recipes, run
from seqattn_tf.training.data import Splits, from_text
from seqattn_tf.training.data.corpora import numbers
from seqattn_tf.training.tasks.numbers import ADDS, FLIPS, NumberSettings, NumberTask

TOY = recipes.get("toy")


@pytest.mark.slow
def test_parity_is_exact_at_four_times_the_length(tmp_path):
    settings = dataclasses.replace(TOY.small, task="parity", epochs=4, num_examples=12_000)
    model = run.train(TOY, settings, tmp_path / "run")
    assert evaluation.evaluate(tmp_path / "run").metrics["accuracy"] == 1
    assert load(tmp_path / "run").answer(["1 0 1 1"])[0].text == model.answer(["1 0 1 1"])[0].text == "odd"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("task", sorted(numbers.TASKS))
def test_every_task_is_exact_at_four_times_the_length(task, seed, tmp_path):
    run.train(TOY, dataclasses.replace(TOY.settings, task=task, seed=seed), tmp_path / "run")
    assert evaluation.evaluate(tmp_path / "run").metrics["accuracy"] == 1


def test_numbers_and_labels_are_told_apart():
    for task, labels in (("sum", ()), ("compare", ("first", "same", "second")), ("parity", ("even", "odd"))):
        settings = NumberSettings(task=task, num_examples=200, batch_size=200)
        training = TOY.task.open(settings, run.open_splits(TOY, settings, None))
        assert getattr(training.model.target, "labels", ()) == labels
        assert isinstance(training.model.target, Label if labels else Number)
        [(inputs, right)] = training.batches(0).take(training.steps)
        assert {name: tensor.shape for name, tensor in inputs.items()} == {"text_ids": (200, 10)}
        assert right.shape == ((200,) if labels else (200, 1))
        assert right.dtype.is_floating == (task == "sum")


@pytest.mark.parametrize("part", ["dev", "test"])
@pytest.mark.parametrize("wrong", ["seven", "inf", "nan", "1e39"])
def test_a_bad_target_to_measure_on_is_refused_before_training(part, wrong):
    """An invalid number in the development or test split must be reported before the first epoch."""
    settings = NumberSettings(task="sum", num_examples=20, batch_size=20)
    splits = run.open_splits(TOY, settings, None)
    examples = [*getattr(splits, part)[:7], from_text("1 2", wrong)]
    received = rf"{part}.* split, target of '1 2': expected a finite number. Received: '{wrong}'"
    with pytest.raises(ValueError, match=received):
        TOY.task.open(settings, dataclasses.replace(splits, **{part: examples}))


def test_a_named_cell_has_its_own_sizes():
    def built(**settings):
        train = numbers.load(settings["task"], train=50, held=5).at_most(0).train
        return NumberTask().build(NumberSettings(**settings), train).network.encoder.arguments.items()

    assert ADDS.items() <= built(task="sum")
    assert FLIPS.items() <= built(task="parity")
    own = {"units": 5, "embedding": 3, "cell": "lstm", "activation": "sigmoid", "depth": 2}
    assert own.items() <= built(task="sum", **own)


def test_faults_are_said():
    with pytest.raises(ValueError, match=r"task: expected one of .*Received: 'product'"):
        NumberSettings(task="product")
    settings = NumberSettings(max_source_length=3)
    splits = Splits(
        [from_text("1 0", "odd"), from_text("0", "even")],
        [from_text("1 0 1 0", "even")],
        [from_text("1", "odd")],
        "made",
    )
    with pytest.raises(
        ValueError, match=r"expected text of at most 3 positions \(max_source_length for text\)\. Received: 4"
    ):
        NumberTask().open(settings, splits.at_most(0))
