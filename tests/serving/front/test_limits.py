"""Every limit of the front ends takes effect, is counted, and can be lifted."""

import contextlib
import dataclasses
import json
import socket
import struct
import threading
import time

import grpc
import numpy as np
import pytest
from faults import Wire, http, predict_request
from grpc_health.v1 import health_pb2, health_pb2_grpc
from serving_toys import config, is_working, post, until
from tensorflow_serving.apis import prediction_service_pb2_grpc

from seqattn_tf.serving.api import json_pieces
from seqattn_tf.serving.api.request_limits import check_json, check_reply, check_rows, depth
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.front.worker_pool import WorkerPool
from seqattn_tf.serving.limits import Limits
from seqattn_tf.serving.server import Server

ROW = {"instances": ["a"]}
HEALTH = b"GET /healthz HTTP/1.1\r\n\r\n"


def limited(server):
    """Return how often each limit has taken effect."""
    lines = server.metrics.render().decode().splitlines()
    series = [line.rpartition(" ") for line in lines if "limit_exceeded_count{" in line]
    return {name.split('"')[1]: int(count) for name, _, count in series}


def wire(server):
    return Wire(("127.0.0.1", int(server.rest_url.rpartition(":")[2])))


@pytest.fixture
def serve(repository_root):
    started = []

    def serve(**limits):
        started.append(Server(config(repository_root, **limits)).start())
        return started[-1]

    yield serve
    for server in started:
        server.stop()


@pytest.fixture
def late():
    """Messages of a call, of which the first one comes only after the test."""
    over = threading.Event()

    def messages():
        over.wait(10)
        yield b""

    yield messages
    over.set()


def test_a_request_must_arrive_in_time_however_slowly_its_bytes_come(serve):
    server = serve(request_seconds=0.6)
    for begin, status in ((b"", None), (http(ROW)[:20], 408), (http(ROW)[:-3], 408)):
        with wire(server) as slow:
            start = time.monotonic()
            slow.send(begin)
            for _ in range(2):
                time.sleep(0.2)
                slow.send(b"" if status is None else b" ")
            if status is None:  # a connection without any request ends without a reply
                assert slow.at_end()
            else:
                assert slow.receive()[0] == status
            assert 0.4 < time.monotonic() - start < 2
    assert limited(server) == {"request_seconds": 3}


def test_the_time_of_a_request_begins_with_its_first_byte(serve):
    server = serve(request_seconds=0.6, idle_seconds=5)
    with wire(server) as connection:
        assert connection.ask(http(ROW))[0] == 200
        time.sleep(1)
        assert connection.ask(http(ROW))[0] == 200


def test_idle_connections_end(serve):
    server = serve(idle_seconds=0.3)
    with wire(server) as connection:
        assert connection.ask(http(ROW))[0] == 200
        assert connection.at_end()
    assert limited(server) == {"idle_seconds": 1}


def test_a_reply_must_be_read_in_time(serve, exports):
    server = serve(reply_seconds=0.3, max_request_bytes=0)
    with Wire(("127.0.0.1", int(server.rest_url.rpartition(":")[2])), receive_buffer=4096) as connection:
        connection.send(http({"instances": ["a" * 60] * 4000}) * 40)
        until(lambda: limited(server).get("reply_seconds"))
        until(lambda: not server._http.connections)


def test_the_oldest_idle_connection_makes_room_and_busy_ones_stay(serve, gate):
    server = serve(max_connections=3)
    with wire(server) as busy, wire(server) as oldest, wire(server) as newer:
        busy.send(http({"signature_name": "wait", "inputs": [gate.path]}))
        until(lambda: is_working(server))
        assert oldest.ask(HEALTH)[0] == newer.ask(HEALTH)[0] == 200
        with wire(server) as last:
            assert last.ask(http(ROW))[0] == 200
            assert oldest.at_end()
            assert newer.ask(http(ROW))[0] == 200
        gate.open()
        assert busy.receive()[0] == 200
    assert limited(server) == {"max_connections": 1}


