"""Rearrangers trained on toy tasks: sort, copy and recall."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.step_by_step import untraced

from seqattn_tf.attention.losses import alignment_loss
from seqattn_tf.models import MemoryCellNetwork, PointerNetwork, Rearranger, Seq2Seq, load
from seqattn_tf.training import evaluation, recipes, run
from seqattn_tf.training.data.corpora import sequences
from seqattn_tf.training.tasks.numbers import NumberSettings, NumberTask

pytestmark = pytest.mark.usefixtures("as_traced")

TOY = recipes.get("toy")
QUICK = {
    "num_examples": 64,
    "batch_size": 32,
    "epochs": 1,
    "max_length": 3,
    "units": 6,
    "embedding": 4,
    "warmup_steps": 1,
}


@pytest.mark.parametrize(
    ("task", "cell"),
    [("sort", "gru"), ("copy", "memory"), ("recall", "memory")],
)
@pytest.mark.slow
def test_every_task_trains_saves_reloads_and_answers(task, cell, tmp_path, monkeypatch):
    few = dataclasses.replace(
        TOY, load=lambda data, settings: sequences.load(task, settings.max_length, train=settings.num_examples, held=20)
    )
    monkeypatch.setattr(recipes, "get", lambda _: few)
    settings = dataclasses.replace(TOY.small, task=task, cell=cell, memory_slots=4, memory_width=3, **QUICK)
    model = run.train(few, settings, tmp_path / "run")
    asked = {"sort": "9 3 71", "copy": "b a", "recall": "a b ? a"}[task]
    [answer], [again] = model.answer([asked]), load(tmp_path / "run").answer([asked])
    assert (answer.text, answer.score) == (again.text, pytest.approx(again.score, abs=1e-5))
    assert isinstance(model, Rearranger)
    assert isinstance(model.network, PointerNetwork if task == "sort" else MemoryCellNetwork)
    if task == "sort":
        assert set(answer.tokens) <= {"9", "3", "71"}
    assert model.answer([""])[0].text == ""
    report = evaluation.evaluate(tmp_path / "run")
    assert set(report.metrics) == {"accuracy", "loss"}
    assert [label for label, _, _ in report.groups["accuracy by length"]] == ["2", "3", "4", "6", "12"]
    assert model.explain(asked) is not None


def built(**settings):
    made = NumberSettings(**settings)
    return NumberTask().build(made, sequences.load(made.task, train=100, held=8).at_most(0).train)


def test_networks_by_task_and_by_name():
    assert {"units": 64, "cell": "lstm", "point_once": True}.items() <= built(task="sort").network.settings.items()
    assert {"units": 64, "cell": "memory", "memory_slots": 9}.items() <= built(
        task="recall", memory_slots=9
    ).network.settings.items()
    assert {"units": 9, "embedding": 32}.items() <= built(task="sort", units=9).network.settings.items()
    named = built(task="copy", network="pointer", cell="gru", units=5, embedding=3, point_once=False)
    assert {"units": 5, "cell": "gru", "point_once": False}.items() <= named.network.settings.items()
    attention = built(task="copy", network="attention", attention_supervision=0.5)
    assert isinstance(attention, Seq2Seq)
    assert attention.network.attention_supervision == 0.5


def opened(attention_supervision, **settings):
    """Return a training of an attention network for copying, and a function for the weight at the true positions."""
    settings = NumberSettings(
        task="copy", network="attention", cell="gru", units=16, embedding=8,
        attention_supervision=attention_supervision, batch_size=32,
        label_smoothing=0.0, learning_rate=1e-2, warmup_steps=1, **settings,
    )  # fmt: skip
    training = NumberTask().open(settings, run.open_splits(TOY, settings, None))
    run.compile_network(training)
    return training


@pytest.mark.slow
@pytest.mark.parametrize("attention_supervision", [0.0, 1.0])
def test_attention_that_is_told_looks_at_the_true_places(attention_supervision):
    training = opened(attention_supervision, num_examples=640, max_length=5)
    network = training.model.network
    tensors, _ = next(iter(training.batches(0)))

    def mass():
        true = network.true_places(tensors).numpy()
        weights = network.aligned(tensors)[1].numpy()
        return float((true * weights).sum() / true.sum())

    before = mass()
    network.fit(training.batches(0), epochs=2, steps_per_epoch=training.steps, verbose=0)
    # Symbols alone do not train the attention as quickly.
    assert (mass() > before + 0.15) == (attention_supervision > 0)


def test_the_loss_of_a_training_step_has_what_attention_is_told():
    losses = {}
    for attention_supervision in (0.0, 2.0):
        keras.utils.set_random_seed(1)
        training = opened(attention_supervision, num_examples=64, max_length=2)
        network = training.model.network
        tensors, right = next(iter(training.batches(0)))
        told = alignment_loss(network.aligned(tensors)[1], network.true_places(tensors))
        with untraced():
            losses[attention_supervision] = network.train_on_batch(tensors, right)
    assert losses[2.0] - losses[0.0] == pytest.approx(2 * float(tf.reduce_mean(told)), rel=1e-3)


def test_a_guided_network_is_saved_with_its_weight(tmp_path):
    model = built(task="copy", network="attention", attention_supervision=0.5, cell="gru", units=6, embedding=4)
    model.save(tmp_path)
    again = load(tmp_path)
    assert again.network.attention_supervision == 0.5
    assert again.answer(["a b"])[0].text == model.answer(["a b"])[0].text


def test_all_symbols_are_known_on_either_side():
    model = built(task="recall")
    assert model.inputs["text"].rules == model.target.rules
    assert {"?", "a", "z"} <= set(model.target.rules.symbols)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"task": "shuffle"}, r"task: expected one of \['compare', 'copy', .*Received: 'shuffle'"),
        ({"task": "sort", "network": "tape"}, r"network: expected one of \['auto', 'pointer', .*Received: 'tape'"),
        (
            {"task": "sort", "attention_supervision": 0.5},
            r"attention_supervision: expected 0 unless network=attention\. Received: 0\.5",
        ),
        ({"task": "sort", "attention_supervision": -1.0}, r"attention_supervision: expected at least 0\. Received: -1"),
        (
            {"task": "sort", "label_smoothing": 0.1},
            r"label_smoothing: expected 0 for a pointer network\. Received: 0\.1",
        ),
        ({"task": "copy", "memory_slots": 0}, r"memory_slots: expected at least 1\. Received: 0"),
    ],
)
def test_faults_are_said(settings, message):
    with pytest.raises(ValueError, match=message):
        built(**settings)


def test_too_long_a_text_is_refused_and_unknown_symbols_are_not_read():
    model = built(task="sort", max_source_length=40)
    with pytest.raises(ValueError, match=r"text: expected at most 40 .*Received: 41"):
        model.answer(["1 " * 41])
    [answer, without] = model.answer(["5 x 3", "5 3"])
    assert (answer.text, answer.score) == (without.text, pytest.approx(without.score, abs=1e-5))
    assert answer.attention["text"].weights[:, 1].max(initial=0) == 0
    found = model.log_likelihood(tf.constant(["x"]), text=tf.constant(["5 x 3"]))
    assert np.isneginf(found.numpy()).all()


@pytest.mark.slow
def test_the_lengths_of_training_are_sorted(tmp_path):
    settings = dataclasses.replace(TOY.settings, task="sort", epochs=6, learning_rate=5e-3)
    run.train(TOY, settings, tmp_path / "run")
    groups = evaluation.evaluate(tmp_path / "run").groups["accuracy by length"]
    within = [(count, value) for label, count, value in groups if int(label) <= settings.max_length]
    assert sum(count * value for count, value in within) >= 0.98 * sum(count for count, _ in within)
