import sys
from pathlib import Path

import pytest

from seqattn_tf.serving.client import GrpcClient, RestClient
from seqattn_tf.serving.server import Server

sys.path.insert(0, str(Path(__file__).parent))  # pytest does not make a test's neighbours importable
import serving_toys


@pytest.fixture(scope="session")
def exports(tmp_path_factory):
    """One exported version per number, outside any repository."""
    folder = tmp_path_factory.mktemp("exports")
    for version in (1, 2):
        serving_toys.export(version, folder / str(version))
    return folder


@pytest.fixture
def repository_root(tmp_path, exports):
    """A fresh repository with version 1 of the model `toy`."""
    root = tmp_path / "my models"  # a space in a path must not leak or break anything
    serving_toys.install(exports / "1", root / "toy", 1)
    return root


@pytest.fixture
def running(repository_root):
    """A server of its own for a test that changes the repository or stops it."""
    with Server(serving_toys.config(repository_root)) as server:
        yield server


@pytest.fixture(scope="session")
def server(tmp_path_factory, exports):
    """A server shared by the tests that only ask."""
    root = tmp_path_factory.mktemp("models")
    serving_toys.install(exports / "1", root / "toy", 1)
    (root / "toy" / "not-a-version").mkdir()
    (root / "toy" / "7").mkdir()  # a version number without a SavedModel: a copy that has only begun
    with Server(serving_toys.config(root)) as server:
        yield server


@pytest.fixture(scope="session")
def rest_client(server):
    client = RestClient(server.rest_url)
    yield client
    client.close()


@pytest.fixture(scope="session")
def grpc_client(server):
    client = GrpcClient(server.grpc_address)
    yield client
    client.close()


@pytest.fixture(params=["rest", "grpc"])
def client(request):
    return request.getfixturevalue(f"{request.param}_client")


@pytest.fixture
def gate(tmp_path):
    gate = serving_toys.Gate(tmp_path / "gate")
    yield gate
    gate.close()
