"""Distributed training: Keras `fit` on all GPUs of a machine, or on several machines, as if on one device.

Keras 3 cannot `fit` under `MultiWorkerMirroredStrategy` (keras#20585). This module supplies what is missing: batches
that every worker plans identically, a step whose logs need no reduction, gradients that are clipped after they are
summed, and a mean loss that each worker can read locally. This relies on private methods of Keras, so only the versions
of Keras that are known to have them are accepted.
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

_KERAS = ("3.15.",)  # prefixes of the supported versions
INDEX = (
    "SLURM_PROCID",
    "JOB_COMPLETION_INDEX",
)  # variables in which Slurm and indexed Kubernetes jobs store the index of a worker
SUM = tf.distribute.ReduceOp.SUM
_APART = 1_000_003  # the distance between the seeds of two replicas
_LOST = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.DeadlineExceededError, tf.errors.CancelledError)


class WorkerLost(RuntimeError):
    """The error for a lost worker, without which training cannot continue."""


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The addresses of all workers, and the index of this one. The first worker is the chief."""

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
        """Create a cluster from `host:port,host:port`.

        Without an index, it is taken from `SLURM_PROCID` or `JOB_COMPLETION_INDEX`, or from the only host with this
        machine's name.

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
        """Create a cluster from the value of `TF_CONFIG`. If it has a chief, that is the first worker."""
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
        """Wait until all workers respond, because TensorFlow would wait forever and ignore signals.

        Raises:
            ValueError: If this worker's port is in use.
            WorkerLost: If another worker does not respond in time.
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
                    expected = f"worker {self.index}: expected all other workers within {patience:.0f} s"
                    raise WorkerLost(f"{expected}. Received: no answer from {', '.join(others)}")
                time.sleep(0.2)


def _answers(address: str) -> bool:
    """Return whether a server listens at this address."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def _own(addresses: Sequence[str]) -> int:
    """Return the index of the address of this machine."""
    name = socket.gethostname()
    names = {name, name.partition(".")[0], socket.getfqdn()}
    found = [index for index, address in enumerate(addresses) if address.rpartition(":")[0] in names]
    if len(found) != 1:
        expected = f"worker index: expected --worker-index, one of {INDEX}, or one host named {name!r}"
        raise ValueError(f"{expected}. Received: {len(found)} such hosts in {','.join(addresses)!r}")
    return found[0]


class Distribution:
    """The base class of distributions, and the one for a single device.

    A training run creates its network and its optimizer in `scope`, compiles them with `compile`, selects its `part` of
    every batch, and passes the result of `prepare` to `fit`. Every worker does all of this. Only the chief evaluates
    (see `from_chief`), reads checkpoints (see `share`) and writes files.
    """

    replicas = 1
    index, workers = 0, 1
    compiles = True  # whether XLA may compile the steps

    @property
    def is_chief(self) -> bool:
        """Whether this worker writes files."""
        return self.index == 0

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """Return the context in which variables are created."""
        return contextlib.nullcontext()

    def check(self, batch_size: int) -> None:
        """Raise an error if replicas cannot share batches evenly."""
        if batch_size % self.replicas:
            raise ValueError(f"batch_size: expected a multiple of the {self.replicas} replicas. Received: {batch_size}")

    def compile(self, network: keras.Model, optimizer: keras.optimizers.Optimizer, loss: Any) -> None:
        """Compile a network and create all of its state."""
        network.compile(optimizer, loss, jit_compile=False)
        network.optimizer.build(network.trainable_variables)

    def part(self, rows: tf.data.Dataset) -> tf.data.Dataset:
        """Return the rows that this worker reads of batches `[batch, ...]`: one batch per replica in sequence."""
        return rows

    def prepare(self, network: keras.Model, batches: tf.data.Dataset) -> Any:
        """Return the data for `fit`, with `steps_per_epoch`, for a compiled and restored network and its batches."""
        return batches

    def from_chief(self, make: Callable[[], Any]) -> Any:
        """Return on all workers what `make` returns on the chief, a JSON value. The other workers wait for it."""
        return make()

    def share(self, variables: Iterable[Any]) -> None:
        """Copy the values of the chief to all workers."""

    def anyone(self, asks: object) -> bool:
        """Return whether any worker has passed a true value before the last step; all workers get the same answer.

        This must be called after every step.
        """
        return bool(asks)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Raise `WorkerLost` if a worker is lost inside this context."""
        yield


