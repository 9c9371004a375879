"""The server that the suite asks: ours in a process of its own, or the one that the environment names.

TF_SERVING_URL      its REST API, http://host:port
TF_SERVING_GRPC     its gRPC API, host:port
TF_SERVING_MODELS   the folder of the models as it sees them; without it the cases that reload are skipped

It must serve what `python -m tests.serving.conformance FOLDER` wrote, and is best asked by one pytest process.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conformance.calls import Target, connected
from conformance.models import write


@pytest.fixture(scope="session")
def target(tmp_path_factory):
    if "TF_SERVING_URL" in os.environ:
        models = os.environ.get("TF_SERVING_MODELS")
        address = os.environ["TF_SERVING_GRPC"]
        yield Target(os.environ["TF_SERVING_URL"], address, Path(models) if models else None)
        return
    folder = tmp_path_factory.mktemp("conformance")
    flags = write(folder, folder)
    command = [sys.executable, "-m", "seqattn_tf.cli", "serve", "--embedded", "--rest_api_port=0", "--port=0", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield Target(_address(server, "REST"), _address(server, "gRPC").removeprefix("grpc://"), folder)
        finally:
            server.terminate()  # SIGTERM: it finishes what it has begun, and ends
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
