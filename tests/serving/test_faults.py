"""Faults of every kind on real sockets: every accepted request gets a complete and correct response."""

import contextlib
import gc
import json
import os
import re
import shutil
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import faults
import grpc
import pytest
import serving_toys
from faults import (
    ClientAsker,
    GrpcAsker,
    Load,
    NoAnswer,
    RestAsker,
    ServerProcess,
    Wire,
    bring,
    check_error,
    http,
    mixed_load,
    predict_request,
    rest_address,
    status_of,
)
from serving_toys import config, install, load_saved_model, post, until
from support.slow import slow
from tensorflow_serving.apis import prediction_service_pb2_grpc

from seqattn_tf.serving.client import connect
from seqattn_tf.serving.models.model_config import folder_of_models
from seqattn_tf.serving.models.repository import ModelRepository
from seqattn_tf.serving.server import Server, ServerConfig

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """Exports 1 to 6 of `faults.Model`."""
    folder = tmp_path_factory.mktemp("versions")
    for version in range(1, 7):
        faults.export(version, folder / str(version))
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory, exports, versions):
    """The folder of the shared process; tests add models to it."""
    root = tmp_path_factory.mktemp("models")
    install(exports / "1", root / "toy", 1)
    install(versions / "1", root / "steady", 1)
    return root


@pytest.fixture(scope="module")
def served(models):
    """A server process for all tests that do not stop it."""
    with ServerProcess(models, "--max_request_bytes=100000000") as server:
        yield server
        assert faults.SERVERS_OWN not in server.log


@pytest.fixture
def polite(served):
    """Well-behaved clients during the faults, which must always be served without delay."""
    with Load(RestAsker(served, "steady"), GrpcAsker(served, "steady"), pace=0.005) as load:
        load.wait_for(20)
        yield load
        load.wait_for(len(load.seconds) + 20)
    print(f"  beside it: {load}")
    assert not load.faults
    assert load.quantile(0.99) < 2000


def stub(channel):
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


def askers(server, name, each):
    return [kind(server, name) for kind in (RestAsker, GrpcAsker) for _ in range(each)]


@contextlib.contextmanager
def spinning(server, name, seconds, each=1):
    """Run requests in REST and gRPC for a while, as futures of their responses."""

    def by_rest():
        return post(server.rest_url, {"signature_name": "spin", "inputs": [seconds]}, f"/v1/models/{name}:predict")[0]

    def by_grpc():
        with faults.channel(server) as channel:
            try:
                stub(channel).Predict(predict_request(name, {"seconds": [seconds]}, "spin"), timeout=60)
            except grpc.RpcError as error:
                check_error(error.details())
                return error.code()
            return 200

    with ThreadPoolExecutor(2 * each) as threads:
        yield [threads.submit(ask) for ask in (by_rest, by_grpc) for _ in range(each)]


