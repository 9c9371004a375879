"""Attacks with real sockets on a real server, with polite clients beside them.

Every case would fail if the server had no limit for what the attack occupies: threads, descriptors, memory or time.
"""

import resource
import subprocess
import sys

import pytest
from faults import ServerProcess

from benchmarks import attacks
from benchmarks._attacks import ATTACKS
from benchmarks._watch import Watch

SECONDS = 1.5
PROBE, REQUEST, MEGABYTES = 1.0, 3.0, 300


class Attacked:
    """A server with at most 1024 file descriptors."""

    def __init__(self, server, token="", certificate=b""):
        self.token, self.certificate = token, certificate
        self.process = server.process.pid
        self.rest, self.grpc = (int(url.rpartition(":")[2]) for url in (server.rest_url, server.grpc_address))
        resource.prlimit(self.process, resource.RLIMIT_NOFILE, (1024, 1024))

    def watch(self, attack, token=""):
        watch = Watch(self.process, self.rest, self.grpc, attacks.message(), attacks.BODY, self.token, self.certificate)
        command = [sys.executable, "-m", "benchmarks._attacks", attack, str(SECONDS)]
        ports = [str(port) for port in (self.rest, self.grpc, self.rest)]
        subprocess.run([*command, *ports, *([token] if token else [])], check=True, stdout=subprocess.DEVNULL)
        watch.stop()
        return watch


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacked")
    attacks.save_model(folder / "models")
    (folder / "token").write_text("a-token")
    return folder


@pytest.fixture(scope="module")
def plain(folder):
    with ServerProcess(folder / "models") as server:
        yield Attacked(server)


@pytest.fixture(scope="module")
def with_token(folder):
    with ServerProcess(folder / "models", f"--bearer_token_file={folder / 'token'}") as server:
        yield Attacked(server, "a-token")


@pytest.fixture(scope="module")
def with_tls(folder):
    path, certificate = attacks.write_tls(folder)
    with ServerProcess(folder / "models", f"--ssl_config_file={path}") as server:
        yield Attacked(server, certificate=certificate)


def check(watch, kinds=("probe", "request", "gRPC probe", "gRPC request")):
    faults = [fault for fault in watch.faults if fault.startswith(kinds)]
    assert not faults
    for kind in kinds:
        assert watch.slowest(kind) < (PROBE if "probe" in kind else REQUEST), kind
    assert watch.megabytes - watch.idle < MEGABYTES


@pytest.mark.parametrize("attack", [name for name in ATTACKS if name not in ("grpc_connections", "slow_tls")])
def test_polite_clients_are_answered_during(attack, plain):
    check(plain.watch(attack))


def test_rest_is_answered_while_the_grpc_port_has_too_many_connections(plain):
    check(plain.watch("grpc_connections"), ("probe", "request"))


@pytest.mark.parametrize("token", ["", "a-token"])
def test_a_token_does_not_matter(with_token, token):
    check(with_token.watch("silent_calls", token))


def test_handshakes_may_be_slow(with_tls):
    watch = with_tls.watch("slow_tls")
    check(watch)
    assert watch.megabytes - watch.idle < 60  # 400 incomplete handshakes would occupy 120
