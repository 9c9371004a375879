"""Many devices, many machines: Keras `fit` on all GPUs of a machine, or on several machines, as if on one device.

Keras 3 cannot `fit` under `MultiWorkerMirroredStrategy` (keras#20585). What it lacks is here: batches that every worker
plans alike, a step whose logs need no reduction, gradients that are clipped after they are summed, and a mean of the
loss that each worker can read for itself. That takes methods which Keras calls its own: the versions of Keras that are
known to have them are named, and others refused.
"""

import contextlib
import dataclasses
import functools
import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

_KERAS = ("3.15.",)  # what the known versions begin with
INDEX = (
    "SLURM_PROCID",
    "JOB_COMPLETION_INDEX",
)  # where Slurm and an indexed job of Kubernetes say which worker this is
SUM = tf.distribute.ReduceOp.SUM
_APART = 1_000_003  # the seeds of two replicas
_LOST = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.DeadlineExceededError, tf.errors.CancelledError)


class WorkerLost(RuntimeError):
    """Another worker is gone: nothing can be trained without it."""


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Who trains together: the addresses of all workers, and which one this is; the first is the chief."""

    addresses: tuple[str, ...]
    index: int

    def __post_init__(self) -> None:
        for address in self.addresses:
            host, _, port = address.rpartition(":")
            if not host or not port.isdecimal() or not 0 < int(port) < 65536:
                raise ValueError(f"workers: expected host:port,host:port,... Received: {address!r}")
        if not self.addresses or len(set(self.addresses)) < len(self.addresses):
            raise ValueError(f"workers: expected different addresses. Received: {','.join(self.addresses)!r}")
        if not 0 <= self.index < len(self.addresses):
            expected = f"worker index: expected one from 0 to {len(self.addresses) - 1}"
            raise ValueError(f"{expected}. Received: {self.index}")

    @classmethod
    def of(cls, workers: str, index: int | None = None) -> "Cluster":
        """What `host:port,host:port` says.

        Without an index, `SLURM_PROCID` or `JOB_COMPLETION_INDEX` is this worker's, or the only host of its own name.

        >>> Cluster.of("left:5000,right:5000", 1)
        Cluster(addresses=('left:5000', 'right:5000'), index=1)
        """
        addresses = tuple(address.strip() for address in workers.split(","))
        if index is None:
            given = [os.environ[name] for name in INDEX if os.environ.get(name)]
            index = int(given[0]) if given and given[0].isdecimal() else _own(addresses)
        return cls(addresses, index)

    @classmethod
    def of_environment(cls, text: str) -> "Cluster":
        """What `TF_CONFIG` says: a chief, where it has one, is the first worker."""
        try:
            config = json.loads(text)
            jobs, task = config["cluster"], config["task"]
            chiefs = jobs.get("chief", [])
            first = {"chief": 0, "worker": len(chiefs)}[task["type"]]
            return cls((*chiefs, *jobs.get("worker", [])), first + int(task["index"]))
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError):
            expected = 'TF_CONFIG: expected {"cluster": {"worker": [...]}, "task": {"type": "worker", "index": 0}}'
            raise ValueError(f"{expected}. Received: {text:.200}") from None

    def meet(self, patience: float) -> None:
        """Wait until all workers are there: TensorFlow would do that for ever, and heed no signal meanwhile.

        Raises:
            ValueError: this worker's port is in use.
            WorkerLost: another one did not come.
        """
        own = self.addresses[self.index]
        others = [address for address in self.addresses if address != own]
        deadline = time.monotonic() + patience
        with socket.socket() as door:
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                door.bind(("", int(own.rpartition(":")[2])))
            except OSError as error:
                raise ValueError(f"workers: expected a free port of {own}. Received: {error.strerror}") from None
            door.listen(len(self.addresses))
            while others := [address for address in others if not _answers(address)]:
                if time.monotonic() > deadline:
                    expected = f"worker {self.index}: expected all others within {patience:.0f} s"
                    raise WorkerLost(f"{expected}. Received: no answer of {', '.join(others)}")
                time.sleep(0.2)


def _answers(address: str) -> bool:
    """Whether something listens there."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def _own(addresses: Sequence[str]) -> int:
    """Which of the addresses is this machine's."""
    name = socket.gethostname()
    names = {name, name.partition(".")[0], socket.getfqdn()}
    found = [index for index, address in enumerate(addresses) if address.rpartition(":")[0] in names]
    if len(found) != 1:
        expected = f"worker index: expected --worker-index, one of {INDEX}, or one host named {name!r}"
        raise ValueError(f"{expected}. Received: {len(found)} such hosts in {','.join(addresses)!r}")
    return found[0]


