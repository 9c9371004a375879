"""Trainings for a machine without TensorFlow: the steps that JAX runs equal those of `fit`, and give a run."""

import ast
import dataclasses
import doctest
import json
import lzma
import random
import runpy
import shutil
import sys
import types
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.sees import RECIPE, WHOLE
from support.slow import slow
from support.step_by_step import answering_eagerly, untraced

from seqattn_tf.core.columns import LazyColumn
from seqattn_tf.models import load
from seqattn_tf.models.base import read_config
from seqattn_tf.training import recipes, xla
from seqattn_tf.training.checkpoints import state_of
from seqattn_tf.training.data import Splits, from_text
from seqattn_tf.training.evaluation import evaluate
from seqattn_tf.training.tasks import Report, Task

jax = pytest.importorskip("jax", reason="needs jax: pip install -e '.[dev]'")

from tools.gpu import __main__ as command  # noqa: E402  # what needs jax is imported last
from tools.gpu import buckets, lane, run, table  # noqa: E402
from tools.gpu.finish import finish  # noqa: E402
from tools.gpu.lane import Chosen  # noqa: E402
from tools.gpu.lowering import NotCompiled, lower_step  # noqa: E402
from tools.gpu.prepare import prepare  # noqa: E402
from tools.gpu.table import Table, tables  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CPU = jax.devices("cpu")[0]
STEPS = 3
DROPOUT = tf.nn.experimental.stateless_dropout
SETTINGS = dataclasses.replace(WHOLE, clip_norm=0.1)  # dropout, weight decay, moving averages, and clipping


def sentences(_data=None, _settings=None):
    """Return texts of up to 14 words, labeled by whether they contain `a`."""
    generator = random.Random(0)
    drawn = {" ".join(generator.choices("abcdefghijk", k=generator.randint(1, 14))) for _ in range(60)}
    rows = [from_text(text, "yes" if "a" in text else "no") for text in sorted(drawn)]
    generator.shuffle(rows)
    return Splits(rows[16:], rows[:8], rows[8:16], "made up")


@pytest.fixture(scope="module")
def long():
    """A recipe whose batches have two lengths."""
    made = dataclasses.replace(RECIPE, name="sees_far", load=sentences)
    yield made
    del made.made["sees_far"]


def dropout(x, rate, seed, noise_shape):
    """Drop values by a simple hash of their seed; those of TensorFlow depend on whether XLA compiles them."""
    places = tf.reshape(tf.range(tf.reduce_prod(noise_shape), dtype=tf.int32), noise_shape)
    drawn = (places * 7919 + seed[0] % 1009 * 31 + seed[1] * 613) % 101
    return tf.where(tf.cast(drawn, tf.float32) < rate * 101, 0.0, x / (1 - rate))


@pytest.fixture(scope="module", autouse=True)
def cheap():
    """Compile without optimization, each program once; and let dropout draw the same numbers with and without XLA."""
    usual, options, held = run.compile_module, run.xc.CompileOptions, {}

    def unoptimized():
        made = options()
        made.executable_build_options.debug_options.xla_backend_optimization_level = 0
        return made

    def compiled(module, device):
        if module not in held:
            held[module] = usual(module, device)
        return held[module]

    with pytest.MonkeyPatch.context() as patch, answering_eagerly():
        patch.setattr(run.xc, "CompileOptions", unoptimized)
        patch.setattr(run, "compile_module", compiled)
        patch.setattr(tf.nn.experimental, "stateless_dropout", dropout)
        yield


@pytest.fixture(scope="module")
def prepared(long, cheap, tmp_path_factory):
    """What was chosen, and its lane."""
    chosen, folder = Chosen(long, SETTINGS), tmp_path_factory.mktemp("gpu") / "lane"
    prepare(chosen, folder)
    return chosen, folder


def test_programs_contain_no_copies(prepared):
    """JAX 0.11 refuses them on a GPU; with JAX 0.10 on a CPU, only this test would fail."""
    _, folder = prepared
    for file in folder.glob("*.hlo.xz"):
        text = run.xc.XlaComputation(lzma.decompress(file.read_bytes())).as_hlo_text()
        assert " reshape(" in text
        assert " copy(" not in text


