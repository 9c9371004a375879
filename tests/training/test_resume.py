"""A training that was killed resumes with the next step and ends with exactly the same weights."""

import dataclasses
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support import forked, reverse
from support.killed import Killed, assert_same, figures, held, kill_after
from support.sees import RECIPE, WHOLE, sentences
from support.slow import slow
from support.step_by_step import answering_eagerly, unimproved, untraced

from seqattn_tf.models import load
from seqattn_tf.training import evaluation, recipes, run
from seqattn_tf.training.callbacks import SaveCheckpoints
from seqattn_tf.training.interrupts import Stop, Stopped
from seqattn_tf.training.recipes.base import load_pairs
from seqattn_tf.training.resuming import check_same_run
from seqattn_tf.training.run import CheckpointPolicy

pytestmark = pytest.mark.usefixtures("as_traced")


def train_broken(recipe, settings, folder, moments, monkeypatch, data=None):
    """Train, and kill each process after a number of steps."""
    for steps in moments:
        with monkeypatch.context() as patch:
            kill_after(steps, patch)
            with pytest.raises(Killed):
                run.train(recipe, settings, folder, data, keeping=CheckpointPolicy(steps=2))
    run.train(recipe, settings, folder, data, keeping=CheckpointPolicy(steps=2))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "whole"
    with answering_eagerly(), unimproved():
        run.train(RECIPE, WHOLE, folder)
    return folder


@pytest.mark.parametrize("moments", [slow([3, 5]), [7]])
def test_the_same_weights_after_kills_in_the_first_epoch_or_later(moments, whole, tmp_path, monkeypatch):
    with unimproved():  # as for `whole`
        train_broken(RECIPE, WHOLE, tmp_path, moments, monkeypatch)
    assert_same(whole, tmp_path)


@pytest.mark.slow
def test_a_decoder_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    run.train(reverse.RECIPE, reverse.SHORT, tmp_path / "whole")
    train_broken(reverse.RECIPE, reverse.SHORT, tmp_path / "broken", [4, 11], monkeypatch)
    assert_same(tmp_path / "whole", tmp_path / "broken")


def test_another_seed_gives_other_weights(whole, tmp_path):
    run.train(RECIPE, dataclasses.replace(WHOLE, seed=4), tmp_path)
    assert any((a != b).any() for a, b in zip(held(whole).arrays, held(tmp_path).arrays, strict=True))


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("moments", [slow([5, 6]), [5]])
def test_data_on_disk_go_on_as_exactly(moments, tmp_path, monkeypatch):
    """Kills within a window; in the slow case, also between two windows and after more than an epoch."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("seqattn_tf.training.data.windows.WINDOW", 1000)
    texts = [" ".join(random.Random(n).choices("abcdefg", k=1 + n % 7)) for n in range(400)]
    rows = [f"{text}\t{'yes' if 'a' in text else 'no'}\n" for text in dict.fromkeys(texts)]
    (tmp_path / "words.tsv").write_text("".join(rows))
    settings = dataclasses.replace(
        WHOLE, epochs=len(moments), batch_size=32, text_column="0", target_column="1", stream="always"
    )
    pattern = str(tmp_path / "w*.tsv")
    recipe = dataclasses.replace(RECIPE, load=load_pairs)
    run.train(recipe, settings, tmp_path / "whole", pattern)
    train_broken(recipe, settings, tmp_path / "broken", moments, monkeypatch, pattern)
    assert_same(tmp_path / "whole", tmp_path / "broken")
    assert len(list((tmp_path / "cache" / "seqattn_tf" / "corpora").glob("*/0*.jsonl"))) > 3
    monkeypatch.setattr(recipes, "get", lambda _: recipe)
    assert evaluation.evaluate(tmp_path / "whole").metrics  # the pattern is stored in the run


OTHERS = {
    "char_lm": {"sequence_length": 16, "dropout": 0.2},
    "word_lm": {"softmax": "sampled", "num_sampled": 4, "min_count": 1},
    "transduce": {"align": "hard"},
    "toy": {},
    "caption": {},
    "answer": {},
}


@slow
@pytest.mark.parametrize("name", OTHERS)
def test_other_systems_go_on_as_exactly(name, tmp_path, monkeypatch):
    recipe = recipes.get(name)
    data = None
    if name.endswith("_lm"):
        data = tmp_path / "text"
        data.mkdir()
        generator = random.Random(0)
        words = ["the/a", "cat/n", "sat/v", "on/p", "mat/n", "two/c"]
        sentences = [" ".join(generator.choices(words, k=6)) for _ in range(300)]
        (data / "text.txt").write_text("\n".join(sentences))
    sizes = {"units": 8, "embedding": 8, "batch_size": 16, "epochs": 2, "max_examples": 100, "patience": 9}
    settings = dataclasses.replace(recipe.small, **sizes, **OTHERS[name])
    run.train(recipe, settings, tmp_path / "whole", data or stories(name, tmp_path))
    train_broken(recipe, settings, tmp_path / "broken", [3, 3], monkeypatch, data or stories(name, tmp_path))
    assert_same(tmp_path / "whole", tmp_path / "broken")


def stories(name, folder):
    """Write a few stories about one location, for `answer`."""
    if name != "answer":
        return None
    rows = [f"{who} is in the {where}.,Where is {who}?,{where}" for who in "abcdefgh" for where in ("hall", "kitchen")]
    path = folder / "stories.csv"
    path.write_text("\n".join(["story,question,answer", *rows * 9]))
    return path


CHILD = """
import pathlib, sys
sys.path.insert(0, sys.argv[2])
from support.sees import RECIPE, WHOLE
from support.step_by_step import unimproved
from seqattn_tf.training import run
with unimproved():
    run.train(RECIPE, WHOLE, pathlib.Path(sys.argv[1]), keeping=run.CheckpointPolicy(steps=3))
