"""The servers for the conformance suite: ours in separate processes, or those in environment variables.

TF_SERVING_URL            its REST API, http://host:port
TF_SERVING_GRPC           its gRPC API, host:port
TF_SERVING_MODELS         the folder of the models as it accesses them; without it, the reload cases are skipped
TF_SERVING_FLAGGED_URL    a server for the same models with the flags of `models.FLAGGED`
TF_SERVING_FLAGGED_GRPC   its gRPC API; without these two, the cases that need the flags are skipped

They must serve the models written by `python -m tests.serving.conformance FOLDER`. Use a single pytest process.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conformance.calls import Target, connected
from conformance.models import FLAGGED, write


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """The folder of the models, and the flags of a server for them."""
    folder = tmp_path_factory.mktemp("conformance")
    return folder, write(folder, folder)


@pytest.fixture(scope="session")
def target(request):
    if "TF_SERVING_URL" in os.environ:
        models = os.environ.get("TF_SERVING_MODELS")
        address = os.environ["TF_SERVING_GRPC"]
        yield Target(os.environ["TF_SERVING_URL"], address, Path(models) if models else None)
        return
    folder, flags = request.getfixturevalue("written")
    with _started(folder, flags) as server:
        yield server


@pytest.fixture(scope="session")
def flagged(request):
    """A server process for the same models with the flags that some cases need."""
    if "TF_SERVING_FLAGGED_URL" in os.environ:
        yield Target(os.environ["TF_SERVING_FLAGGED_URL"], os.environ["TF_SERVING_FLAGGED_GRPC"], None)
        return
    if "TF_SERVING_URL" in os.environ:
        pytest.skip("needs TF_SERVING_FLAGGED_URL, a second server with the flags of models.FLAGGED")
    folder, flags = request.getfixturevalue("written")
    with _started(folder, [*flags, *FLAGGED]) as server:
        yield server


@contextlib.contextmanager
def _started(folder, flags):
    command = [sys.executable, "-m", "seqattn_tf.cli", "serve", "--embedded", "--rest_api_port=0", "--port=0", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield Target(_address(server, "REST"), _address(server, "gRPC").removeprefix("grpc://"), folder)
        finally:
            server.terminate()  # SIGTERM: the server finishes its requests and exits
            server.wait(30)


def _address(server: subprocess.Popen, api: str) -> str:
    for line in server.stdout:
        name, _, address = line.strip().partition("  ")
        if name == api:
            return address
    raise AssertionError("the server ended before it said where it listens")


@pytest.fixture(scope="session")
def stubs(target):
    with connected(target.grpc_address) as stubs:
        yield stubs


@pytest.fixture(scope="session")
def flagged_stubs(flagged):
    with connected(flagged.grpc_address) as stubs:
        yield stubs