@pytest.fixture(scope="module")
def trained(prepared, tmp_path_factory):
    """The output of `run.py` for both epochs."""
    out = tmp_path_factory.mktemp("gpu") / "out"
    assert run.main([str(prepared[1]), str(out)]) == 0
    return out


def fitted(training, steps, epochs=1):
    """Return the mean loss of an epoch after each step of `fit`, and the state at the end."""
    network, losses = training.model.network, []
    record = keras.callbacks.LambdaCallback(on_train_batch_end=lambda _, logs: losses.append(logs["loss"]))
    how = {"epochs": epochs, "steps_per_epoch": steps, "shuffle": False, "verbose": 0}
    network.fit(training.batches(), callbacks=[record], **how)
    return losses, [variable.numpy() for variable in state_of(network)]


def assert_equal(folder, expected, state, epochs=1, tolerance=1e-5):
    """Check that JAX computes these losses and this state, and return the programs that it has run."""
    read = run.Lane(folder)
    trainer = run.Trainer(read, CPU)
    losses = []
    for epoch in range(epochs):
        trainer.begin_epoch()
        losses += [float(trainer.step(epoch, step)) for step in range(len(expected) // epochs)]
    np.testing.assert_allclose(losses, expected, rtol=tolerance)
    for ours, theirs in zip(trainer.state, state, strict=False):  # constants follow the variables
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=tolerance, atol=tolerance)
    return set(read.program_of[:epochs, : len(expected) // epochs].ravel().tolist())


def test_steps_of_two_lengths_equal_those_of_fit(prepared, trained):
    """Losses, weights, moments, moving averages, seeds and the step counter; `trained` has compiled the programs."""
    chosen, folder = prepared
    training, _ = chosen.open()
    for column in training.columns.all:
        column.round_up(buckets.MULTIPLE)
    before = [variable.numpy() for variable in state_of(training.model.network)]
    with untraced():
        losses, state = fitted(training, training.steps, epochs=2)
    assert len(losses) == 10
    assert sum(not np.array_equal(a, b) for a, b in zip(before, state, strict=True)) > 25  # of 30
    assert len(assert_equal(folder, losses, state, epochs=2)) == 2


SMALL = {"units": 12, "embedding": 8, "batch_size": 16, "epochs": 1, "ema_decay": 0.9, "weight_decay": 0.01}
TABLE = {"text_column": "text", "target_column": "target"}
LETTERS = {
    **TABLE,
    "source_tokenizer": "letters",
    "target_tokenizer": "letters",
    "vocabulary": 0,
    "alternatives": 0,
    "beam_width": 1,
}


def written(folder):
    """Write words with their reverse, and sentences with a tag for each word."""
    generator = random.Random(0)
    words = {"".join(generator.choices("abcd", k=generator.randint(1, 14))) for _ in range(150)}
    pairs = "".join(f"{word},{word[::-1].upper()}\n" for word in sorted(words))
    (folder / "pairs.csv").write_text(f"text,target\n{pairs}")
    tagged = ["".join(f"{w} {len(w)}\n" for w in generator.sample(sorted(words), generator.randint(1, 14)))] * 3
    tagged += ["".join(f"{w} {len(w)}\n" for w in generator.sample(sorted(words), n % 14 + 1)) for n in range(90)]
    (folder / "tags.txt").write_text("\n".join(tagged))
    vectors = "".join(
        f"{word} {' '.join(f'{generator.gauss(0, 1):.3f}' for _ in range(8))}\n" for word in sorted(words)
    )
    (folder / "vectors.txt").write_text(vectors)


@pytest.mark.parametrize(
    ("name", "file", "changes"),
    [
        slow("tag", "tags.txt", {"filters": 4, "freeze_embeddings": True, "pretrained_embeddings": "vectors.txt"}),
        slow("transliterate", "pairs.csv", {**TABLE, "decoder": "stacked", "score": "general", "depth": 2}),
        slow("translate", "pairs.csv", {**LETTERS, "decoder": "bahdanau", "cell": "gru"}),
        slow("translate", "pairs.csv", {**LETTERS, "align": "crf", "dropout": 0.0, "gradient_accumulation_steps": 2}),
        slow("translate", "pairs.csv", {**LETTERS, "precision": "mixed_bfloat16"}),
    ],
)
def test_recipes_equal_fit(name, file, changes, tmp_path, monkeypatch):
    """With TensorFlow's own random numbers, which depend on whether XLA compiles the step."""
    monkeypatch.setattr(tf.nn.experimental, "stateless_dropout", DROPOUT)
    written(tmp_path)
    if "pretrained_embeddings" in changes:
        changes = {**changes, "pretrained_embeddings": str(tmp_path / "vectors.txt")}
    recipe = recipes.get(name)
    settings = dataclasses.replace(recipe.small, **{**SMALL, **changes})
    chosen, folder = Chosen(recipe, settings, str(tmp_path / file)), tmp_path / "lane"
    prepare(chosen, folder)
    training, _ = chosen.open()
    xla.use(training, True)
    if not settings.dropout:
        training.model.network.jit_compile = False
    losses, state = fitted(training, STEPS)
    used = assert_equal(folder, losses, state, tolerance=1e-2 if "precision" in changes else 1e-5)
    assert len(used) > 1


def test_batches_are_those_of_fit_in_every_epoch(prepared):
    chosen, folder = prepared
    training, _ = chosen.open()
    xla.use(training, True)
    read, count = run.Lane(folder), 0
    for count, (inputs, right) in enumerate(training.batches(), 1):
        ids, labels = read.batch(*divmod(count - 1, read.steps))
        np.testing.assert_array_equal(ids, inputs["text_ids"])
        np.testing.assert_array_equal(labels, right)
    assert count == chosen.settings.epochs * read.steps


def test_the_best_epoch_becomes_a_run(prepared, trained, tmp_path, capsys):
    chosen, folder = prepared
    figures = finish(folder, trained, tmp_path / "run")
    history = json.loads((tmp_path / "run" / "history.json").read_text())
    best = max(range(2), key=lambda epoch: history[epoch]["dev_accuracy"])
    assert history[best] == figures
    assert evaluate(tmp_path / "run", split="dev").metrics["accuracy"] == pytest.approx(figures["dev_accuracy"])
    record = read_config(tmp_path / "run")["record"]
    assert record["settings"] == dataclasses.asdict(chosen.settings)
    assert record["created_with"]["machine"] == CPU.device_kind
    assert record["created_with"]["jax"] == jax.__version__
    assert f"epoch {best + 1} is the best of [1, 2]" in capsys.readouterr().out


@pytest.mark.parametrize(("higher", "best"), [(True, 1), (False, 2)])
def test_the_best_epoch_depends_on_the_metric(higher, best, prepared, trained, tmp_path, monkeypatch):
    found = iter([Report({"accuracy": 0.9}), Report({"accuracy": 0.4})])
    monkeypatch.setattr(Task, "measure", lambda *_, **__: next(found))
    monkeypatch.setattr(Task, "higher_is_better", higher)
    assert finish(prepared[1], trained, tmp_path / "run")["dev_accuracy"] == {1: 0.9, 2: 0.4}[best]
    training, _ = prepared[0].open()
    model, targets = load(tmp_path / "run"), lane.kept(training, set(range(1000)))
    for index, array in lane.weights(trained, lane.read_output(trained)["saved"][best - 1]).items():
        if array.dtype == "float32":  # a loaded model draws new seeds
            np.testing.assert_array_equal(model.network.variables[targets[index]], array)
    assert read_config(tmp_path / "run")["record"]["epoch"] == best


def test_the_model_is_the_moving_average(prepared, trained):
    """The last weights and their averages differ, and those that were saved are the averages."""
    chosen, folder = prepared
    read = run.Lane(folder)
    trainer = run.Trainer(read, CPU)
    for epoch in range(2):
        trainer.begin_epoch()
        for step in range(read.steps):
            trainer.step(epoch, step)
    training, _ = chosen.open()
    network = training.model.network
    adam, index_of = network.optimizer, {id(v): i for i, v in enumerate(state_of(network))}
    saved = lane.weights(trained, lane.read_output(trained)["saved"][-1])
    for weight, mean in zip(adam._trainable_variables, adam._model_variables_moving_average, strict=True):
        assert index_of[id(weight)] not in saved
        np.testing.assert_array_equal(saved[index_of[id(mean)]], trainer.state[index_of[id(mean)]])
    assert lane.kept(training, set(range(len(read.spec["state"]))))[index_of[id(mean)]] == index_of[id(weight)]


def test_the_commands_train_and_evaluate(tmp_path, capsys, monkeypatch):
    """With a recipe in a file, which `finish` has to find again."""
    rows = sentences()
    lines = [f"{row.inputs['text']},{row.target}" for part in (rows.train, rows.dev, rows.test) for row in part]
    (tmp_path / "rows.csv").write_text("\n".join(["text,label", *lines]))
    imports = ["import dataclasses", "from support.sees import RECIPE", f"from {recipes.__name__} import base"]
    made = 'recipe = dataclasses.replace(RECIPE, name="sees_rows", load=base.load_pairs)'
    (tmp_path / "sees_rows.py").write_text("\n".join([*imports, made]))
    monkeypatch.chdir(tmp_path)
    given = ["--data", "rows.csv", "--buckets", "1", "--set", "text_column=text", "--set", "target_column=label"]
    assert command.main(["prepare", "sees_rows.py", "lane", *given]) == 0
    assert run.main(["lane", "out", "--keep", "1", "--half", "--part-mib", "1"]) == 0
    assert command.main(["finish", "lane", "out", "run"]) == 0
    assert 0 <= evaluate(tmp_path / "run").metrics["accuracy"] <= 100
    del RECIPE.made["sees_rows"]
    printed = capsys.readouterr().out
    assert "1 programs compiled for cpu" in printed
    assert "epoch 2/2" in printed
    assert "seqattn evaluate run" in printed
    assert command.main(["prepare", "pronounce", "lane", "--set", "epochs=0"]) == 2
    assert "prepare: epochs: expected at least 1. Received: 0" in capsys.readouterr().err


def test_output_is_limited(prepared, trained, tmp_path, capsys):
    _, folder = prepared
    about = json.loads((trained / "run.json").read_text())
    assert [saved["epoch"] for saved in about["saved"]] == [1, 2]
    assert run.main([str(folder), str(tmp_path / "last"), "--keep", "1", "--half", "--epochs", "1"]) == 0
    [part] = (tmp_path / "last").glob("*.part")
    assert part.stat().st_size < (trained / "epoch-0001-0.part").stat().st_size
    assert run.main([str(folder), str(tmp_path / "none"), "--keep", "1000000"]) == 2
    assert "expected at most 64 MiB. Received: 1000000 epochs of" in capsys.readouterr().err
    assert run.main([str(folder), str(trained)]) == 2
    assert "expected an empty folder" in capsys.readouterr().err


def test_weights_in_several_files(tmp_path):
    out = run.Output(tmp_path, {}, keep=2, part=1000)
    for epoch in (1, 2, 3):
        out.save(epoch, {"0004": np.full(600, epoch, "float32")})
    out.describe()
    about = lane.read_output(tmp_path)
    assert [saved["epoch"] for saved in about["saved"]] == [2, 3]
    assert [len(saved["parts"]) for saved in about["saved"]] == [3, 3]
    assert max(path.stat().st_size for path in tmp_path.glob("*.part")) == 1000
    np.testing.assert_array_equal(lane.weights(tmp_path, about["saved"][0])[4], np.full(600, 2))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda out: (out / "epoch-0002-0.part").unlink(), r"expected the file that `run.py` wrote. Received: no such"),
        (lambda out: (out / "epoch-0001-0.part").write_bytes(b"PK"), r"Received: a corrupt one, 2 bytes"),
        (
            lambda out: (out / "run.json").write_text("{"),
            r"expected a folder that `run.py` wrote. Received: JSONDecode",
        ),
        (lambda out: (out / "run.json").unlink(), r"expected a folder that `run.py` wrote. Received: FileNotFound"),
    ],
)
def test_incomplete_output_is_refused(damage, message, prepared, trained, tmp_path):
    out = shutil.copytree(trained, tmp_path / "out")
    damage(out)
    with pytest.raises(ValueError, match=message):
        finish(prepared[1], out, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def changed(folder, copy, **changes):
    """Return a copy of a folder with other entries in its description."""
    shutil.copytree(folder, copy)
    [path] = copy.glob("[lr]*n*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return copy


def test_what_does_not_belong_together_is_refused(prepared, trained, tmp_path):
    chosen, folder = prepared
    other = changed(trained, tmp_path / "other", lane="another")
    with pytest.raises(ValueError, match=r"expected the output of .*lane. Received: that of a lane"):
        finish(folder, other, tmp_path / "run")
    data = changed(folder, tmp_path / "data", data="00000000")
    with pytest.raises(ValueError, match=r"expected the training of the lane \(stored, now\).*'data': \('00000000'"):
        finish(data, trained, tmp_path / "run")
    with pytest.raises(ValueError, match=r"expected a lane of format 1. Received: 0"):
        finish(changed(folder, tmp_path / "old", format=0), trained, tmp_path / "run")
    with pytest.raises(ValueError, match=r"out: expected a new or empty folder"):
        finish(folder, trained, trained)
    with pytest.raises(ValueError, match="lane: expected a new or empty folder"):
        prepare(chosen, folder)


def test_a_damaged_lane_is_refused(prepared, tmp_path, capsys):
    copy = shutil.copytree(prepared[1], tmp_path / "lane")
    (copy / "step-1.hlo.xz").write_bytes(b"")
    assert run.main([str(copy), str(tmp_path / "out")]) == 2
    assert "step-1.hlo.xz: expected the file that `prepare` wrote" in capsys.readouterr().err
    assert run.main([str(tmp_path / "none"), str(tmp_path / "out")]) == 2
    assert "none: expected a folder that `prepare` wrote" in capsys.readouterr().err


def test_a_lane_that_is_too_large_is_refused(prepared, tmp_path, monkeypatch):
    monkeypatch.setattr(lane, "MIB", 2**10)
    about = json.loads((prepared[1] / "lane.json").read_text())
    with pytest.raises(ValueError, match=r"expected at most 64 MiB. Received: \d+\.\d MiB \(data.npz \d.*; use max_ex"):
        lane.write(
            tmp_path / "lane", {**about, "programs": []}, [], [], 64, rows=np.random.default_rng(0).random(10**5)
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_tokens": 100}, "batch_tokens: expected 0, for batches of one size. Received: 100"),
    ],
)
def test_unsupported_settings_are_refused(changes, message, long, tmp_path):
    with pytest.raises(ValueError, match=message):
        prepare(Chosen(long, dataclasses.replace(SETTINGS, **changes)), tmp_path / "lane")


def test_pictures_are_stored_as_indices_of_their_values(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 4, 4, 3)).astype("float32") / 255
    for extra, dtype in ((0, "uint8"), (200, "float32")):  # a palette that grows, and one that becomes too large
        rows = np.concatenate([pixels, np.arange(extra * 48, dtype="float32").reshape(-1, 4, 4, 3) / 7])
        stored = Table(len(rows), rows, 1)
        for start in range(0, len(rows), 2):
            stored.fill(start, rows[start : start + 2])
        assert stored.values.dtype == dtype
        np.testing.assert_array_equal(stored.rows(np.arange(len(rows))), rows)
        arrays, read = stored.arrays(0), object.__new__(run.Lane)
        read.tables, read.palettes = [arrays["table000"]], {0: arrays["palette000"]} if extra == 0 else {}
        read.rows, read.program_of = np.array([[[3, 1]]]), np.array([[0]])
        read.spec = {"programs": [{"shapes": [[2, 4, 4, 3]], "dtypes": ["float32"]}]}
        np.testing.assert_array_equal(read.batch(0, 0)[0], rows[[3, 1]])
    with pytest.raises(ValueError, match=r"expected tensors of at most 1 MiB in memory. Received: 2 MiB, 2 examples"):
        Table(2, np.zeros((1, 2**20), "uint8"), 1)


