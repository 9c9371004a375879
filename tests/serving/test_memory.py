"""Memory, threads and sockets of a server with many requests and reloads."""

import gc

import faults
import pytest
import tensorflow as tf
from faults import ServerProcess, mixed_load, resident_mb
from serving_toys import install, until

pytestmark = pytest.mark.slow
RELOADS, MEGABYTES = 30, 20


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "1"
    faults.export(1, folder)
    return folder


@pytest.mark.parametrize("batching", [False, True])
def test_20_000_requests(tmp_path, export, batching):
    install(export, tmp_path / "steady", 1)
    flags = ["--enable_batching"] if batching else []
    with ServerProcess(tmp_path, *flags) as server:
        mixed_load(server, 4_000)
        sizes = [server.resident_mb]
        threads, descriptors = server.threads, server.descriptors
        for _ in range(4):
            mixed_load(server, 5_000)
            sizes.append(server.resident_mb)
        print(f"20 000 requests, batching {batching}: {' -> '.join(f'{size:.1f}' for size in sizes)} MB resident")
        until(lambda: server.descriptors <= descriptors)
        assert server.threads <= threads + 4  # gRPC's thread pool grows with the number of concurrent requests
        assert faults.SERVERS_OWN not in server.log
    # TensorFlow retains about 1 kB for every op that fails: in 1 333 of these requests, and twice with batching.
    assert sizes[-1] - sizes[0] < 20


def test_30_reloads(tmp_path):
    """Old versions must be freed with their weights. With TensorFlow alone, this requires the garbage collector."""
    export, root = tmp_path / "export", tmp_path / "models"
    faults.export(1, export, megabytes=MEGABYTES)
    install(export, root / "steady", 1)
    with ServerProcess(root) as server:
        for version in range(2, 5):
            faults.reload(server, export, root, "steady", version)
            mixed_load(server, 40)
        before, threads, descriptors = server.resident_mb, server.threads, server.descriptors
        for version in range(5, 5 + RELOADS):
            faults.reload(server, export, root, "steady", version)
            mixed_load(server, 40)
        grown = server.resident_mb - before
        print(f"{RELOADS} reloads of {MEGABYTES} MB: {grown:.1f} MB more in the server")
        print(f"threads {threads} -> {server.threads}, descriptors {descriptors} -> {server.descriptors}")
        assert server.threads <= threads + 4
        until(lambda: server.descriptors <= descriptors)
    for collect in (True, False):
        print(f"tf.saved_model.load as often, gc.collect() {collect}: {plain_loads(export, collect):.1f} MB more")
    # If they were kept, the old versions would be 30 times as large. The C library retains some of the freed memory.
    assert grown < 5 * MEGABYTES


def plain_loads(export, collect):
    """Return the megabytes that the same number of loads leaves behind without a server."""

    def load():
        loaded = tf.saved_model.load(str(export))
        loaded.signatures["serving_default"](tf.constant(["a"]))
        del loaded
        if collect:
            gc.collect()

    for _ in range(3):
        load()
    before = resident_mb()
    for _ in range(RELOADS):
        load()
    return resident_mb() - before
