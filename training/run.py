"""A training run: recipe and settings in, `runs/NAME/` with the best model and its record out."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.atomic_io import write_json
from seqattn_tf.models import Model, load
from seqattn_tf.models.presets import find
from seqattn_tf.plugins import advice
from seqattn_tf.training import recipes
from seqattn_tf.training.callbacks import Guard, KeepBest, KeepState, Pace, ProgressBar, Score
from seqattn_tf.training.checkpoints import Checkpoints, Progress, restore, state_of
from seqattn_tf.training.data import Splits, finding
from seqattn_tf.training.data.reading import reading_with
from seqattn_tf.training.diagnosis import diagnose
from seqattn_tf.training.distribution import Distribution
from seqattn_tf.training.faithfulness import Faithfulness, faithfulness
from seqattn_tf.training.identity import begin_from, identity, refuse_another, settings_of
from seqattn_tf.training.lessons import Lessons
from seqattn_tf.training.looking import board, sample_of
from seqattn_tf.training.optimizer import adam_of, optimizer_of
from seqattn_tf.training.precision import in_float32, made_in
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.record import describe, read_record
from seqattn_tf.training.stopping import Stop, Stopped
from seqattn_tf.training.tasks import Report, Settings, Task, Training
from seqattn_tf.training.tasks.base import refuse_unreadable, vocabulary_of
from seqattn_tf.training.xla import ask, settle

HISTORY, CHECKPOINTS = "history.json", "checkpoints"  # what was measured after each epoch, and the state of the run


ALONE = Distribution()


def compile_network(training: Training, distribution: Distribution = ALONE) -> None:
    """The optimiser and the loss; the plain graph, unless `xla.use` says otherwise."""
    network, settings = training.model.network, training.settings
    with distribution.scope():
        optimizer = optimizer_of(settings, training.steps * settings.epochs)
        distribution.compile(network, optimizer, training.loss)


def open_splits(recipe: Recipe, settings: Settings, data: str | Path | None) -> Splits:
    """Load the data of a recipe, no more than the settings allow, and read as they say."""
    with reading_with(settings.encoding, settings.max_bad_rows):
        return recipe.load(data, settings).at_most(settings.max_examples)


@dataclasses.dataclass(frozen=True)
class Keeping:
    """How often a training keeps its state, besides after every epoch."""

    steps: int = 0  # at most between two checkpoints; 0 for any number
    minutes: float = 5.0  # the same in time; 0 for any


_KEEPING = Keeping()


def train(
    recipe: Recipe,
    settings: Settings,
    folder: Path,
    data: str | Path | None = None,
    *,
    keeping: Keeping = _KEEPING,
    init_from: str | Path | None = None,
    tensorboard: bool = False,
    distribution: Distribution = ALONE,
    xla: str = "off",
    lessons: Callable[[Splits], Lessons] | None = None,
) -> Model:
    """Train with Keras `fit` and return the best model, which `folder` then holds.

    Run again with the same settings, it goes on after a kill with the very next step, and returns at once when nothing
    is left to do. With more epochs, or more patience, it goes on as well.

    Args:
        recipe: what is trained.
        settings: of it.
        folder: of the run.
        data: where they are; the recipe's own otherwise.
        keeping: how often the state is kept.
        init_from: a run or a preset of the same recipe, whose model the training begins with.
        distribution: over which devices and machines it is spread (see `open_strategy`).
        tensorboard: whether `tensorboard/` in the folder gets figures, gradients and pictures.
        xla: whether XLA compiles the steps: `on`, `off`, or `auto`, which is what is faster; a run keeps to its choice.
        lessons: what a teacher says of these data, to be learned from besides (see `distill`).

    Raises:
        Stopped: SIGTERM or Ctrl-C ended it; its state is kept.
        WorkerLost: another worker is gone; the run goes on from its last checkpoint.
    """
    folder = Path(folder)
    with distribution.watched():
        begun = _begin(recipe, settings, folder, data, init_from, distribution, xla, lessons)
        with Stop() as stop:
            callbacks = _callbacks(begun, stop, keeping, tensorboard)
            try:
                with _named_faults(begun.training):
                    _fit(begun.training, distribution, begun.progress, callbacks)
            except Stopped:
                begun.store()
                raise
            finally:
                for bar in (callback for callback in callbacks if isinstance(callback, ProgressBar)):
                    bar.close()
        distribution.from_chief(lambda: None)  # nobody leaves before all are done
    return load(folder) if distribution.is_chief else begun.training.model


@dataclasses.dataclass(frozen=True)
class _Begun:
    """A training that can go on: what it is of, and how far it is."""

    recipe: Recipe
    folder: Path
    data: str | Path | None
    training: Training
    about: dict[str, Any]
    progress: Progress
    distribution: Distribution

    @property
    def network(self) -> keras.Model:
        """What learns."""
        return self.training.model.network

    def store(self) -> None:
        """Write a checkpoint; the chief does."""
        if self.distribution.is_chief:
            Checkpoints(self.folder / CHECKPOINTS).save(self.network, self.progress, self.about)
            write_json(self.folder / HISTORY, self.progress.history)

    def save(self, figures: Mapping[str, float]) -> None:
        """Write the model; the chief does."""
        if self.distribution.is_chief:
            with averaged(self.network):
                record = describe(self.recipe, self.training, figures, self.progress.seconds, self.data)
                record |= {name: self.about[name] for name in ("init_from", "xla", "lessons")}
                in_float32(self.training.model).save(self.folder, record)


def _begin(
    recipe: Recipe,
    settings: Settings,
    folder: Path,
    data: str | Path | None,
    init_from: str | Path | None,
    distribution: Distribution,
    xla: str,
    lessons: Callable[[Splits], Lessons] | None,
) -> _Begun:
    """A training as it was left, or a new one."""
    task, splits = recipe.task.measured_by(settings.metric), open_splits(recipe, settings, data)
    held = Checkpoints(folder / CHECKPOINTS).newest() if distribution.is_chief else None
    learned = None if lessons is None else lessons(splits)
    taught = "" if learned is None else learned.fingerprint
    about = identity(recipe, settings, splits, init_from, ask(xla, folder, held, distribution), taught)
    if distribution.is_chief:
        print(splits.summary)
        refuse_another(folder, held, about, task)
    if (other := distribution.from_chief(lambda: about)) != about:
        differ = [name for name in about if other[name] != about[name]]
        raise ValueError(f"workers: expected the same commands and data. Received: another {' and '.join(differ)}")
    keras.utils.set_random_seed(settings.seed)
    with distribution.scope(), made_in(settings.precision):
        first = None if init_from is None else begin_from(find(init_from), recipe, settings, splits)
        training = task.open(settings, splits, first, learned)
    distribution.check(training.batch_size)
    about["vocabulary"] = vocabulary_of(training.model)
    task.check_metrics(training.model, splits.dev)
    compile_network(training, distribution)
    network, progress = training.model.network, Progress()
    if held is not None:
        if held.about["vocabulary"] != about["vocabulary"]:
            raise ValueError(f"{folder}: expected the vocabulary that its training began with; choose another --run")
        restore(held, network, progress)
    distribution.share(state_of(network))
    progress.take(distribution.from_chief(progress.as_json))
    with _named_faults(training):
        about["xla"] = settle(training, about["xla"], progress)
    return _Begun(recipe, folder, data, training, about, progress, distribution)


def _callbacks(begun: _Begun, stop: Stop, keeping: Keeping, tensorboard: bool) -> list[keras.callbacks.Callback]:
    """What happens besides the steps."""
    training, progress, distribution = begun.training, begun.progress, begun.distribution
    task, settings, network = training.task, training.settings, begun.network
    quick = task.quick(training.model)

    def measure() -> dict[str, float]:
        alone = distribution.workers == 1  # others would wait for this one
        with averaged(network), stop.rest() if alone else contextlib.nullcontext():
            return {name: float(value) for name, value in task.measure(quick, training.splits.dev).figures.items()}

    def sample(epoch: int) -> str:
        with averaged(network):
            return sample_of(quick, task, training.splits.dev, epoch)

    done = progress.epoch * training.steps + progress.step
    seen: list[keras.callbacks.Callback] = []
    if distribution.is_chief:
        seen.append(ProgressBar(training.steps, settings.epochs, done, sample))
        seen += board(begun.folder / "tensorboard", training) if tensorboard else []
    return [
        Guard(progress, lambda: diagnose(training, progress.epoch, progress.step)),
        Pace(progress, training.symbols),
        Score(lambda: distribution.from_chief(measure)),
        KeepBest(f"dev_{task.monitor}", settings.patience, begun.save, progress, task.higher_is_better),
        *seen,
        KeepState(progress, begun.store, stop, distribution.anyone, keeping.steps, keeping.minutes),
    ]


def _fit(
    training: Training,
    distribution: Distribution,
    progress: Progress,
    callbacks: Sequence[keras.callbacks.Callback],
) -> None:
    """What is left of a training: the rest of an epoch that was broken off, and whole ones."""
    network, settings, steps = training.model.network, training.settings, training.steps
    if progress.step == steps:  # only its end was missing
        logs = {name: float(value) for name, value in network.get_metrics_result().items()}
        keras.callbacks.CallbackList(callbacks, model=network).on_epoch_end(progress.epoch, logs)
    while not progress.finished(settings.epochs, settings.patience):
        network.fit(
            distribution.prepare(network, training.batches(progress.epoch, progress.step, distribution.part)),
            epochs=progress.epoch + 1 if progress.step else settings.epochs,
            initial_epoch=progress.epoch,
            steps_per_epoch=steps - progress.step,
            callbacks=list(callbacks),
            shuffle=False,  # the dataset does it
            verbose=0,
        )


@contextlib.contextmanager
def averaged(network: keras.Model) -> Iterator[None]:
    """For a while, the running means of the weights in their place, where the optimiser keeps them."""

    def exchange() -> None:
        optimizer = adam_of(network)
        means = optimizer._model_variables_moving_average if optimizer.use_ema else ()
        for weight, mean in zip(optimizer._trainable_variables, means, strict=False):
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


def _recipe_of(folder: Path, record: Mapping[str, Any]) -> tuple[Recipe, Settings, Task[Any, Any]]:
    """The recipe of a trained run, its settings, and what it is measured by."""
    try:
        recipe = recipes.get(record["recipe"])
        settings = settings_of(recipe, record["settings"])
        return recipe, settings, recipe.task.measured_by(settings.metric)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{folder}, {error}{advice(record['plugins'])}") from None


def groups_of(folder: Path) -> list[str]:
    """Return the titles of the groups of figures that `evaluate` gives of a trained run; these can be drawn."""
    return list(_recipe_of(folder, read_record(folder))[2].groups)


def _open(folder: Path, data: str | Path | None) -> tuple[Task[Any, Any], Model, Splits]:
    """A trained run: what it is measured by, the model and its data."""
    record = read_record(folder)
    recipe, settings, task = _recipe_of(folder, record)
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
    if given is not None and not finding.is_there(given):
        raise ValueError(f"data: expected {given}, which {folder} was trained on; --data says where it is now")
    return given