def test_inputs_of_several_sizes_are_refused(long):
    training, _ = Chosen(long, SETTINGS).open()
    longer = LazyColumn(["a", "bc"] * 40, lambda raw: {"size": tf.zeros([1, tf.strings.length(raw)[0]])})
    columns = dataclasses.replace(training.columns, inputs={**training.columns.inputs, "sound": longer})
    training.columns = columns
    with pytest.raises(ValueError, match=r"inputs of one size. Received: sizes \[\[1\]\] and \[\[2\]\]"):
        tables(training, [8, 8, 8], 64)


@pytest.mark.parametrize("module", [buckets, table])
def test_examples_of_docstrings(module):
    assert doctest.testmod(module) == (0, 5 if module is table else 2)


def test_what_xla_cannot_compile_is_named():
    def train_step(batch):
        return {"loss": tf.reduce_sum(tf.numpy_function(np.square, [batch], tf.float32))}

    network = types.SimpleNamespace(train_step=train_step)
    message = r"prepare: expected a network that XLA can compile. Received: Detected unsupported operations .*PyFunc"
    with pytest.raises(NotCompiled, match=message):
        lower_step(network, [], tf.zeros([2]), [])
    network.train_step = lambda batch: {"loss": tf.zeros([3]) + batch}
    with pytest.raises(ValueError, match="Dimensions must be equal"):  # an error of another kind
        lower_step(network, [], tf.zeros([2]), [])