class Distribution:
    """How a training is spread. This one is not: one device trains.

    A training makes its network and its optimiser in `scope`, has them compiled by `compile`, takes of every batch its
    `part`, and hands what `prepare` returns to `fit`. All of it happens on every worker alike, but for what only the
    chief does: measuring (see `from_chief`), reading checkpoints (see `share`) and writing.
    """

    replicas = 1
    index, workers = 0, 1
    compiles = True  # whether XLA may compile its steps

    @property
    def is_chief(self) -> bool:
        """Whether this worker writes."""
        return self.index == 0

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """Where variables are made."""
        return contextlib.nullcontext()

    def check(self, batch_size: int) -> None:
        """Refuse batches that replicas cannot share evenly."""
        if batch_size % self.replicas:
            raise ValueError(f"batch_size: expected a multiple of the {self.replicas} replicas. Received: {batch_size}")

    def compile(self, network: keras.Model, optimizer: keras.optimizers.Optimizer, loss: Any) -> None:
        """Compile a network, to be trained as one; what its state is of is all there then."""
        network.compile(optimizer, loss, jit_compile=False)
        network.optimizer.build(network.trainable_variables)

    def part(self, rows: tf.data.Dataset) -> tf.data.Dataset:
        """Of batches of rows `[batch, ...]`, those that this worker reads: one batch after another for each replica."""
        return rows

    def prepare(self, network: keras.Model, batches: tf.data.Dataset) -> Any:
        """What `fit` reads, with `steps_per_epoch`, to train a compiled and restored network on its own batches."""
        return batches

    def from_chief(self, make: Callable[[], Any]) -> Any:
        """What the chief makes, on all workers; JSON holds it. Others wait for it."""
        return make()

    def share(self, variables: Iterable[Any]) -> None:
        """Give all workers the values that the chief has."""

    def anyone(self, asks: object) -> bool:
        """Whether a worker asked for something before the last step: asked after every step, all get one answer."""
        return bool(asks)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """A stretch in which a lost worker is a `WorkerLost`."""
        yield


def open_strategy(
    name: str = "none", workers: str = "", index: int | None = None, patience: float = 600.0
) -> Distribution:
    """The distribution of that name: call it before anything is computed.

    Args:
        name: `none`, `mirrored` for all GPUs of this machine, or `multiworker` for several machines.
        workers: `host:port,host:port,...`, the same on all of them; without it, `TF_CONFIG` says who trains.
        index: which of them this one is; see `Cluster.of`.
        patience: seconds to wait for the others.

    >>> open_strategy().replicas
    1
    """
    if name == "none":
        return Distribution()
    if name not in ("mirrored", "multiworker"):
        raise ValueError(f"strategy: expected none, mirrored or multiworker. Received: {name!r}")
    if not keras.__version__.startswith(_KERAS):
        known = " or ".join(f"{version}*" for version in _KERAS)
        raise ValueError(
            f"keras: expected {known} with strategy={name}, which changes its fit. Received: {keras.__version__}"
        )
    if name == "mirrored":
        return Spread(_mirrored())
    if not workers and not os.environ.get("TF_CONFIG"):
        raise ValueError("workers: expected --workers host:port,host:port,... or TF_CONFIG. Received: neither")
    cluster = Cluster.of(workers, index) if workers else Cluster.of_environment(os.environ["TF_CONFIG"])
    try:
        return Spread(_multiworker(cluster, patience), cluster.index, len(cluster.addresses))
    except tf.errors.OpError as error:
        raise WorkerLost(f"worker {cluster.index}: expected all others to begin. Received: {error.message}") from None


@functools.cache  # reductions are numbered, by each strategy from the beginning: a process has one
def _mirrored() -> tf.distribute.Strategy:
    """All GPUs of this machine, or else its CPU."""
    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    return tf.distribute.MirroredStrategy([device.name for device in devices])


@functools.cache
def _multiworker(cluster: Cluster, patience: float) -> tf.distribute.Strategy:
    """All GPUs of all workers, or else their CPUs."""
    cluster.meet(patience)
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": list(cluster.addresses)}),
        task_type="worker",
        task_id=cluster.index,
        rpc_layer="grpc",
        num_accelerators={"GPU": len(tf.config.list_physical_devices("GPU"))},
    )
    try:
        return tf.distribute.MultiWorkerMirroredStrategy(resolver)
    except RuntimeError as error:
        raise RuntimeError(
            f"strategy: expected multiworker to come before any computation. Received: {error}"
        ) from None
    finally:
        if threading.current_thread() is threading.main_thread():  # TensorFlow takes this signal, and does nothing
            signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))