def open_strategy(
    name: str = "none", workers: str = "", index: int | None = None, patience: float = 600.0
) -> Distribution:
    """Return the distribution with this name. Call this before any computation.

    Args:
        name: `none`, `mirrored` for all GPUs of this machine, or `multiworker` for several machines.
        workers: `host:port,host:port,...`, the same on all workers; by default, they are taken from `TF_CONFIG`.
        index: The index of this worker; see `Cluster.of`.
        patience: The number of seconds to wait for the others.

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
            f"keras: expected {known} with strategy={name}, which replaces parts of fit. Received: {keras.__version__}"
        )
    if name == "mirrored":
        return StrategyDistribution(_mirrored())
    if not workers and not os.environ.get("TF_CONFIG"):
        raise ValueError("workers: expected --workers host:port,host:port,... or TF_CONFIG. Received: neither")
    cluster = Cluster.of(workers, index) if workers else Cluster.of_environment(os.environ["TF_CONFIG"])
    try:
        return StrategyDistribution(_multiworker(cluster, patience), cluster.index, len(cluster.addresses))
    except tf.errors.OpError as error:
        raise WorkerLost(
            f"worker {cluster.index}: expected all other workers to start. Received: {error.message}"
        ) from None


# Each strategy numbers its reductions from the beginning, so a process must have only one.
@functools.cache
def _mirrored() -> tf.distribute.Strategy:
    """Return a strategy for all GPUs of this machine, or for its CPU if there are none."""
    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    return tf.distribute.MirroredStrategy([device.name for device in devices])


@functools.cache
def _multiworker(cluster: Cluster, patience: float) -> tf.distribute.Strategy:
    """Return a strategy for all GPUs of all workers, or for their CPUs if there are none."""
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
            f"strategy: expected multiworker to be set up before any computation. Received: {error}"
        ) from None
    finally:
        if threading.current_thread() is threading.main_thread():  # TensorFlow replaces the handler of SIGTERM
            signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))


class StrategyDistribution(Distribution):
    """Training on all replicas of a strategy.

    Args:
        strategy: A mirrored strategy, on one machine or several.
        index: The index of this worker.
        workers: The number of workers.
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
        """Return the context in which variables are created, with the values of the chief on all replicas."""
        return self.strategy.scope()

    def compile(self, network: keras.Model, optimizer: keras.optimizers.Optimizer, loss: Any) -> None:
        """Compile a network whose replicas are trained together, and create all of its state."""
        if optimizer._distribution_strategy is not self.strategy:
            raise ValueError(
                "optimizer: expected an optimizer created in the scope of the strategy. Received: one created outside"
            )

        def make_train_function(force: bool = False) -> None:
            if force or network.train_function is None:
                network.train_function = self._step_of(network)

        with self.scope(), keras.src.utils.tracking.DotNotTrackScope():
            network.compile(_clipping_sums(optimizer), loss, jit_compile=False)
            if network.optimizer is not optimizer:  # Keras's loss scaling, with reduction in a conditional
                expected = "precision: expected float32 or mixed_bfloat16 with a strategy"
                raise ValueError(f"{expected}. Received: mixed_float16")
            optimizer.build(network.trainable_variables)
            network._loss_tracker = _SharedMean(self._asks, self._asked, name="loss")
            network._maybe_symbolic_build = lambda *_, **__: None  # Keras would reduce a batch for this; see prepare
            network.make_train_function, network.compute_loss = make_train_function, _with_own_losses(network)

    def part(self, rows: tf.data.Dataset) -> tf.data.Dataset:
        """Return every n-th row of each batch for n replicas, so that each replica gets both long and short rows."""
        here = self.replicas // self.workers
        first = self.index * here

        @tf.autograph.experimental.do_not_convert
        def own(batch: tf.Tensor) -> tf.data.Dataset:
            cut = tf.reshape(batch, tf.concat([[-1, self.replicas], tf.shape(batch)[1:]], axis=0))
            return tf.data.Dataset.from_tensor_slices(tf.stack(tf.unstack(cut, axis=1)[first : first + here]))

        return rows.flat_map(own)

    def prepare(self, network: keras.Model, batches: tf.data.Dataset) -> Any:
        """Return the data for `fit`, with `steps_per_epoch`: this worker's batches, repeated indefinitely."""
        with self.scope():
            network._symbolic_build(data_batch=batches.element_spec)
        self._set_seeds_apart(network)
        for flag in (self._asks, self._asked):
            flag.assign(0.0)
        return self.strategy.distribute_datasets_from_function(lambda _: batches.repeat())

    def _step_of(self, network: keras.Model) -> Callable[[Any], dict[str, tf.Tensor]]:
        """Return the training step of `fit`; its logs are already the same on all replicas."""

        @tf.function(reduce_retracing=True)
        def step(iterator: Any) -> dict[str, tf.Tensor]:
            logs = self.strategy.run(network.train_step, args=(next(iterator),))
            return {name: self.strategy.experimental_local_results(value)[0] for name, value in logs.items()}

        return step

    def _set_seeds_apart(self, network: keras.Model) -> None:
        """Give every replica other seeds for dropout. The first one, whose state the chief saves, keeps its seeds."""

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
        """Return the sum over all workers."""
        return self.strategy.reduce(SUM, tf.identity(values), axis=None).numpy()

    def from_chief(self, make: Callable[[], Any]) -> Any:
        if self.workers == 1:
            return make()
        said = json.dumps(make()).encode() if self.is_chief else b""
        with self.watched():
            numbers = np.zeros(self._sum(np.array(len(said), np.int32)), np.int32)
            numbers[: len(said)] = np.frombuffer(said, np.uint8)
            return json.loads(self._sum(numbers).astype(np.uint8).tobytes())

    def share(self, variables: Iterable[Any]) -> None:
        if self.workers == 1:
            return
        with self.watched():
            for variable in variables:
                held = variable.numpy()
                variable.assign(self._sum(held if self.is_chief else np.zeros_like(held)))

    def anyone(self, asks: object) -> bool:
        if asks:
            self._asks.assign(1.0)
        return bool(self._asked.numpy())

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Raise `WorkerLost` if a worker is lost, and `ValueError` if workers run different commands or data."""
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
            others = " or ".join(map(str, sorted(named - {self.index}))) or "another worker"
            raise WorkerLost(
                f"worker {self.index} of {self.workers}: expected all workers to continue. "
                f"Received: no answer from {others}. "
                "Start all of them again with the same commands to resume from the last checkpoint"
            ) from error


def _clipping_sums(optimizer: keras.optimizers.Optimizer) -> keras.optimizers.Optimizer:
    """Make an optimizer clip the sum of all gradients instead of each gradient.

    The gradients of embeddings are made dense, because several replicas may contribute slices for the same row.
    """
    if (optimizer.gradient_accumulation_steps or 1) > 1:
        asked = optimizer.gradient_accumulation_steps
        raise ValueError(
            f"gradient_accumulation_steps: expected 1 with a strategy; use a larger batch_size. Received: {asked}"
        )
    clip, reduce = optimizer._clip_gradients, optimizer._all_reduce_sum_gradients

    def reduced(pairs: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        gradients, variables = zip(*reduce(pairs), strict=True)
        return list(zip(clip(gradients), variables, strict=True))

    optimizer._clip_gradients = lambda gradients: [tf.convert_to_tensor(gradient) for gradient in gradients]
    optimizer._all_reduce_sum_gradients = reduced
    return optimizer


def _with_own_losses(network: keras.Model) -> Callable[..., tf.Tensor]:
    """Return a `compute_loss` that includes the losses that the network has added on this replica.

    Replicas run in turns and switch where they wait for each other, as in the loss. As they share one network object,
    it contains the losses added by another replica after such a switch.
    """
    compute = network.compute_loss

    def compute_loss(*args: Any, **kwargs: Any) -> tf.Tensor:
        own = [loss for layer in network._flatten_layers() for loss in layer._get_own_losses()]
        added = [network._aggregate_additional_loss(loss) for loss in own]
        network._clear_losses()
        return tf.add_n([compute(*args, **kwargs), *added])

    return compute_loss


class _SharedMean(keras.metrics.Mean):
    """The mean of the loss over all replicas, which each replica can read without the others.

    The same reduction also transmits whether any worker has a request.
    """

    def __init__(self, asks: tf.Variable, asked: tf.Variable, name: str) -> None:
        self.asks, self.asked = asks, asked
        super().__init__(name=name)

    def add_variable(
        self, shape: Any, initializer: Any, dtype: Any = None, aggregation: str = "none", name: str | None = None
    ) -> keras.Variable:
        """Add a variable as Keras does, but one that is not reduced when it is read."""
        variable = keras.Variable(initializer, shape=shape, dtype=dtype, trainable=False, name=name)
        self._tracker.add_to_store("variables", variable)
        return variable

    def update_state(self, values: tf.Tensor, sample_weight: tf.Tensor | None = None) -> None:
        """Add the loss of all replicas.

        Keras multiplies the loss of each replica by the number of replicas, so the sum is divided by it.
        """
        replica = tf.distribute.get_replica_context()
        rows = tf.cast(1 if sample_weight is None else sample_weight, tf.float32)
        own = tf.stack([tf.cast(values, tf.float32), rows, self.asks])
        loss, rows, asked = tf.unstack(replica.all_reduce(SUM, own))
        self.asked.assign(asked)
        super().update_state(loss / replica.num_replicas_in_sync, rows)