"""


def start(folder):
    tests = str(Path(__file__).parents[1])
    return forked.Popen(
        [sys.executable, "-c", CHILD, str(folder), tests], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def wait_for(folder, beginning, process):
    deadline = time.time() + 120
    while not list(folder.glob(f"checkpoints/{beginning}*.npz")) and process.poll() is None:
        assert time.time() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_a_killed_process_goes_on_to_the_same_weights(whole, tmp_path):
    process = start(tmp_path)
    wait_for(tmp_path, "00000-00000003", process)
    process.kill()
    process.wait()
    with unimproved():  # as for `whole`
        run.train(RECIPE, WHOLE, tmp_path, keeping=CheckpointPolicy(steps=3))
    assert_same(whole, tmp_path)


def test_a_signal_is_heeded_after_the_step_or_while_it_is_measured_and_no_step_is_lost(whole, tmp_path, monkeypatch):
    step, measure, told = SaveCheckpoints.on_train_batch_end, type(RECIPE.task).measure, []

    def tell(moment):
        if moment not in told:
            told.append(moment)
            os.kill(os.getpid(), signal.SIGTERM)

    def stepped(self, batch, logs=None):
        if self.progress.step == 2:
            tell("step")
        step(self, batch, logs)

    def measured(self, *given, **more):
        tell("measure")
        return measure(self, *given, **more)

    monkeypatch.setattr(SaveCheckpoints, "on_train_batch_end", stepped)
    monkeypatch.setattr(type(RECIPE.task), "measure", measured)
    with untraced():  # equivalent to the unoptimized graph of `whole`
        for done in (3, 5):  # of the five steps of the first epoch
            with pytest.raises(Stopped) as stopped:
                run.train(RECIPE, WHOLE, tmp_path)
            assert stopped.value.number == signal.SIGTERM
            progress = held(tmp_path).about["progress"]
            assert (progress["epoch"], progress["step"]) == (0, done)
        run.train(RECIPE, WHOLE, tmp_path)
    assert told == ["step", "measure"]
    assert_same(whole, tmp_path)


def test_a_second_signal_ends_at_once():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background processes may have no such handler
    try:
        with Stop() as stop:
            signal.raise_signal(signal.SIGINT)
            assert stop.asked == signal.SIGINT
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_more_epochs_go_on_and_fewer_are_refused(whole, tmp_path):
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    run.train(RECIPE, dataclasses.replace(WHOLE, epochs=3), tmp_path)
    assert figures(tmp_path)[:2] == figures(whole)
    assert len(figures(tmp_path)) == 3
    with pytest.raises(ValueError, match=r"other settings .*'epochs': \(3, 2\)"):
        run.train(RECIPE, WHOLE, tmp_path)


def test_another_vocabulary_is_refused_although_the_data_are_the_same(whole, monkeypatch):
    monkeypatch.setattr("seqattn_tf.training.run.vocabulary_of", lambda _: "another")
    with pytest.raises(ValueError, match="expected the vocabulary that training started with"):
        run.train(RECIPE, WHOLE, whole)


def test_a_run_begins_with_the_model_of_another(whole, tmp_path):
    other = dataclasses.replace(RECIPE, load=lambda *_: dataclasses.replace(sentences(), train=sentences().train[:24]))
    settings = dataclasses.replace(WHOLE, epochs=1, learning_rate=0.0, ema_decay=0.0, weight_decay=0.0)
    tuned = run.train(other, settings, tmp_path / "tuned", init_from=whole)
    for a, b in zip(tuned.network.get_weights(), load(whole).network.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)  # equal because of a learning rate of 0
    assert tuned.inputs["text"].rules == load(whole).inputs["text"].rules
    with pytest.raises(ValueError, match=r"other settings .*'init_from'"):
        run.train(other, settings, tmp_path / "tuned")
    with pytest.raises(ValueError, match=r"do not change the network \(stored, given\): .*'units': \(6, 8\)"):
        run.train(other, dataclasses.replace(settings, units=8), tmp_path / "wide", init_from=whole)
    with pytest.raises(ValueError, match="init_from: expected a run of another"):
        run.train(dataclasses.replace(other, name="another"), settings, tmp_path / "other", init_from=whole)
    type(RECIPE).made.pop("another")


def test_more_epochs_of_data_in_an_order_are_another_training(tmp_path):
    """Their epochs are parts of the data: with more epochs, every part is different."""
    about = {"recipe": "r", "settings": {"epochs": 2}, "data": "d", "init_from": "", "xla": "off", "soft_targets": ""}
    before, more = SimpleNamespace(about=about), {**about, "settings": {"epochs": 3}}
    check_same_run(tmp_path, before, more, SimpleNamespace(ordered=False))
    with pytest.raises(ValueError, match=r"other settings .*'epochs': \(2, 3\)"):
        check_same_run(tmp_path, before, more, SimpleNamespace(ordered=True))