class Spread(Distribution):
    """A training on all replicas of a strategy.

    Args:
        strategy: mirrored, on one machine or several.
        index: which worker this is.
        workers: how many there are.
    """

    compiles = False

    def __init__(self, strategy: tf.distribute.Strategy, index: int = 0, workers: int = 1) -> None:
        self.strategy, self.index, self.workers = strategy, index, workers
        self.replicas = strategy.num_replicas_in_sync
        with self.scope():
            self._asks, self._asked = (
                tf.Variable(0.0, trainable=False, aggregation=tf.VariableAggregation.NONE) for _ in range(2)
            )

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """Where variables are made, alike on all replicas: as the chief makes them."""
        return self.strategy.scope()

    def compile(self, network: keras.Model, optimizer: keras.optimizers.Optimizer, loss: Any) -> None:
        """Compile a network whose replicas are trained as one; what its state is of is all there then."""
        if optimizer._distribution_strategy is not self.strategy:
            raise ValueError("optimizer: expected one made in the scope of the strategy. Received: one made outside")

        def make_train_function(force: bool = False) -> None:
            if force or network.train_function is None:
                network.train_function = self._step_of(network)

        with self.scope(), keras.src.utils.tracking.DotNotTrackScope():
            network.compile(_clipping_sums(optimizer), loss, jit_compile=False)
            if network.optimizer is not optimizer:  # one that scales the loss, and reduces gradients in a condition
                expected = "precision: expected float32 or mixed_bfloat16 with a strategy"
                raise ValueError(f"{expected}. Received: mixed_float16")
            optimizer.build(network.trainable_variables)
            network._loss_tracker = _SharedMean(self._asks, self._asked, name="loss")
            network._maybe_symbolic_build = lambda *_, **__: None  # Keras would reduce a batch to do it; see prepare
            network.make_train_function, network.compute_loss = make_train_function, _with_own_losses(network)

    def part(self, rows: tf.data.Dataset) -> tf.data.Dataset:
        """Every so manieth row of each batch: of rows sorted by length, all replicas have long and short ones."""
        here = self.replicas // self.workers
        first = self.index * here

        @tf.autograph.experimental.do_not_convert
        def own(batch: tf.Tensor) -> tf.data.Dataset:
            cut = tf.reshape(batch, tf.concat([[-1, self.replicas], tf.shape(batch)[1:]], axis=0))
            return tf.data.Dataset.from_tensor_slices(tf.stack(tf.unstack(cut, axis=1)[first : first + here]))

        return rows.flat_map(own)

    def prepare(self, network: keras.Model, batches: tf.data.Dataset) -> Any:
        """What `fit` reads, with `steps_per_epoch`: own batches without end, as the strategy hands them to replicas."""
        with self.scope():
            network._symbolic_build(data_batch=batches.element_spec)
        self._set_seeds_apart(network)
        for flag in (self._asks, self._asked):
            flag.assign(0.0)
        return self.strategy.distribute_datasets_from_function(lambda _: batches.repeat())

    def _step_of(self, network: keras.Model) -> Callable[[Any], dict[str, tf.Tensor]]:
        """A step of `fit`; what it logs is the same on all replicas already."""

        @tf.function(reduce_retracing=True)
        def step(iterator: Any) -> dict[str, tf.Tensor]:
            logs = self.strategy.run(network.train_step, args=(next(iterator),))
            return {name: self.strategy.experimental_local_results(value)[0] for name, value in logs.items()}

        return step

    def _set_seeds_apart(self, network: keras.Model) -> None:
        """Other dropout on every replica; the first one, which the chief writes down, keeps its seeds."""

        @tf.function
        def move() -> None:
            replica = tf.distribute.get_replica_context()
            number = tf.cast(replica.replica_id_in_sync_group, tf.int64)
            for state in states:
                first = replica.all_reduce(SUM, tf.where(number == 0, tf.convert_to_tensor(state), 0))
                state.assign(first + tf.stack([number * _APART, tf.zeros_like(number)]))

        if states := [variable for variable in network.variables if variable.name == "seed_generator_state"]:
            self.strategy.run(move)

    def _sum(self, values: np.ndarray) -> np.ndarray:
        """The sum over all workers."""
        return self.strategy.reduce(SUM, tf.identity(values), axis=None).numpy()

    def from_chief(self, make: Callable[[], Any]) -> Any:
        """What the chief makes, on all workers; JSON holds it. Others wait for it."""
        if self.workers == 1:
            return make()
        said = json.dumps(make()).encode() if self.is_chief else b""
        with self.watched():
            numbers = np.zeros(self._sum(np.array(len(said), np.int32)), np.int32)
            numbers[: len(said)] = np.frombuffer(said, np.uint8)
            return json.loads(self._sum(numbers).astype(np.uint8).tobytes())

    def share(self, variables: Iterable[Any]) -> None:
        """Give all workers the values that the chief has."""
        if self.workers == 1:
            return
        with self.watched():
            for variable in variables:
                held = variable.numpy()
                variable.assign(self._sum(held if self.is_chief else np.zeros_like(held)))

    def anyone(self, asks: object) -> bool:
        """Whether a worker asked for something before the last step: asked after every step, all get one answer."""
        if asks:
            self._asks.assign(1.0)
        return bool(self._asked.numpy())

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """A stretch in which a lost worker is a `WorkerLost`."""
        try:
            yield
        except tf.errors.OpError as error:
            together = self.workers > 1 and "collective" in error.message.lower()
            if together and isinstance(error, tf.errors.InvalidArgumentError):
                expected = f"worker {self.index} of {self.workers}: expected the same command and data on all of them"
                raise ValueError(f"{expected}. Received: {error.message.strip().splitlines()[-1]:.300}") from error
            if self.workers == 1 or not (together or isinstance(error, _LOST)):
                raise
            named = {int(task) for task in re.findall(r"/job:worker/(?:replica:0/)?task:(\d+)", error.message)}
            others = " or ".join(map(str, sorted(named - {self.index}))) or "another one"
            raise WorkerLost(
                f"worker {self.index} of {self.workers}: expected all to go on. Received: no answer of {others}. "
                "Start all of them again with the same commands: the run goes on from its last checkpoint"
            ) from error


