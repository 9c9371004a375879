"""Steps compiled by XLA: the same training results, padded batches, and a choice that is stored in the run."""

import dataclasses
import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.killed import Killed, assert_same, figures, held, kill_after
from support.reverse import RECIPE, language
from support.reverse import SETTINGS as REVERSE
from support.sees import RECIPE as SEES
from support.sees import SETTINGS
from support.slow import slow
from support.step_by_step import answering_eagerly, unimproved, untraced

from seqattn_tf.cli import main
from seqattn_tf.encoders.heads import HeadsEncoder
from seqattn_tf.models.base import read_config
from seqattn_tf.training import recipes, run, xla
from seqattn_tf.training.checkpoints import Progress, state_of
from seqattn_tf.training.data import Splits, from_text
from seqattn_tf.training.distribution import open_strategy
from seqattn_tf.training.run import CheckpointPolicy

pytestmark = pytest.mark.usefixtures("as_traced")

SMALL = dataclasses.replace(SETTINGS, dropout=0.0)


def opened(settings=SMALL, recipe=SEES):
    """Return a training that is ready to start, and its progress."""
    keras.utils.set_random_seed(settings.seed)
    training = recipe.task.open(settings, recipe.load(None, settings))
    run.compile_network(training)
    return training, Progress()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same training without XLA and with it."""
    folders = {xla: tmp_path_factory.mktemp("runs") / xla for xla in ("off", "on")}
    with answering_eagerly(), unimproved():
        for choice, folder in folders.items():
            run.train(SEES, SMALL, folder, xla=choice)
    return folders


def test_steps_are_compiled_and_learn_the_same_of_padded_batches(runs):
    plain, compiled = ([logs["loss"] for logs in figures(folder)] for folder in runs.values())
    np.testing.assert_allclose(compiled, plain, rtol=1e-5)
    training, _ = opened()
    widths = []
    for chosen in (False, True):
        xla.use(training, chosen)
        widths.append({inputs["text_ids"].shape[1] for inputs, _ in training.batches(0).take(4)})
    assert len(widths[0]) > 1
    assert widths[1] == {8}


def test_padding_is_harmless():
    """Loss and gradients of a decoder must not depend on the padding of sources and targets."""
    training, _ = opened(dataclasses.replace(REVERSE, label_smoothing=0.1), RECIPE)
    network, found = training.model.network, []
    for chosen in (1, 5):
        for column in training.columns.all:
            column.round_up(chosen)
        inputs, right = next(iter(training.batches(0)))
        with tf.GradientTape() as tape:
            loss = training.loss(right, network(inputs, training=True))
        gradients = tape.gradient(loss, network.trainable_variables)
        found.append((loss, [tf.convert_to_tensor(gradient) for gradient in gradients]))
        assert all(tensor.shape[1] % chosen == 0 for tensor in (*inputs.values(), right))
    tf.nest.map_structure(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), *found)


def test_a_run_remembers_that_it_is_compiled(runs):
    for choice, folder in runs.items():
        assert held(folder).about["xla"] == choice
        assert read_config(folder)["record"]["xla"] == choice


@pytest.mark.parametrize("choice", [slow("on"), "off"])
def test_what_auto_chose_is_stored_trains_as_if_it_was_told_and_goes_on_after_a_kill(
    choice, runs, tmp_path, monkeypatch
):
    def measured(training, progress):
        xla.use(training, choice == "on")
        xla._seconds(training, progress, rounds=1, most=1)
        return choice

    monkeypatch.setattr(xla, "_faster", measured)
    kill_after(4, monkeypatch)
    with untraced(choice == "off"):  # equivalent to the unoptimized graph of `runs`
        with pytest.raises(Killed):
            run.train(SEES, SMALL, tmp_path, xla="auto", keeping=CheckpointPolicy(steps=2))
        monkeypatch.setattr(xla, "_faster", None)  # must not be measured again: the checkpoint contains the choice
        run.train(SEES, SMALL, tmp_path, xla="auto")
    assert held(tmp_path).about["xla"] == read_config(tmp_path)["record"]["xla"] == choice
    assert_same(tmp_path, runs[choice])


def test_after_a_kill_steps_are_compiled_if_that_was_chosen(tmp_path, monkeypatch):
    """Only requests for compilation are recorded; nothing is compiled."""
    used = []
    monkeypatch.setattr(xla, "use", lambda training, compiled: used.append(compiled))
    monkeypatch.setattr(xla, "_seconds", lambda *_, **__: 1.0)
    monkeypatch.setattr(xla, "_faster", lambda *_: "on")
    with monkeypatch.context() as patch, untraced():
        kill_after(2, patch)
        with pytest.raises(Killed):
            run.train(SEES, SMALL, tmp_path, xla="auto", keeping=CheckpointPolicy(steps=1))
    assert held(tmp_path).about["xla"] == "on"
    monkeypatch.setattr(xla, "_faster", None)
    with monkeypatch.context() as patch, untraced():
        kill_after(1, patch)
        with pytest.raises(Killed):
            run.train(SEES, SMALL, tmp_path, xla="auto")
    assert used == [True, True]


def test_auto_takes_what_is_faster_and_touches_nothing(monkeypatch, capsys):
    training, progress = opened()
    before = [variable.numpy() for variable in state_of(training.model.network)]
    with untraced():  # the slow tests measure compiled steps
        assert xla.settle(training, "auto", progress) in ("on", "off")
    after = [variable.numpy() for variable in state_of(training.model.network)]
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)
    assert re.fullmatch(r"xla: (on|off), \d+ ms per step with XLA, \d+ ms without\n", capsys.readouterr().out)
    for seconds, chosen, width in (({True: 1, False: 2}, "on", 8), ({True: 2, False: 1}, "off", 1)):
        monkeypatch.setattr(xla, "_seconds", lambda t, *_, s=seconds: s[t.model.network._jit_compile])
        assert xla.settle(training, "auto", progress) == chosen
        assert training.model.network._jit_compile == (chosen == "on")
        assert {column.multiple for column in training.columns.inputs.values()} == {width}


def test_another_choice_than_that_of_the_run_is_refused(runs):
    with pytest.raises(ValueError, match=r"other settings .*'xla': \('on', 'off'\)"):
        run.train(SEES, SMALL, runs["on"], xla="off")
    with pytest.raises(ValueError, match=r"other settings .*'xla': \('off', 'on'\)"):
        run.train(SEES, SMALL, runs["off"], xla="on")
    assert xla.remembered({}) == "off"  # a run of an earlier version
    assert xla.ask("auto", runs["on"], None, run.ALONE) == "on"  # by its record, if there are no checkpoints


@pytest.fixture
def uncompilable(monkeypatch):
    """A network whose computation calls Python."""
    usual = HeadsEncoder.embed

    def embed(self, tensors, training=False):
        ids = tf.numpy_function(lambda ids: ids, [tensors["text_ids"]], tf.int32)
        return usual(self, {"text_ids": tf.ensure_shape(ids, tensors["text_ids"].shape)}, training)

    monkeypatch.setattr(HeadsEncoder, "embed", embed)


def test_a_network_that_does_not_compile(uncompilable, monkeypatch, capsys):
    training, progress = opened()
    seconds = xla._seconds
    before = [variable.numpy() for variable in state_of(training.model.network)]
    expected = (
        r"xla: expected a network that XLA can compile\. Received: .*unsupported operations.*PyFunc.*; use --xla off"
    )
    with pytest.raises(xla.NotCompiled, match=expected):
        xla.settle(training, "on", progress)
    monkeypatch.setattr(xla, "_seconds", lambda t, *how: seconds(t, *how) if t.model.network.jit_compile else 1.0)
    assert xla.settle(training, "auto", progress) == "off"
    assert re.fullmatch(r"xla: off\. " + expected + ".*\n", capsys.readouterr().out)
    for a, b in zip(before, state_of(training.model.network), strict=True):
        np.testing.assert_array_equal(a, b.numpy())


@pytest.mark.slow
def test_lines_are_folded_in_shapes_that_xla_does_not_know():
    def lines(_folder=None, _settings=None):
        rows = {part: getattr(language(), part) for part in ("train", "dev", "test")}
        doubled = [[from_text(f"{row.key}\n{row.key}", row.target) for row in part] for part in rows.values()]
        return Splits(*doubled, "made up")

    recipe = dataclasses.replace(RECIPE, load=lines)
    training, progress = opened(dataclasses.replace(REVERSE, encoder="hierarchical"), recipe)
    with pytest.raises(ValueError, match=r"line_encoder.*/ScatterNd\S* with op ScatterNd"):
        xla.settle(training, "on", progress)


def test_what_cannot_be_asked(tmp_path, capsys):
    with pytest.raises(ValueError, match=r"xla: expected one of \('auto', 'on', 'off'\)\. Received: 'yes'"):
        run.train(SEES, SMALL, tmp_path, xla="yes")
    spread = open_strategy("mirrored")
    with pytest.raises(ValueError, match=r"xla: expected off or auto with a strategy\. Received: on"):
        run.train(SEES, SMALL, tmp_path, xla="on", distribution=spread)
    assert xla.ask("auto", tmp_path, None, spread) == "off"
    assert capsys.readouterr().out.endswith("xla: off, because it is not supported with a strategy\n")
    assert xla.ask("off", tmp_path, None, spread) == "off"


def test_a_finished_run_compiles_nothing(runs, monkeypatch):
    monkeypatch.setattr(xla, "_seconds", None)
    for choice, folder in runs.items():
        run.train(SEES, SMALL, folder, xla=choice)
        run.train(SEES, SMALL, folder, xla="auto")


def test_the_command_line_says_it(monkeypatch, tmp_path):
    asked = []

    def train(*_, xla, **__):
        asked.append(xla)
        raise ValueError("enough")

    monkeypatch.setattr(run, "train", train)
    monkeypatch.setattr(recipes, "get", lambda _: SEES)
    for more in ([], ["--xla", "auto"], ["--xla", "on"]):
        assert main(["train", "classify", "--run", str(tmp_path), *more]) == 2
    assert asked == ["off", "auto", "on"]