def reload_under_load(server, root, versions, requests):
    bring(server, versions / "1", root, "hot")
    with Load(*askers(server, "hot", 3)) as load:
        for version in range(2, 7):
            load.wait_for(requests * (version - 1) // 6)
            bring(server, versions / str(version), root, "hot", version)
        load.wait_for(requests)
    assert not load.faults
    assert load.seen == set(range(1, 7))
    return load


@pytest.mark.parametrize("requests", [300, slow(10_000)])
def test_hot_reloads_under_load(served, models, versions, requests):
    print(f"hot reloads: {reload_under_load(served, models, versions, requests)}")


@pytest.mark.parametrize("requests", [300, slow(10_000)])
def test_hot_reloads_under_load_with_batching(tmp_path, versions, requests):
    install(versions / "1", tmp_path / "steady", 1)
    parameters = tmp_path / "batching"
    parameters.write_text("max_batch_size { value: 8 } batch_timeout_micros { value: 500 }")
    batching = config(tmp_path, enable_batching=True, batching_parameters_file=parameters)
    with Server(batching) as server:
        print(f"hot reloads, batching: {reload_under_load(server, tmp_path, versions, requests)}")


@pytest.fixture(scope="module")
def after_sigkill(tmp_path_factory, versions):
    """A server that was killed under load and restarted on the same ports, and the load of clients that continued."""
    root = tmp_path_factory.mktemp("killed")
    install(versions / "1", root / "steady", 1)
    with ServerProcess(root) as first:
        ports = rest_address(first)[1], int(first.grpc_address.rpartition(":")[2])
        urls = (first.rest_url, f"grpc://{first.grpc_address}")
        clients = [connect(url, retries=200, timeout=60) for url in urls for _ in range(2)]
        with Load(*(ClientAsker(client, "steady") for client in clients)) as load:
            load.wait_for(200)
            first.process.kill()
            first.process.wait()
            before = len(load.seconds)
            with ServerProcess(root, rest_port=ports[0], grpc_port=ports[1]) as second:
                load.wait_for(before + 200)
                load.finish()
                yield second, load


def test_clients_carry_on_after_sigkill_and_restart(after_sigkill):
    _, load = after_sigkill
    print(f"SIGKILL: {load}; longest {load.quantile(1):.0f} ms")
    assert not load.faults


def test_sigterm_finishes_what_was_accepted(after_sigkill):
    server, _ = after_sigkill
    assert server.models == "steady version 1"
    assert server.rest_url.startswith("http://127.0.0.1:")
    assert re.fullmatch(r"127\.0\.0\.1:\d+", server.grpc_address)
    with Load(*askers(server, "steady", 3), pace=0.005) as load:
        load.wait_for(100)
        with spinning(server, "steady", 1.2) as slow:
            load.wait_for(len(load.seconds) + 60)
            assert not any(asking.done() for asking in slow)
            assert not load.faults
            signalled = time.monotonic()
            server.terminate()
            assert [asking.result() for asking in slow] == [200, 200]
        assert server.process.wait(20) == 0
        drained = time.monotonic() - signalled
        with pytest.raises(NoAnswer):
            RestAsker(server, "steady")
        with contextlib.closing(GrpcAsker(server, "steady")) as late, pytest.raises(NoAnswer):
            late.versions(["late"])
    assert len(load.faults) == 6  # each client was rejected at the end, and none before
    for asker, error in load.faults:
        # gRPC may cancel a call that arrives at the very moment of the shutdown.
        assert isinstance(error, NoAnswer) or error.code == "CANCELLED", error
        assert asker.sent_at > signalled
    assert server.process.stdout.read() == "draining\n"
    print(f"SIGTERM: {load}; drained in {drained:.1f} s")


def truncate(version):
    path = version / "saved_model.pb"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def cut_variables(version):
    data = next((version / "variables").glob("*.data-*"))
    data.write_bytes(data.read_bytes()[:1])


SPOILT = {
    "truncated": truncate,
    "without variables": lambda version: shutil.rmtree(version / "variables"),
    "cut variables": cut_variables,
    "garbage": lambda version: (version / "saved_model.pb").write_bytes(os.urandom(10_000)),
    "empty": lambda version: (version / "saved_model.pb").write_bytes(b""),
    "forbidden": lambda version: version.chmod(0),
}


def test_corrupt_versions_are_refused_while_the_good_one_serves(served, models, versions, tmp_path):
    bring(served, versions / "1", models, "spoilt")
    with Load(*askers(served, "spoilt", 1), pace=0.005) as load:
        for number, (fault, spoil) in enumerate(SPOILT.items(), 2):
            if fault == "forbidden" and os.geteuid() == 0:
                continue  # root may do anything
            shutil.copytree(versions / "2", tmp_path / "aside")
            spoil(tmp_path / "aside")
            (tmp_path / "aside").rename(models / "spoilt" / str(number))
            until(lambda number=number: '"END"' in status_of(served, "spoilt", number))
            told = json.loads(status_of(served, "spoilt", number))["model_version_status"][0]["status"]
            assert told["error_code"] != "OK", fault
            assert told["error_message"], fault
            check_error(told["error_message"], models)
            (models / "spoilt" / str(number)).chmod(0o755)
            shutil.rmtree(models / "spoilt" / str(number))
        load.wait_for(len(load.seconds) + 20)
        assert load.seen == {1}
    print(f"corrupt versions: {load}")
    assert not load.faults


def test_a_version_that_is_copied_slowly_serves_when_whole(served, models, versions):
    bring(served, versions / "1", models, "copied")
    files = sorted(path for path in (versions / "2").rglob("*") if path.is_file())
    files.sort(key=lambda path: path.name != "saved_model.pb")  # the file that makes a folder a version comes first
    with Load(*askers(served, "copied", 1), pace=0.005) as load:
        for path in files:
            target = models / "copied" / "2" / path.relative_to(versions / "2")
            target.parent.mkdir(parents=True, exist_ok=True)
            whole = path.read_bytes()
            for size in sorted({len(whole) // 2, len(whole) - 1}):
                target.write_bytes(whole[:size])
                before = len(load.seconds)
                load.wait_for(before + 20)  # several polls of the folder
                assert load.seen == {1}
            target.write_bytes(whole)
        until(lambda: '"AVAILABLE"' in status_of(served, "copied", 2))
        load.wait_for(len(load.seconds) + 20)
        assert load.seen == {1, 2}
    print(f"slow copy: {load}")
    assert not load.faults


def test_a_model_that_is_deleted_finishes_and_is_not_found(served, models, versions):
    bring(served, versions / "1", models, "gone")
    with Load(*askers(served, "gone", 2)) as load, spinning(served, "gone", 1.5) as slow:
        load.wait_for(60)
        assert not any(asking.done() for asking in slow)
        shutil.rmtree(models / "gone")
        until(lambda: len(load.faults) == 4)
        assert [asking.result() for asking in slow] == [200, 200]
    assert {error.code for _, error in load.faults} == {404, "NOT_FOUND"}
    assert all("Servable not found for request: Latest(gone)" in str(error) for _, error in load.faults)
    print(f"deleted model: {load}")


def test_a_listed_model_whose_folder_vanished_serves_on(tmp_path, versions):
    install(versions / "1", tmp_path / "listed", 1)
    path = tmp_path / "models.config"
    entry = f'name: "listed" base_path: "{tmp_path}/listed" model_platform: "tensorflow"'
    path.write_text(f"model_config_list {{ config {{ {entry} }} }}")
    listed = ServerConfig(model_config_file=path, rest_api_port=0, port=0, file_system_poll_wait_seconds=0.05)
    with Server(listed) as server, Load(*askers(server, "listed", 1), pace=0.005) as load:
        load.wait_for(20)
        (tmp_path / "listed").rename(tmp_path / "elsewhere")
        server.repository.poll()
        load.wait_for(len(load.seconds) + 100)
        assert '"AVAILABLE"' in status_of(server, "listed", 1)
    assert not load.faults


@pytest.fixture
def nothing_left(served, polite):
    """After the faults, the server must have no more sockets than before, and only a few more threads: workers.

    Each of the tests has at least a hundred clients, so that a thread that stays for each of them would be seen.
    """
    before = served.threads, served.descriptors
    yield
    until(lambda: served.threads <= before[0] + 24 and served.descriptors <= before[1])
    print(f"  threads {before[0]} -> {served.threads}, descriptors {before[1]} -> {served.descriptors}")


ROW = {"instances": ["a"]}
GOOD = http(ROW)
LONG = http({"signature_name": "long", "instances": [8 * 1024]}, "/v1/models/steady:predict")  # the response has 8 MB


def test_clients_that_stall(served, polite, nothing_left):
    """Two hundred clients: in the headers, in the body, before reading the response; and at the gRPC port."""
    address, grpc_host = rest_address(served), served.grpc_address.partition(":")
    stalled = []
    for number in range(200):
        stage = number % 5
        if stage == 4:
            wire = Wire((grpc_host[0], int(grpc_host[2])))
            wire.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[: number % 24])
        else:
            wire = Wire(address, receive_buffer=4096)
            cut = {0: GOOD[:30], 1: GOOD[:-3], 2: b"", 3: GOOD}[stage]
            wire.send(LONG if number % 20 == 3 else cut)
        stalled.append(wire)
    until(lambda: served.descriptors > 200 * 4 // 5)
    polite.wait_for(len(polite.seconds) + 200)
    for wire in stalled[:20:5]:  # a slow client gets its response in the end
        for byte in GOOD[30:]:
            wire.send(bytes([byte]))
        assert wire.receive()[0] == 200
    for wire in stalled:
        wire.close()


def test_clients_that_go_away(served, polite, nothing_left):
    for number in range(100):
        with Wire(rest_address(served), receive_buffer=4096) as wire:
            if number % 10:
                wire.send(GOOD[: number * len(GOOD) // 100])
            else:
                wire.send(LONG)
                wire.socket.recv(1)  # the response has started
            if number % 2:  # with a reset rather than a regular end
                wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with faults.channel(served) as channel:
        calls = [stub(channel).Predict.future(predict_request("steady", {"seconds": [0.5]}, "spin")) for _ in range(4)]
        polite.wait_for(len(polite.seconds) + 5)
        for call in calls:
            call.cancel()


def test_requests_of_50_mb(served, polite, nothing_left):
    text = "x" * 50_000_000
    status, answer = post(served.rest_url, {"instances": [text]})
    assert status == 400
    assert "expected at most 64 symbols, received] [50000000]" in answer["error"]
    check_error(answer["error"])
    with faults.channel(served) as channel, pytest.raises(grpc.RpcError) as raised:
        stub(channel).Predict(predict_request("toy", {"text": [text]}))
    assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "received] [50000000]" in raised.value.details()
    check_error(raised.value.details())


def headers(*lines, body='{"instances": ["a"]}'):
    return "\r\n".join(["POST /v1/models/toy:predict HTTP/1.1", "Host: x", *lines, "", body]).encode()


CHUNKED = "Transfer-Encoding: chunked"
HOSTILE = {
    "a request line of 1 MB": (b"GET /" + b"x" * 2**20 + b" HTTP/1.1\r\n\r\n", 414),
    "a header of 1 MB": (headers("A: " + "x" * 2**20, "Content-Length: 0"), 431),
    "100 000 headers": (headers(*["A: b"] * 100_000), 431),
    "a length too long": (http(ROW, length=500), 400),
    "a length that is negative": (http(ROW, length=-5), 400),
    "a length that is huge": (http(ROW, length=10**30), 400),
    "a length of 5000 digits": (http(ROW, length="9" * 5000), 400),
    "a length that is no number": (http(ROW, length="many"), 400),
    "a length with a sign": (http(ROW, length="+20"), 400),
    "a length with an underscore": (http(ROW, length="2_0"), 400),
    "two lengths": (headers("Content-Length: 20", "Content-Length: 3"), 400),
    "a length twice": (headers("Content-Length: 20", "Content-Length: 20"), 400),
    "a length and chunks": (
        headers("Content-Length: 3", CHUNKED, body="14\r\n" + json.dumps(ROW) + "\r\n0\r\n\r\n"),
        400,
    ),
    "a chunk of no size": (headers(CHUNKED, body="zz\r\n"), 400),
    "a chunk of negative size": (headers(CHUNKED, body="-5\r\nabcde\r\n"), 400),
    "a chunk with a prefix": (headers(CHUNKED, body="0x14\r\n" + json.dumps(ROW) + "\r\n0\r\n\r\n"), 400),
    "a chunk that is huge": (headers(CHUNKED, body="f" * 30 + "\r\nabc"), 400),
    "a chunk that runs on": (headers(CHUNKED, body="2\r\n" + json.dumps(ROW) + "\r\n0\r\n\r\n"), 400),
    "chunks without an end": (headers(CHUNKED, body="14\r\n" + json.dumps(ROW)), 400),
    "another encoding": (headers("Transfer-Encoding: gzip", "Content-Length: 20"), 400),
    "a TLS greeting": (bytes.fromhex("16030102000100") + b"\r\n\r\n", 400),
    "zeros": (bytes(1000) + b"\r\n\r\n", 400),
    "no version": (b"POST /v1/models/toy:predict\r\n\r\n", 400),
    "a version to come": (b"GET /v1/models/toy HTTP/3.0\r\n\r\n", 505),
    "an unknown method": (b"BREW /v1/models/toy HTTP/1.1\r\n\r\n", 501),
    "a header without a colon": (headers("what is this"), 400),
}


def test_requests_that_break_the_rules(served, polite, nothing_left):
    for name, (request, expected) in HOSTILE.items():
        with Wire(rest_address(served)) as wire:
            wire.send(request)
            with contextlib.suppress(OSError):
                wire.socket.shutdown(socket.SHUT_WR)
            status, text = wire.receive()
            assert status == expected, (name, status, text)
            check_error(text)
            assert "error" in json.loads(text), name
            assert wire.at_end(), name  # the start of the next request is unknown


def test_unusual_requests_that_are_right(served, polite, nothing_left):
    with Wire(rest_address(served)) as wire:
        wire.send(GOOD * 20)  # pipelined
        assert [wire.receive()[0] for _ in range(20)] == [200] * 20
        wire.send(http(ROW, more="Expect: 100-continue\r\n")[: -len(json.dumps(ROW))])
        assert wire.receive() == (100, "")  # before the body is sent
        assert wire.ask(json.dumps(ROW).encode())[0] == 200
        wire.send(http(ROW, length=5) + b"\r\n\r\n")  # the rest of the body is not a request
        assert [wire.receive()[0] for _ in range(2)] == [400, 400]
        assert wire.at_end()
    with Wire(rest_address(served)) as wire:
        wire.send(GOOD)
        wire.socket.shutdown(socket.SHUT_WR)  # sends nothing more, but still reads
        assert wire.receive()[0] == 200
        assert wire.at_end()


def test_a_deadline_stops_the_computation(served, tmp_path, versions):
    with faults.channel(served) as channel, pytest.raises(grpc.RpcError) as raised:
        stub(channel).Predict(predict_request("steady", {"seconds": [30.0]}, "spin"), timeout=0.2)
    assert raised.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    until(lambda: rests(lambda: served.cpu_seconds), 5)
    install(versions / "1", tmp_path / "steady", 1)
    with Server(config(tmp_path, rest_api_timeout_in_ms=200)) as server:
        body = {"signature_name": "spin", "instances": [30.0]}
        start = time.monotonic()
        status, answer = post(server.rest_url, body, "/v1/models/steady:predict")
        took = time.monotonic() - start
        assert status == 504
        check_error(answer["error"])
        until(lambda: rests(time.process_time), 5)
    print(f"a deadline of 200 ms: answered after {took * 1000:.0f} ms")
    assert 0.2 <= took < 2


def test_a_run_whose_client_has_left_goes_on_to_its_end(served):
    """A session cannot be stopped; it does not affect others, and a deadline would have ended it."""
    with faults.channel(served) as channel:
        call = stub(channel).Predict.future(predict_request("steady", {"seconds": [2.0]}, "spin"))
        until(lambda: not rests(lambda: served.cpu_seconds), 5)
        call.cancel()
        assert not rests(lambda: served.cpu_seconds)
        answer = stub(channel).Predict(predict_request("steady", {"text": [b"a"]}), timeout=20)
        assert list(answer.outputs["text"].string_val) == [b"a"]
        until(lambda: rests(lambda: served.cpu_seconds), 10)


def rests(cpu_seconds):
    """Return whether a process uses almost no CPU time for a while."""
    before = cpu_seconds()
    time.sleep(0.3)
    return cpu_seconds() - before < 0.1


def test_a_full_queue_of_batches_is_unavailable(tmp_path, versions):
    install(versions / "1", tmp_path / "steady", 1)
    parameters = tmp_path / "batching"
    parameters.write_text(
        "max_batch_size { value: 1 } max_enqueued_batches { value: 1 } num_batch_threads { value: 1 }"
    )
    batching = config(tmp_path, enable_batching=True, batching_parameters_file=parameters)
    with Server(batching) as server, spinning(server, "steady", 0.5, each=6) as asked:
        outcomes = [asking.result() for asking in asked]
    assert set(outcomes[:6]) <= {200, 503}
    assert set(outcomes[6:]) <= {200, UNAVAILABLE}
    assert 0 < outcomes.count(200) < 12  # one runs, and one waits
    assert {503, UNAVAILABLE} <= set(outcomes)


@pytest.fixture(scope="module")
def with_examples(served, models, tmp_path_factory):
    """The shared server with an additional model that classifies and regresses."""
    folder = tmp_path_factory.mktemp("export") / "examples"
    serving_toys.export_examples(folder)
    bring(served, folder, models, "examples")
    return served


@pytest.mark.parametrize("times", [1, slow(20)])
@pytest.mark.slow
def test_no_body_makes_an_error_of_the_server_s_own(with_examples, times):
    import fuzzing  # imported here, because it takes a second

    fuzzing.fuzz_rest(with_examples, 1000 * times)
    fuzzing.fuzz_grpc(with_examples, 300 * times)
    assert faults.SERVERS_OWN not in with_examples.log
    assert post(with_examples.rest_url, ROW)[0] == 200


def test_memory_stays(served):
    """The memory that requests leave behind; `test_memory.py` runs longer."""
    mixed_load(served, 1_000)
    before = served.resident_mb
    mixed_load(served, 2_000)
    grown = served.resident_mb - before
    print(f"2 000 requests: resident memory grew by {grown:.1f} MB")
    assert grown < 15  # a fifteenth of the requests carry 100 kB, so retained bodies would need more


def test_old_versions_leave_no_garbage(tmp_path, versions):
    """Otherwise it would be freed only by the garbage collector, perhaps many versions later."""
    install(versions / "1", tmp_path / "steady", 1)
    repository = ModelRepository(folder_of_models(tmp_path), load_saved_model, poll_seconds=0)
    repository.start()
    gc.collect()
    gc.disable()
    try:
        for version in range(2, 7):
            install(versions / str(version), tmp_path / "steady", version)
            repository.poll()
        found = gc.collect()
    finally:
        gc.enable()
    print(f"5 reloads: {found} objects left to the collector")
    assert found < 1000  # a version has about a thousand objects