def _clipping_sums(optimizer: keras.optimizers.Optimizer) -> keras.optimizers.Optimizer:
    """The optimiser, which clips the sum of all gradients, not each.

    The gradients of embeddings are dense: of one row that several replicas read, there are several slices.
    """
    if (optimizer.gradient_accumulation_steps or 1) > 1:
        asked = optimizer.gradient_accumulation_steps
        raise ValueError(f"accumulate: expected 1 with a strategy; take a larger batch_size. Received: {asked}")
    clip, reduce = optimizer._clip_gradients, optimizer._all_reduce_sum_gradients

    def reduced(pairs: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        gradients, variables = zip(*reduce(pairs), strict=True)
        return list(zip(clip(gradients), variables, strict=True))

    optimizer._clip_gradients = lambda gradients: [tf.convert_to_tensor(gradient) for gradient in gradients]
    optimizer._all_reduce_sum_gradients = reduced
    return optimizer


def _with_own_losses(network: keras.Model) -> Callable[..., tf.Tensor]:
    """`compute_loss` with what the network added to the loss for this replica.

    Replicas take turns where they wait for each other, as in the loss, and the network is one: what it holds after that
    is what another replica added.
    """
    compute = network.compute_loss

    def compute_loss(*args: Any, **kwargs: Any) -> tf.Tensor:
        own = [loss for layer in network._flatten_layers() for loss in layer._get_own_losses()]
        added = [network._aggregate_additional_loss(loss) for loss in own]
        network._clear_losses()
        return tf.add_n([compute(*args, **kwargs), *added])

    return compute_loss


class _SharedMean(keras.metrics.Mean):
    """The mean of the loss of all replicas, which each can read without the others.

    The same reduction carries whether any worker asks for something.
    """

    def __init__(self, asks: tf.Variable, asked: tf.Variable, name: str) -> None:
        self.asks, self.asked = asks, asked
        super().__init__(name=name)

    def add_variable(
        self, shape: Any, initializer: Any, dtype: Any = None, aggregation: str = "none", name: str | None = None
    ) -> keras.Variable:
        """As Keras has it, but not reduced when it is read."""
        variable = keras.Variable(initializer, shape=shape, dtype=dtype, trainable=False, name=name)
        self._tracker.add_to_store("variables", variable)
        return variable

    def update_state(self, values: tf.Tensor, sample_weight: tf.Tensor | None = None) -> None:
        """Keras multiplies the part of the loss that a replica has by their number; the parts add up."""
        replica = tf.distribute.get_replica_context()
        rows = tf.cast(1 if sample_weight is None else sample_weight, tf.float32)
        own = tf.stack([tf.cast(values, tf.float32), rows, self.asks])
        loss, rows, asked = tf.unstack(replica.all_reduce(SUM, own))
        self.asked.assign(asked)
        super().update_state(loss / replica.num_replicas_in_sync, rows)