def test_segments_of_a_long_text_are_refused(tmp_path):
    (tmp_path / "input.txt").write_text("ALL:\nTo be, or not to be, that is the question.\n\n" * 200)
    recipe = recipes.get("char_lm")
    settings = dataclasses.replace(recipe.small, units=4, embedding=4, sequence_length=10, epochs=1)
    with pytest.raises(ValueError, match=r"expected batches of separate examples. Received: LanguageTask, which reads"):
        prepare(Chosen(recipe, settings, str(tmp_path)), tmp_path / "lane")


def test_few_shapes_cover_all_batches():
    lengths = np.random.default_rng(0).integers(0, 90, (300, 2))
    for most in (1, 4, 1000):
        shapes, of_batch = buckets.choose(lengths, most)
        assert len(shapes) <= most
        assert (shapes[of_batch] >= lengths).all()
        assert (shapes % buckets.MULTIPLE == 0).all()
        assert set(of_batch) == set(range(len(shapes)))
    exact = np.maximum(-(-lengths // 8), 1) * 8
    np.testing.assert_array_equal(shapes[of_batch], exact)  # if there are enough shapes
    with pytest.raises(ValueError, match=r"buckets: expected at least 1. Received: 0"):
        buckets.choose(lengths, 0)


@pytest.mark.parametrize(("name", "needs"), [("run.py", {"jax", "numpy"}), ("compare.py", {"jax", "numpy", "run"})])
def test_the_other_machine_needs_only_jax_and_numpy(name, needs):
    tree = ast.parse((ROOT / "tools/gpu" / name).read_text(encoding="utf-8"))
    found = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    found |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    foreign = {name.partition(".")[0] for name in found} - set(sys.stdlib_module_names)
    assert foreign == needs


def test_a_gpu_is_compared_with_a_cpu(tmp_path, monkeypatch, capsys):
    """Here, the CPU is compared with itself."""
    from benchmarks import devices

    case = devices.Case("double_2x3", lambda x: [2 * x], [([2, 3], 0)])
    (tmp_path / "double_2x3.hlo.xz").write_bytes(lzma.compress(devices.program(case)))
    (tmp_path / "index.json").write_text(json.dumps({case.name: {"inputs": case.inputs, "steps": 0}}))
    monkeypatch.syspath_prepend(ROOT / "tools/gpu")
    monkeypatch.setitem(sys.modules, "run", run)
    monkeypatch.setattr(sys, "argv", ["compare.py", str(tmp_path)])
    runpy.run_path(str(ROOT / "tools/gpu/compare.py"), run_name="__main__")
    assert "double: 1 sizes, largest difference 0.0e+00 (double_2x3)" in capsys.readouterr().out