def test_probes_have_reserved_connections(serve, gate):
    server = serve(max_connections=1)
    with wire(server) as busy:
        busy.send(http({"signature_name": "wait", "inputs": [gate.path]}))
        until(lambda: is_working(server))
        with wire(server) as other:
            status, text = other.ask(http(ROW))
            assert status == 503
            assert "expected fewer connections" in text
        until(lambda: len(server._http.connections) == 1)
        with wire(server) as probing:
            assert probing.ask(b"GET /readyz HTTP/1.1\r\n\r\n")[0] == 200
        gate.open()
        assert busy.receive()[0] == 200


def test_connections_that_are_closed_at_once_are_closed_indeed(serve, gate):
    """Would fail if a connection that has to go before it is set up stayed open without an owner."""
    server = serve(max_connections=1)
    with wire(server) as busy, contextlib.ExitStack() as stack:
        busy.send(http({"signature_name": "wait", "inputs": [gate.path]}))
        until(lambda: is_working(server))
        others = [stack.enter_context(wire(server)) for _ in range(30)]
        for other in others[:-1]:
            other.socket.settimeout(5)
            assert other.at_end()
        assert others[-1].ask(HEALTH)[0] == 200
        gate.open()
        assert busy.receive()[0] == 200  # otherwise, its run would occupy a thread of TensorFlow for good


def test_requests_whose_clients_have_left_are_not_run(serve, gate):
    """A client that only stops sending may still read its reply; one that resets its connection does not."""
    server = serve(rest_api_num_threads=1)
    with wire(server) as first:
        first.send(http({"signature_name": "wait", "inputs": [gate.path]}))
        until(lambda: is_working(server))
        for _ in range(3):
            with wire(server) as leaving:
                leaving.send(http({"signature_name": "scale", "inputs": {"x": [[1, 2]], "k": [2]}}))
                until(lambda: len(server._http.connections) == 2 and server._http._small.waiting)
                leaving.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            until(lambda: len(server._http.connections) == 1)
        gate.open()
        assert first.receive()[0] == 200
        assert first.ask(http(ROW))[0] == 200
    assert server.metrics.value("/tensorflow/serving/request_count") == 2


def test_memory_of_bodies_is_limited_and_the_largest_one_ends(serve):
    server = serve(max_buffered_bytes=1_000_000)
    with wire(server) as small, wire(server) as large, wire(server) as other:
        small.send(http(ROW)[:-1])
        large.send(http(b" " * 900_000, length=1_000_000))
        until(lambda: server._http._buffered >= 900_000)
        other.send(http(b" " * 500_000, length=600_000))
        assert large.at_end()
        small.send(http(ROW)[-1:])
        assert small.receive()[0] == 200
    until(lambda: server._http._buffered == 0)
    assert limited(server)["max_buffered_bytes"] == 1


