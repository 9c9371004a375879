"""A training run: recipe and settings in, `runs/NAME/` with the best model and its record out."""

import contextlib
import dataclasses
import json
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.models import Model, load
from seqattn_tf.models.base import read_config
from seqattn_tf.plugins import advice, needed_by
from seqattn_tf.rows import to_json
from seqattn_tf.training import recipes
from seqattn_tf.training.callbacks import KeepBest, ProgressBar, Score
from seqattn_tf.training.data import Splits, files
from seqattn_tf.training.faithfulness import Faithfulness, faithfulness
from seqattn_tf.training.maps import given
from seqattn_tf.training.progress import Progress
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.tasks import Report, Settings, Task, Training
from seqattn_tf.training.tasks.base import refuse_unreadable

SHOWN, MOST_SHOWN = 6, 200_000  # examples that a model carries, and the most bytes of all their values


def compile_network(training: Training) -> None:
    """Adam with warm-up, cosine decay and global-norm clipping; the plain graph, which wins on a CPU."""
    settings, steps = training.settings, training.steps * training.settings.epochs
    rate = keras.optimizers.schedules.CosineDecay(
        0.0,
        max(steps - settings.warmup_steps, 1),
        warmup_target=settings.learning_rate,
        warmup_steps=settings.warmup_steps,
    )
    mean = {"use_ema": True, "ema_momentum": settings.average} if settings.average else {}
    optimizer = keras.optimizers.Adam(rate, global_clipnorm=settings.clip_norm, **mean)
    training.model.network.compile(optimizer, training.loss, jit_compile=False)


def open_splits(recipe: Recipe, settings: Settings, data: str | Path | None) -> Splits:
    """The data of a recipe, no more than the settings allow."""
    return recipe.load(data, settings).at_most(settings.max_examples)


def train(recipe: Recipe, settings: Settings, folder: Path, data: str | Path | None = None) -> Model:
    """Train with Keras `fit` and return the best model, which `folder` then holds.

    Run again with the same settings, it goes on after a kill and returns at once when nothing is left to do.
    """
    folder, task = Path(folder), recipe.task.measured_by(settings.metric)
    splits = open_splits(recipe, settings, data)
    print(splits.summary)
    _refuse_another_run(folder, recipe, settings, splits)
    keras.utils.set_random_seed(settings.seed)
    training = task.open(settings, splits)
    model = training.model
    task.check_metrics(model, splits.dev)
    compile_network(training)
    progress = Progress(folder / "progress.npz")
    progress.restore(model.network)
    quick = task.quick(model)

    def save(figures: Mapping[str, float]) -> None:
        with averaged(model.network):
            model.save(folder, describe(recipe, training, figures, progress.seconds, data))

    def score() -> Mapping[str, float]:
        with averaged(model.network):
            return task.measure(quick, training.splits.dev).figures

    if not progress.finished(settings.epochs, settings.patience):
        bar = ProgressBar(training.steps, settings.epochs, progress.epoch)
        with _named_faults(training), contextlib.closing(bar):
            model.network.fit(
                training.batches(progress.epoch),
                epochs=settings.epochs,
                initial_epoch=progress.epoch,
                steps_per_epoch=training.steps if task.ordered else None,
                callbacks=[
                    Score(score),
                    KeepBest(
                        f"dev_{task.monitor}", settings.patience, save, progress, higher_is_better=task.higher_is_better
                    ),
                    bar,
                ],
                shuffle=False,  # the dataset does it
                verbose=0,
            )
    return load(folder)


@contextlib.contextmanager
def averaged(network: keras.Model) -> Iterator[None]:
    """For a while, the running means of the weights in their place, where the optimiser keeps them."""

    def exchange() -> None:
        means = network.optimizer._model_variables_moving_average if network.optimizer.use_ema else ()
        for weight, mean in zip(network.optimizer._trainable_variables, means, strict=False):
            held = weight.numpy()
            weight.assign(mean)
            mean.assign(held)

    exchange()
    try:
        yield
    finally:
        exchange()


@contextlib.contextmanager
def _named_faults(training: Training) -> Iterator[None]:
    """A value that no graph can read ends a training with the example it is of."""
    try:
        yield
    except (tf.errors.InvalidArgumentError, tf.errors.UnknownError) as error:
        refuse_unreadable(training.model, training.splits.train)
        why = error.message.strip().splitlines()[-1]
        raise ValueError(f"train: expected inputs and targets that fit together. Received: {why}") from error


def _refuse_another_run(folder: Path, recipe: Recipe, settings: Settings, splits: Splits) -> None:
    """A folder holds one training: another recipe, other settings or other data want another folder."""
    if not (folder / "config.json").is_file():
        return
    record = read_record(folder)
    held = {**record["settings"], "recipe": record["recipe"], "data": record["fingerprint"]}
    wanted = {**dataclasses.asdict(settings), "recipe": recipe.name, "data": splits.fingerprint}
    asked = json.loads(json.dumps(wanted))
    other = {name: (held.get(name), value) for name, value in asked.items() if held.get(name) != value}
    if other:
        raise ValueError(f"{folder} holds a run with other settings (held, asked): {other}. Choose another --run")


