"""Two real processes, or two devices of one, give the same training results as a single device."""

import json
import signal
import socket
import time
from contextlib import contextmanager

import keras
import numpy as np
import pytest
import tensorflow as tf
from support import workers
from support.step_by_step import unimproved
from support.workers import STEPS

from seqattn_tf.training import distribution
from seqattn_tf.training.distribution import Cluster, Distribution, StrategyDistribution, open_strategy

PATIENCE = 300  # seconds for steps that take ten on an idle machine


@contextmanager
def ended(processes):
    """Terminate all of the processes at the end."""
    try:
        yield
    finally:
        for process, _ in processes:
            process.kill()
            process.wait()


def finish(processes):
    """Wait for processes, and terminate all of them at the end."""
    with ended(processes):
        for process, output in processes:
            assert process.wait(PATIENCE) == 0, output.read_text()[-3000:]


def read(folder, index=0):
    """Return the results of each training of a process."""
    return {path.stem[:-1]: dict(np.load(path)) for path in sorted(folder.glob(f"*{index}.npz"))}


def lose(processes, folder, lost):
    """Kill one of two processes that train together; return the time, and when and how the other one ended."""
    (victim, _), (other, output) = processes[lost], processes[1 - lost]
    with ended(processes):
        deadline = time.time() + PATIENCE
        while not all((folder / f"going{index}").exists() for index in range(2)):
            assert time.time() < deadline
            assert [process.poll() for process, _ in processes] == [None, None], output.read_text()[-3000:]
            time.sleep(0.1)
        killed = time.time()
        victim.send_signal(signal.SIGKILL)
        status, left = other.wait(PATIENCE), time.time()
    return (killed, left, status, *json.loads((folder / f"lost{1 - lost}").read_text()))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The results of one device, of two devices, and of two processes, the second of which was killed at the end."""
    alone, together, mirrored = (tmp_path_factory.mktemp(name) for name in ("alone", "together", "mirrored"))
    addresses = workers.addresses(2)
    processes = [workers.start("multiworker", together, addresses, index) for index in range(2)]
    try:
        with unimproved():  # as in the other trainings
            workers.one(alone)
    finally:
        loss = lose(processes, together, 1)
    finish([workers.start("mirrored", mirrored, "", 0)])
    return {
        "late": (mirrored / "late").read_text(),
        "loss": loss,
        "one": read(alone),
        "first": read(together),
        "second": read(together, 1),
        "mirrored": read(mirrored),
    }


def largest(some, others, kinds=("weight", "optimizer", "steps", "epochs")):
    """Return the maximum difference between the arrays of these kinds."""
    names = [name for name in some if name.startswith(kinds)]
    assert len(names) > 2
    return max(np.abs(some[name] - others[name]).max() for name in names)


def test_two_workers_are_the_same_and_equal_one(found):
    one, first, second = (found[who]["steady"] for who in ("one", "first", "second"))
    assert largest(first, second) == 0
    assert largest(first, one) < 1e-5
    assert len(one["steps"]) == STEPS
    assert one["epochs"][1] < one["epochs"][0] - 0.1  # training reduced the loss


@pytest.mark.slow
def test_an_encoder_decoder_of_two_workers_equals_that_of_one(tmp_path):
    alone, together = tmp_path / "alone", tmp_path / "together"
    alone.mkdir()
    together.mkdir()
    addresses = workers.addresses(2)
    processes = [workers.start("multiworker_pairs", together, addresses, index) for index in range(2)]
    try:
        workers.train(alone, Distribution(), (workers.pairs,))
    finally:
        finish(processes)
    one, first, second = read(alone)["pairs"], read(together)["pairs"], read(together, 1)["pairs"]
    assert largest(first, second) == 0
    assert largest(first, one) < 1e-5
    assert one["epochs"][1] < one["epochs"][0] - 0.1  # training reduced the loss


@pytest.mark.parametrize("training", ["clipped", "tagged"])
def test_two_devices_equal_one(found, training):
    """`tagged`: if the replicas have rows of different lengths, a CRF divides by the tokens of all replicas."""
    assert largest(found["mirrored"][training], found["one"][training]) < 1e-5


@pytest.mark.parametrize("who", ["first", "mirrored"])
def test_with_dropout_the_curves_agree_and_no_two_replicas_drop_the_same(found, who):
    one, several, second = (found[name]["dropped"] for name in ("one", who, "second"))
    assert largest(several, one, ("weight",)) > 1e-3
    np.testing.assert_allclose(several["epochs"], one["epochs"], rtol=0.03)
    assert several["seeds"].tolist() == one["seeds"].tolist()  # a checkpoint has the seeds of a single device
    assert second["seeds"][0] != one["seeds"][0]
    assert largest(several, second, ("weight", "steps", "epochs")) == 0


def test_what_the_chief_remembers_goes_on_as_if_nothing_was(found):
    whole, first, second = found["first"]["dropped"], found["first"]["resumed"], found["second"]["resumed"]
    assert largest(first, second, ("weight", "steps", "epochs")) == 0
    assert largest(first, {**whole, "epochs": whole["epochs"][1:]}, ("weight", "epochs")) == 0


def test_what_one_worker_asks_all_hear_after_the_same_step(found):
    heard = [found[who]["asked"]["heard"].tolist() for who in ("one", "first", "second")]
    assert heard == [[3], [4], [4]]


def test_all_have_the_figures_of_the_chief(found):
    for who in ("first", "second"):
        figures = found[who]["said"]
        assert (figures["per"], figures["chief"]) == (1 / 3, 0)
        assert np.isnan(figures["none"])


def assert_said(loss, lost):
    """Check that the other worker exited within a minute, with a clear error."""
    killed, left, status, known, message = loss
    assert status == 1
    assert known - killed < 60
    assert left - known < 30
    assert message == (
        f"worker {1 - lost} of 2: expected all workers to continue. Received: no answer from {lost}. "
        "Start all of them again with the same commands to resume from the last checkpoint"
    )


def test_a_killed_worker_ends_the_other_with_a_clear_error_within_a_minute(found):
    assert_said(found["loss"], 1)


@pytest.mark.slow
def test_a_killed_chief_ends_the_other_with_a_clear_error_within_a_minute(tmp_path):
    addresses = workers.addresses(2)
    processes = [workers.start("endless", tmp_path, addresses, index) for index in range(2)]
    assert_said(lose(processes, tmp_path, 0), 0)


def test_a_strategy_that_comes_too_late_says_so(found):
    expected = "strategy: expected multiworker to be set up before any computation. Received: "
    assert found["late"].startswith(expected)


# Without other processes


@pytest.fixture
def strategy():
    """All devices of this machine."""
    return open_strategy("mirrored")


def test_without_a_strategy_nothing_changes():
    alone = open_strategy()
    assert (type(alone), alone.replicas, alone.workers, alone.is_chief) == (Distribution, 1, 1, True)
    data = tf.data.Dataset.range(3)
    assert alone.part(data) is data
    assert alone.prepare(keras.Model(), data) is data
    assert alone.from_chief(lambda: 3) == 3
    assert (alone.anyone(15), alone.anyone(0)) == (True, False)
    alone.check(7)


def test_one_device_may_be_mirrored(strategy):
    assert (strategy.replicas, strategy.workers, strategy.is_chief) == (1, 1, True)
    one, mirrored = (workers.clipped(who) for who in (Distribution(), strategy))
    assert largest(one, mirrored) < 1e-5
    assert strategy.from_chief(lambda: {"symbol_error_rate": 0.5}) == {"symbol_error_rate": 0.5}


def test_a_row_that_is_read_often_moves_by_the_sum_of_its_gradients(strategy):
    with strategy.scope():
        network = keras.Sequential([keras.layers.Embedding(3, 1, embeddings_initializer="zeros")])
        network.build([None, 5])
        strategy.compile(network, keras.optimizers.Adam(0.1), "mse")
    data = tf.data.Dataset.from_tensors((tf.constant([[1, 1, 1, 1, 2]]), tf.ones([1, 5, 1])))
    network.fit(strategy.prepare(network, data), steps_per_epoch=1, shuffle=False, verbose=0)
    np.testing.assert_allclose(network.weights[0].numpy()[:, 0], [0, 0.1, 0.1], rtol=1e-4)
    network.fit(strategy.prepare(network, data), steps_per_epoch=3, epochs=2, shuffle=False, verbose=0)
    assert network.optimizer.iterations.numpy() == 7  # the dataset repeats


def test_every_row_of_a_batch_goes_to_one_replica():
    rows = tf.data.Dataset.range(24).batch(12)
    taken = []
    for index in range(3):  # workers with two replicas each
        worker = StrategyDistribution.__new__(StrategyDistribution)
        worker.index, worker.workers, worker.replicas = index, 3, 6
        taken.append([own.tolist() for own in worker.part(rows).as_numpy_iterator()])
    assert taken[1] == [[2, 8], [3, 9], [14, 20], [15, 21]]
    assert sorted(row for worker in taken for own in worker for row in own) == list(range(24))


def test_a_batch_that_replicas_cannot_share_is_refused():
    worker = StrategyDistribution.__new__(StrategyDistribution)
    worker.replicas = 3
    with pytest.raises(ValueError, match=r"batch_size: expected a multiple of the 3 replicas\. Received: 256"):
        worker.check(256)
    worker.check(255)


def test_an_optimiser_from_outside_or_with_accumulation_is_refused(strategy):
    with strategy.scope():
        network = keras.Sequential([keras.layers.Dense(1)])
    with pytest.raises(ValueError, match="optimizer: expected an optimizer created in the scope of the strategy"):
        strategy.compile(network, keras.optimizers.SGD(), "mse")
    with (
        strategy.scope(),
        pytest.raises(ValueError, match=r"accumulation_steps: expected 1 with a strategy.* Received: 4"),
    ):
        strategy.compile(network, keras.optimizers.SGD(gradient_accumulation_steps=4), "mse")


def test_half_precision_that_scales_the_loss_is_refused(strategy):
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    try:
        with (
            strategy.scope(),
            pytest.raises(ValueError, match="precision: expected float32 or mixed_bfloat16 with a str"),
        ):
            strategy.compile(keras.Sequential([keras.layers.Dense(1)]), keras.optimizers.SGD(), "mse")
    finally:
        keras.config.set_dtype_policy(policy)


def test_other_errors_of_tensorflow_stay_what_they_are(strategy):
    with pytest.raises(tf.errors.UnavailableError), strategy.watched():
        raise tf.errors.UnavailableError(None, None, "no other worker to be lost")
    strategy.workers = 2
    with pytest.raises(tf.errors.InvalidArgumentError), strategy.watched():
        raise tf.errors.InvalidArgumentError(None, None, "an example of this worker")
    with (
        pytest.raises(ValueError, match=r"worker 0 of 2: expected the same command and data.* Received: Collective .*"),
        strategy.watched(),
    ):
        raise tf.errors.InvalidArgumentError(None, None, "Collective ops is aborted by: Shape mismatch")


def test_an_unknown_keras_or_strategy_is_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"strategy: expected none, mirrored or multiworker. Received: 'tpu'"):
        open_strategy("tpu")
    monkeypatch.setattr(keras, "__version__", "3.16.0")
    for name in ("mirrored", "multiworker"):
        expected = rf"keras: expected 3\.15\.\* with strategy={name}, which replaces parts of fit\. Received: 3\.16\.0"
        with pytest.raises(ValueError, match=expected):
            open_strategy(name)
    open_strategy("none")


@pytest.fixture
def nobody(monkeypatch):
    """An environment without settings for workers."""
    for name in ("TF_CONFIG", *distribution.INDEX):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_workers_are_named_by_the_user_or_the_environment(nobody):
    with pytest.raises(
        ValueError, match=r"expected --workers host:port,host:port,\.\.\. or TF_CONFIG\. Received: neither"
    ):
        open_strategy("multiworker")
    both = ("left:5000", "right:5001")
    assert Cluster.of("left:5000, right:5001", 1) == Cluster(both, 1)
    nobody.setenv("JOB_COMPLETION_INDEX", "1")
    assert Cluster.of("left:5000,right:5001") == Cluster(both, 1)
    nobody.setenv("SLURM_PROCID", "0")
    assert Cluster.of("left:5000,right:5001") == Cluster(both, 0)
    nobody.delenv("SLURM_PROCID")
    nobody.delenv("JOB_COMPLETION_INDEX")
    nobody.setattr(socket, "gethostname", lambda: "right.cluster")
    assert Cluster.of("left:5000,right:5001").index == 1
    with pytest.raises(
        ValueError, match=r"expected --worker-index, .* or one host named 'right.cluster'.*: 2 such hosts"
    ):
        Cluster.of("right:5000,right:5001")
    config = {"cluster": {"chief": ["left:5000"], "worker": ["right:5001"]}, "task": {"type": "worker", "index": 0}}
    assert Cluster.of_environment(json.dumps(config)) == Cluster(both, 1)
    assert Cluster.of_environment(json.dumps({**config, "task": {"type": "chief", "index": 0}})) == Cluster(both, 0)
    for wrong in ("", "[]", "{}", json.dumps({**config, "task": {"type": "evaluator", "index": 0}})):
        with pytest.raises(ValueError, match=r"TF_CONFIG: expected .*Received: "):
            Cluster.of_environment(wrong)
    nobody.setenv("TF_CONFIG", "no JSON")
    with pytest.raises(ValueError, match=r"TF_CONFIG: expected .* Received: no JSON"):
        open_strategy("multiworker")


def test_workers_that_do_not_come_are_named(nobody):
    addresses = workers.addresses(3).split(",")
    with socket.socket() as second:
        second.bind(("", int(addresses[1].rpartition(":")[2])))
        second.listen()
        began = time.time()
        with pytest.raises(
            distribution.WorkerLost, match=rf"worker 0: .* within 1 s\. Received: no answer from {addresses[2]}$"
        ):
            open_strategy("multiworker", ",".join(addresses), 0, patience=1)
        assert time.time() - began < 20


def test_addresses_that_cannot_be_are_refused(nobody):
    for wrong in ("left", "left:", ":5000", "left:port", "left:70000", ""):
        with pytest.raises(ValueError, match="workers: expected host:port,host:port"):
            open_strategy("multiworker", wrong or " ", 0)
    with pytest.raises(ValueError, match="workers: expected different addresses"):
        open_strategy("multiworker", "left:5000,left:5000", 0)
    for index in (2, -1):
        with pytest.raises(ValueError, match=rf"worker index: expected one from 0 to 1\. Received: {index}"):
            open_strategy("multiworker", "left:5000,right:5000", index)
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        own = f"localhost:{taken.getsockname()[1]}"
        with pytest.raises(
            ValueError, match=rf"workers: expected a free port of {own}\. Received: Address already in use"
        ):
            open_strategy("multiworker", f"{own},localhost:1", 0)