@pytest.mark.parametrize(
    ("limit", "body", "status", "message"),
    [
        ({"max_rows": 3}, {"instances": ["a"] * 4}, 400, "expected at most 3 rows. Received: 4"),
        ({"max_request_values": 9}, {"instances": ["a"] * 12}, 400, "JSON: expected at most 9 values. Received: more"),
        ({"max_request_depth": 5}, {"instances": [[[[["a"]]]]]}, 400, "expected at most 5 nested lists and objects"),
        ({"max_reply_values": 7}, {"instances": ["a"] * 2}, 400, "expected a reply of at most 7 values. Received: 8"),
        ({"max_request_bytes": 50}, {"instances": ["a" * 50]}, 413, "expected a body of at most 50 bytes"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_large_requests_and_replies_are_refused(serve, limit, body, status, message):
    server = serve(**limit)
    assert post(server.rest_url, ROW)[0] == 200
    answered, answer = post(server.rest_url, body)
    assert answered == status
    assert message in answer["error"]
    assert limited(server) == dict.fromkeys(limit, 1)
    lifted = dict.fromkeys(limit, 0)
    assert post(serve(**lifted).rest_url, body)[0] == (400 if "max_request_depth" in limit else 200)


def test_headers_are_limited(serve):
    server = serve(max_header_bytes=500)
    for head, status in (
        (f"GET /{'x' * 600} HTTP/1.1\r\n\r\n", 414),
        (f"GET / HTTP/1.1\r\nA: {'x' * 600}\r\n\r\n", 431),
    ):
        with wire(server) as connection:
            assert connection.ask(head.encode())[0] == status
            assert connection.at_end()
    assert limited(server) == {"max_header_bytes": 2}
    with wire(serve(max_header_bytes=0)) as connection:
        assert connection.ask(b"GET /healthz HTTP/1.1\r\nA: " + b"x" * 200_000 + b"\r\n\r\n")[0] == 200


def test_the_time_of_a_request_includes_its_wait_for_a_thread(serve, gate):
    server = serve(rest_api_num_threads=1, rest_api_timeout_in_ms=300)
    body = {"signature_name": "wait", "inputs": [gate.path]}
    with wire(server) as first, wire(server) as second:
        first.send(http(body))
        until(lambda: is_working(server))
        second.send(http(body))
        threading.Timer(0.6, gate.open).start()
        assert second.receive()[0] == 504


def test_names_of_limits():
    with pytest.raises(ValueError, match="limits: expected one of default, tensorflow_serving"):
        Limits.of("none")
    with pytest.raises(ValueError, match="max_rows: expected at least 0"):
        Limits.of("default", max_rows=-1)
    assert Limits.of("default") == Limits()
    assert set(dataclasses.asdict(Limits.of("tensorflow_serving")).values()) == {0}
    assert Limits.of("tensorflow_serving", max_rows=3).max_rows == 3


def test_a_call_must_send_its_message_in_time(serve, late):
    server = serve(request_seconds=0.3)
    with grpc.insecure_channel(server.grpc_address) as channel:
        method = channel.stream_unary("/tensorflow.serving.PredictionService/Predict")
        with pytest.raises(grpc.RpcError) as raised:
            method(late(), timeout=10)
        assert (raised.value.code().name, raised.value.details()) == (
            "DEADLINE_EXCEEDED",
            "expected a message within 0.3 s",
        )
        with pytest.raises(grpc.RpcError) as raised:
            method(iter([]), timeout=10)
        assert (raised.value.code().name, raised.value.details()) == (
            "INTERNAL",
            "expected one message. Received: none",
        )
    assert limited(server) == {"request_seconds": 1}


def test_the_oldest_silent_call_makes_room(serve, late):
    server = serve(max_calls=2)
    with grpc.insecure_channel(server.grpc_address) as channel:
        method = channel.stream_stream("/tensorflow.serving.PredictionService/Predict")
        silent = []
        for count in (1, 2):
            silent.append(method(late(), timeout=10))
            until(lambda count=count: len(server._grpc._silent) == count)
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        assert stub.Predict(predict_request("toy", {"text": ["a"]}), timeout=10).outputs["upper"].string_val == [b"A"]
        with pytest.raises(grpc.RpcError) as raised:
            next(silent[0])
        assert raised.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert silent[1].is_active()
    assert limited(server) == {"max_calls": 1}


def test_calls_are_refused_when_all_are_at_work_but_health_checks_are_not(serve, gate):
    server = serve(max_calls=1)
    with grpc.insecure_channel(server.grpc_address) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        busy = stub.Predict.future(predict_request("toy", {"gate": [gate.path]}, "wait"), timeout=20)
        until(lambda: server._grpc._count == 1)
        until(lambda: not server._grpc._silent)
        with pytest.raises(grpc.RpcError) as raised:
            stub.Predict(predict_request("toy", {"text": ["a"]}), timeout=10)
        assert raised.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        health = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10)
        assert health.status == health_pb2.HealthCheckResponse.SERVING
        gate.open()
        assert busy.result().model_spec.name == "toy"


def test_health_can_be_listed_and_watched(serve):
    server = serve(drain_delay_seconds=0.3)
    with grpc.insecure_channel(server.grpc_address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        assert stub.List(health_pb2.HealthListRequest(), timeout=10).statuses["ModelService"].status == 1
        watched = stub.Watch(health_pb2.HealthCheckRequest(service="ModelService"), timeout=20)
        unknown = stub.Watch(health_pb2.HealthCheckRequest(service="else"), timeout=20)
        assert next(watched).status == 1
        assert next(unknown).status == 3
        with pytest.raises(grpc.RpcError) as raised:
            stub.Check(health_pb2.HealthCheckRequest(service="else"), timeout=10)
        assert raised.value.code() == grpc.StatusCode.NOT_FOUND
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        assert next(watched).status == 2
        stopping.join()


def test_clients_take_turns():
    pool, order, begin = WorkerPool(1, "turns"), [], threading.Event()
    pool.submit("first", begin.wait)
    for number in range(3):
        pool.submit("flood", lambda number=number: order.append(f"flood {number}"))
    pool.submit("polite", lambda: order.append("polite"))
    begin.set()
    until(lambda: len(order) == 4)
    pool.close()
    assert order == ["flood 0", "polite", "flood 1", "flood 2"]


def test_depth_ignores_strings():
    assert depth(b"") == depth(b"1") == 0
    assert depth(b'["]]", "[[[", "\\"[[", [{"a": [1]}]]') == 4
    assert depth(b"[" * 1000 + b'"]') == 1000


def test_checks_count_what_is_there():
    seen = []
    check_json(b'{"a,": ",,,,,,,[[[[[["}', Limits(max_request_values=3, max_request_depth=1), seen.append)
    with pytest.raises(ServingError):
        check_json(b'{"a": [1, 2]}', Limits(max_request_values=2), seen.append)
    check_rows({"x": np.zeros(9)}, Limits(max_rows=3), seen.append)
    assert check_reply({"x": np.zeros(9), "y": np.zeros((2, 3))}, Limits(max_reply_values=15), seen.append) == 15
    with pytest.raises(ServingError):
        check_reply({"x": np.zeros(16)}, Limits(max_reply_values=15), seen.append)
    assert seen == ["max_request_values", "max_reply_values"]


@pytest.mark.parametrize("seed", range(3))
def test_pieces_are_parsed_as_a_whole_would_be(monkeypatch, seed):
    monkeypatch.setattr(json_pieces, "PIECE", 16)
    rng = np.random.default_rng(seed)

    def draw(levels):
        kind = rng.integers(9)
        if not levels or kind < 3:
            return [1, -2.5, 1e30, True, None, 'x]"[{,\\', "\u00e9\U0001f600", [], {}, float("inf")][rng.integers(10)]
        if kind < 6:
            return [draw(levels - 1) for _ in range(rng.integers(9))]
        return {f"{key}{'],'[key % 3 :]}": draw(levels - 1) for key in range(rng.integers(5))}

    for _ in range(100):
        text = json.dumps(draw(5), indent=[None, 1][rng.integers(2)], ensure_ascii=bool(rng.integers(2)))
        assert json_pieces.parse(text) == (json.loads(text), len(text))
        damaged = list(text)
        damaged[rng.integers(len(text))] = ',:[]{}"1 x'[rng.integers(10)]
        damaged = "".join(damaged)
        try:
            whole = json.JSONDecoder(object_pairs_hook=json_pieces.as_object).raw_decode(damaged)
        except ValueError:
            with pytest.raises(ValueError):  # noqa: PT011  only the reader's messages are shown
                json_pieces.parse(damaged)
        else:
            assert json_pieces.parse(damaged) == whole


def test_a_parse_can_be_stopped(monkeypatch):
    monkeypatch.setattr(json_pieces, "PIECE", 16)

    def tick():
        raise TimeoutError

    with pytest.raises(TimeoutError):
        json_pieces.parse(json.dumps([1] * 100), 0, tick)


def test_silent_connections_do_not_stop_a_shutdown(serve):
    server = serve()
    with wire(server), wire(server) as half, wire(server) as idle:
        half.send(http(ROW)[:-2])
        assert idle.ask(HEALTH)[0] == 200
        stopping = threading.Thread(target=server.stop)
        start = time.monotonic()
        stopping.start()
        assert idle.at_end()
        half.send(http(ROW)[-2:])
        assert half.receive()[0] == 200  # a request that has arrived in part is finished
        stopping.join()
        assert time.monotonic() - start < 5