def describe(
    recipe: Recipe,
    training: Training,
    figures: Mapping[str, float],
    seconds: float,
    data: str | Path | None = None,
) -> dict[str, Any]:
    """The record of a trained model: what it is, from which data, how good, and what it may be asked."""
    splits = training.splits
    return {
        "recipe": recipe.name,
        "plugins": plugins_of(recipe, training.settings),
        "summary": recipe.summary,
        "settings": dataclasses.asdict(training.settings),
        "data": splits.origin,
        "given": None if data is None else files.place(data),
        "fingerprint": splits.fingerprint,
        "counts": {part: len(getattr(splits, part)) for part in ("train", "dev", "test")},
        "examples": list(_shown(training)),
        "figures": {name: round(value, 5) for name, value in figures.items()},
        "seconds": round(seconds, 1),
        "made_with": {"tensorflow": tf.__version__, "keras": keras.__version__, "machine": platform.machine()},
    }


def plugins_of(recipe: Recipe, settings: Settings) -> dict[str, str]:
    """The modules from outside the package that a training is made of, with the names of their files."""
    metrics = recipe.task.measured_by(settings.metric).metrics
    return {**recipe.plugins, **needed_by(metric.measure for metric in metrics)}


def _shown(training: Training) -> Iterator[dict[str, Any]]:
    """Inputs of a few development examples as JSON holds them, small together: to show, and to verify exports with."""
    dev, inputs = training.splits.dev, training.model.inputs
    left = MOST_SHOWN
    for example in dev[:: max(len(dev) // SHOWN, 1)][:SHOWN]:
        asked = training.task.asked(example)
        row = {name: field.shown(given(asked[name])) for name, field in inputs.items()}
        size = sum(map(len, row.values()))
        if size <= left:
            left -= size
            yield to_json(row)


_RECORD: dict[str, tuple[type, ...]] = {  # what a run remembers of itself, of which types
    "recipe": (str,),
    "settings": (dict,),
    "data": (str,),
    "fingerprint": (str,),
    "given": (str, type(None)),
    "plugins": (dict,),
}


def read_record(folder: Path) -> dict[str, Any]:
    """The record of a trained run.

    Raises:
        ValueError: the folder is no model's, or no recipe trained it, or its record is damaged.
    """
    record = {"given": None, "plugins": {}, **read_config(folder)["record"]}
    for name, kinds in _RECORD.items():
        if not isinstance(record.get(name), kinds):
            expected = f"{Path(folder) / 'config.json'}: expected the record of a training with {name!r}"
            raise ValueError(f"{expected}. Received: {record.get(name)!r:.80}")
    return record


def _open(folder: Path, data: str | Path | None) -> tuple[Task[Any, Any], Model, Splits]:
    """A trained run: what it is measured by, the model and its data."""
    record = read_record(folder)
    try:
        recipe = recipes.get(record["recipe"])
        known = {field.name for field in dataclasses.fields(recipe.settings)}
        held = {name: value for name, value in record["settings"].items() if name in known}
        settings = dataclasses.replace(recipe.settings, **held)
        task = recipe.task.measured_by(settings.metric)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{folder}, {error}{advice(record['plugins'])}") from None
    splits = open_splits(recipe, settings, _remembered(folder, record) if data is None else data)
    trained_on = f"{record['data']} ({record['fingerprint']})"
    given = f"{splits.origin} ({splits.fingerprint})"
    if record["fingerprint"] != splits.fingerprint:  # the test words may be among those that were learned from
        raise ValueError(f"data: expected what the model was trained on, {trained_on}. Received: {given}; see --data")
    return task, load(folder), splits


def evaluate(folder: Path, data: str | Path | None = None, split: str = "test") -> Report:
    """How good a trained run is on a split of its data."""
    task, model, splits = _open(folder, data)
    examples = getattr(splits, split)
    report = task.measure(model, examples, splits.notes, quiet=False)
    return Report({**report.figures, **task.baselines(model, splits.train, examples)}, report.groups)


def evaluate_faithfulness(folder: Path, data: str | Path | None = None, split: str = "test") -> Faithfulness:
    """Whether what a trained run looks at on a split of its data is what its answers come from."""
    _, model, splits = _open(folder, data)
    return faithfulness(model, getattr(splits, split), quiet=False)


def _remembered(folder: Path, record: Mapping[str, Any]) -> str | None:
    """The data that a run was given."""
    given = record["given"]
    if given is not None and not files.public_name(given) and not Path(given).exists():
        raise ValueError(f"data: expected {given}, which {folder} was trained on; --data says where it is now")
    return given
