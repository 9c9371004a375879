"""Training runs: from a recipe and settings to `runs/NAME/` with the best model and its record."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.atomic_io import write_json
from seqattn_tf.models import Model, load
from seqattn_tf.presets import find
from seqattn_tf.training.callbacks import (
    EvaluateModel,
    LogThroughput,
    ProgressBar,
    SaveBest,
    SaveCheckpoints,
    StopOnDivergence,
)
from seqattn_tf.training.checkpoints import Checkpoints, Progress, restore, state_of
from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.reading import reading_with
from seqattn_tf.training.diagnosis import diagnose
from seqattn_tf.training.distribution import Distribution
from seqattn_tf.training.interrupts import Stop, Stopped
from seqattn_tf.training.optimizer import adam_of, optimizer_of
from seqattn_tf.training.precision import in_float32, made_in
from seqattn_tf.training.previews import board, sample_of
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.record import describe
from seqattn_tf.training.resuming import begin_from, check_same_run, identity
from seqattn_tf.training.runs import HISTORY
from seqattn_tf.training.soft_targets import SoftTargets
from seqattn_tf.training.tasks import Settings, Training
from seqattn_tf.training.tasks.base import refuse_unreadable, vocabulary_of
from seqattn_tf.training.xla import ask, settle

CHECKPOINTS = "checkpoints"


ALONE = Distribution()


def compile_network(training: Training, distribution: Distribution = ALONE) -> None:
    """Compile a network with its optimizer and loss; without XLA, unless `xla.use` changes that."""
    network, settings = training.model.network, training.settings
    with distribution.scope():
        optimizer = optimizer_of(settings, training.steps * settings.epochs)
        distribution.compile(network, optimizer, training.loss)


def open_training(
    recipe: Recipe,
    settings: Settings,
    splits: Splits,
    init_from: str | Path | None = None,
    *,
    distribution: Distribution = ALONE,
    soft_targets: SoftTargets | None = None,
) -> Training:
    """Seed all random numbers, then create the training of a recipe with a compiled network; see `train`."""
    task = recipe.task.with_metric(settings.metric)
    keras.utils.set_random_seed(settings.seed)
    with distribution.scope(), made_in(settings.precision):
        first = None if init_from is None else begin_from(find(init_from), recipe, settings, splits)
        training = task.open(settings, splits, first, soft_targets)
    distribution.check(training.batch_size)
    task.check_metrics(training.model, splits.dev)
    compile_network(training, distribution)
    return training


def open_splits(recipe: Recipe, settings: Settings, data: str | Path | None) -> Splits:
    """Load the data of a recipe, with the number of examples, encoding and tolerance given in the settings."""
    with reading_with(settings.encoding, settings.max_bad_rows):
        return recipe.load(data, settings).at_most(settings.max_examples)


@dataclasses.dataclass(frozen=True)
class CheckpointPolicy:
    """How often a run saves a checkpoint, in addition to one after every epoch."""

    steps: int = 0  # maximum number of steps between two checkpoints; 0 for no limit
    minutes: float = 5.0  # maximum minutes between two checkpoints; 0 for no limit


_KEEPING = CheckpointPolicy()


def train(
    recipe: Recipe,
    settings: Settings,
    folder: Path,
    data: str | Path | None = None,
    *,
    keeping: CheckpointPolicy = _KEEPING,
    init_from: str | Path | None = None,
    tensorboard: bool = False,
    distribution: Distribution = ALONE,
    xla: str = "off",
    soft_targets: Callable[[Splits], SoftTargets] | None = None,
) -> Model:
    """Train with Keras `fit` and return the best model, which is saved in `folder`.

    If the run is repeated with the same settings, it resumes at the step after its last checkpoint, and returns at once
    if it is complete. It also continues with more epochs or more patience.

    Args:
        recipe: The recipe to train.
        settings: The settings of the recipe.
        folder: The folder of the run.
        data: The location of the data; the default data of the recipe if None.
        keeping: How often to save checkpoints.
        init_from: A run or a preset of the same recipe whose model is the starting point.
        tensorboard: Whether to write metrics, gradients and pictures to `tensorboard/` in the folder.
        distribution: The devices and machines to train on (see `open_strategy`).
        xla: Whether XLA compiles the steps: `on`, `off`, or `auto` for whichever is faster. A run keeps its choice.
        soft_targets: Returns the output of a teacher on these data, to train on in addition (see `distill`).

    Raises:
        Stopped: If SIGTERM or Ctrl-C stopped training; the state is saved.
        WorkerLost: If another worker is lost; the run can be resumed from its last checkpoint.
    """
    folder = Path(folder)
    with distribution.watched():
        begun = _begin(recipe, settings, folder, data, init_from, distribution, xla, soft_targets)
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
        distribution.from_chief(lambda: None)  # no worker leaves before all are done
    return load(folder) if distribution.is_chief else begun.training.model


@dataclasses.dataclass(frozen=True)
class _Begun:
    """A training run that is ready to start or resume."""

    recipe: Recipe
    folder: Path
    data: str | Path | None
    training: Training
    about: dict[str, Any]
    progress: Progress
    distribution: Distribution

    @property
    def network(self) -> keras.Model:
        """The network being trained."""
        return self.training.model.network

    def store(self) -> None:
        """Write a checkpoint, if this is the chief."""
        if self.distribution.is_chief:
            Checkpoints(self.folder / CHECKPOINTS).save(self.network, self.progress, self.about)
            write_json(self.folder / HISTORY, self.progress.history)

    def save(self, figures: Mapping[str, float]) -> None:
        """Write the model, if this is the chief."""
        if self.distribution.is_chief:
            with averaged(self.network):
                record = describe(self.recipe, self.training, figures, self.progress.seconds, self.data)
                record |= {name: self.about[name] for name in ("init_from", "xla", "soft_targets")}
                in_float32(self.training.model).save(self.folder, record)


def _begin(
    recipe: Recipe,
    settings: Settings,
    folder: Path,
    data: str | Path | None,
    init_from: str | Path | None,
    distribution: Distribution,
    xla: str,
    soft_targets: Callable[[Splits], SoftTargets] | None,
) -> _Begun:
    """Restore a run from its last checkpoint, or create a new one."""
    task, splits = recipe.task.with_metric(settings.metric), open_splits(recipe, settings, data)
    held = Checkpoints(folder / CHECKPOINTS).newest() if distribution.is_chief else None
    learned = None if soft_targets is None else soft_targets(splits)
    taught = "" if learned is None else learned.fingerprint
    about = identity(recipe, settings, splits, init_from, ask(xla, folder, held, distribution), taught)
    if distribution.is_chief:
        print(splits.summary)
        check_same_run(folder, held, about, task)
    if (other := distribution.from_chief(lambda: about)) != about:
        differ = [name for name in about if other[name] != about[name]]
        raise ValueError(
            f"workers: expected the same command and data on all workers. Received: a different {' and '.join(differ)}"
        )
    training = open_training(recipe, settings, splits, init_from, distribution=distribution, soft_targets=learned)
    about["vocabulary"] = vocabulary_of(training.model)
    network, progress = training.model.network, Progress()
    if held is not None:
        if held.about["vocabulary"] != about["vocabulary"]:
            raise ValueError(
                f"{folder}: expected the vocabulary that training started with. "
                "Received: a different one; choose another --run"
            )
        restore(held, network, progress)
    distribution.share(state_of(network))
    progress.take(distribution.from_chief(progress.as_json))
    with _named_faults(training):
        about["xla"] = settle(training, about["xla"], progress)
    return _Begun(recipe, folder, data, training, about, progress, distribution)


def _callbacks(
    begun: _Begun, stop: Stop, keeping: CheckpointPolicy, tensorboard: bool
) -> list[keras.callbacks.Callback]:
    """Return the callbacks for `fit`."""
    training, progress, distribution = begun.training, begun.progress, begun.distribution
    task, settings, network = training.task, training.settings, begun.network
    quick = task.fast_variant(training.model)

    def measure() -> dict[str, float]:
        alone = distribution.workers == 1  # otherwise other workers would wait for this one
        with averaged(network), stop.rest() if alone else contextlib.nullcontext():
            return {name: float(value) for name, value in task.measure(quick, training.splits.dev).metrics.items()}

    def sample(epoch: int) -> str:
        with averaged(network):
            return sample_of(quick, task, training.splits.dev, epoch)

    done = progress.epoch * training.steps + progress.step
    seen: list[keras.callbacks.Callback] = []
    if distribution.is_chief:
        seen.append(ProgressBar(training.steps, settings.epochs, done, sample))
        seen += board(begun.folder / "tensorboard", training) if tensorboard else []
    return [
        StopOnDivergence(progress, lambda: diagnose(training, progress.epoch, progress.step)),
        LogThroughput(progress, training.symbols),
        EvaluateModel(lambda: distribution.from_chief(measure)),
        SaveBest(f"dev_{task.monitor}", settings.patience, begun.save, progress, task.higher_is_better),
        *seen,
        SaveCheckpoints(progress, begun.store, stop, distribution.anyone, keeping.steps, keeping.minutes),
    ]


def _fit(
    training: Training,
    distribution: Distribution,
    progress: Progress,
    callbacks: Sequence[keras.callbacks.Callback],
) -> None:
    """Train to the end: first the rest of an interrupted epoch, then whole epochs."""
    network, settings, steps = training.model.network, training.settings, training.steps
    if progress.step == steps:  # all steps are done, but not the end of the epoch
        logs = {name: float(value) for name, value in network.get_metrics_result().items()}
        keras.callbacks.CallbackList(callbacks, model=network).on_epoch_end(progress.epoch, logs)
    while not progress.finished(settings.epochs, settings.patience):
        network.fit(
            distribution.prepare(network, training.batches(progress.epoch, progress.step, distribution.part)),
            epochs=progress.epoch + 1 if progress.step else settings.epochs,
            initial_epoch=progress.epoch,
            steps_per_epoch=steps - progress.step,
            callbacks=list(callbacks),
            shuffle=False,  # the dataset shuffles
            verbose=0,
        )


@contextlib.contextmanager
def averaged(network: keras.Model) -> Iterator[None]:
    """Replace the weights by their moving averages inside the `with` block, if the optimizer has them."""

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
    """Turn an error about a value that the graph cannot read into one that names its example."""
    try:
        yield
    except (tf.errors.InvalidArgumentError, tf.errors.UnknownError) as error:
        refuse_unreadable(training.model, training.splits.train)
        why = error.message.strip().splitlines()[-1]
        raise ValueError(f"train: expected inputs that match the targets. Received: {why}") from error
