import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from serving_toys import config, post, until

from seqattn_tf.serving.client import GrpcClient, RestClient, connect
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.models.session import session_config
from seqattn_tf.serving.server import Server, ServerConfig


def test_ports_are_real_and_known_only_after_the_start(repository_root):
    server = Server(config(repository_root))
    for address in ("rest_url", "grpc_address"):
        with pytest.raises(ValueError, match=f"{address}: expected a running server"):
            getattr(server, address)
    with server:
        assert re.fullmatch(r"http://127\.0\.0\.1:[1-9]\d+", server.rest_url)
        assert re.fullmatch(r"127\.0\.0\.1:[1-9]\d+", server.grpc_address)
        assert not server.wait(timeout=0)
        addresses = server.rest_url, server.grpc_address
    assert server.wait(timeout=0)
    server.stop()  # stopping twice has no effect
    for client in (RestClient(addresses[0]), GrpcClient(addresses[1])):
        with pytest.raises(ServingError):
            client.status("toy")


def test_a_folder_without_models_is_refused(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ValueError, match=r"expected a folder with NAME/VERSION/saved_model.pb") as raised:
            Server(config(folder)).start()
        assert str(folder) in str(raised.value)


def test_a_folder_of_models_is_not_the_base_path_of_one(repository_root):
    wrong = config(None, model_base_path=repository_root)
    with pytest.raises(ValueError, match=r"model_base_path: expected a folder with VERSION/saved_model.pb"):
        Server(wrong).start()


def test_a_folder_where_nothing_loads_is_refused(repository_root):
    (repository_root / "toy" / "1" / "saved_model.pb").write_bytes(b"\xff\xff")
    with pytest.raises(ValueError, match=r"expected a model that loads in .* Received: toy/1: "):
        Server(config(repository_root)).start()


def test_one_model_that_does_not_load_leaves_the_others_served(repository_root):
    shutil.copytree(repository_root / "toy", repository_root / "bad")
    (repository_root / "bad" / "1" / "saved_model.pb").write_bytes(b"\xff\xff")
    with Server(config(repository_root)) as server:
        assert post(server.rest_url, {"instances": ["a"]})[0] == 200
        assert post(server.rest_url, {"instances": ["a"]}, "/v1/models/bad:predict")[0] == 404


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_config_file_that_is_not_there_is_not_followed(repository_root):
    with Server(config(repository_root, model_config_file_poll_wait_seconds=0.01)) as server:
        assert post(server.rest_url, {"instances": ["a"]})[0] == 200
        assert "config-poll" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize("name", ["rest_api_port", "port"])
def test_a_port_in_use_is_an_error_that_names_it(repository_root, name):
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as taken:  # another process could share this port
        number = taken.getsockname()[1]
        ports = {"rest_api_port": 0, "port": 0} | {name: number}
        with pytest.raises(OSError, match=f"^{name}: expected a free port. Received: 127.0.0.1:{number}"):
            Server(ServerConfig(repository_root, **ports)).start()


@pytest.mark.parametrize("scheme", ["rest", "grpc"])
def test_stop_finishes_the_request_in_flight_and_lets_no_other_in(repository_root, gate, scheme):
    server = Server(config(repository_root)).start()
    url = server.rest_url if scheme == "rest" else f"grpc://{server.grpc_address}"
    idle = RestClient(server.rest_url)
    idle.status("toy")  # leaves a connection open, which must not delay the shutdown
    client = connect(url)
    client.predict("toy", {"text": ["a"]})
    started = server.repository.get("toy").predict
    calls = []
    server.repository.get("toy").predict = lambda *arguments: calls.append(1) or started(*arguments)
    with ThreadPoolExecutor(2) as threads:
        asking = threads.submit(client.predict, "toy", {"gate": [gate.path]}, None, "wait")
        stopping = None
        try:
            until(lambda: calls)
            stopping = threads.submit(server.stop)
            until(lambda: _refused(server.rest_url))
            assert not asking.done()
            assert not stopping.done()
        finally:
            gate.open()
        assert asking.result(timeout=20)["version"].tolist() == [1]
        stopping.result(timeout=20)
    client.close()
    with pytest.raises(ServingError) as raised:
        idle.status("toy")
    assert raised.value.code == "UNAVAILABLE"


def _refused(url):
    host, _, port = url.removeprefix("http://").partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return True
    return False


@pytest.mark.slow
def test_serve_prints_where_and_what_and_drains_on_sigterm(repository_root, gate):
    code = (
        "import sys; from pathlib import Path; from seqattn_tf.serving.server import ServerConfig, serve; "
        "serve(ServerConfig(Path(sys.argv[1]), rest_api_port=0, port=0))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(repository_root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    try:
        page, *lines = [process.stdout.readline().strip() for _ in range(4)]
        assert re.fullmatch(r"REST  http://127\.0\.0\.1:\d+", lines[0])
        assert re.fullmatch(r"gRPC  grpc://127\.0\.0\.1:\d+", lines[1])
        assert lines[2] == "model toy version 1"
        url = lines[0].split()[1]
        assert page == f"page  {url}/"
        with ThreadPoolExecutor(1) as threads:
            asking = threads.submit(post, url, {"signature_name": "wait", "inputs": [gate.path]})
            try:
                with pytest.raises(TimeoutError):
                    asking.result(timeout=0.5)
                process.send_signal(signal.SIGTERM)
                until(lambda: _refused(url))
            finally:
                gate.open()
            assert asking.result(timeout=20) == (200, {"outputs": {"version": [1], "name": [gate.path]}})
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_client_outlives_a_restart_of_its_server(repository_root):
    with Server(config(repository_root)) as server:
        port = int(server.rest_url.rpartition(":")[2])
        client = RestClient(server.rest_url)
        client.status("toy")
    with Server(ServerConfig(repository_root, rest_api_port=port, port=0)):
        assert client.predict("toy", {"text": ["a"]})["upper"].tolist() == ["A"]
        client.close()


def test_flags_of_the_session_reach_it(repository_root, exports, tmp_path):
    flags = {"tensorflow_intra_op_parallelism": 3, "tensorflow_inter_op_parallelism": 2}
    wanted = session_config(config(repository_root, **flags, per_process_gpu_memory_fraction=0.5))
    assert (wanted.intra_op_parallelism_threads, wanted.inter_op_parallelism_threads) == (3, 2)
    assert wanted.gpu_options.per_process_gpu_memory_fraction == 0.5
    file = tmp_path / "session.txt"
    file.write_text("intra_op_parallelism_threads: 1  # one is enough")
    with Server(config(repository_root, tensorflow_session_config_file=file)) as server:
        engine = server.repository.get("toy")._engine
        assert engine._session._config.intra_op_parallelism_threads == 1
    file.write_text("threads: 1")
    with pytest.raises(ValueError, match=r"Error parsing text-format tensorflow\.ConfigProto: 1:1"):
        Server(config(repository_root, tensorflow_session_config_file=file))
    with pytest.raises(ValueError, match=r"matching supplied tags: \{ serve gpu \}"):
        Server(config(repository_root, saved_model_tags="serve,gpu")).start()
