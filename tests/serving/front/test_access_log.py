"""The access log has one line for each request of both ports, and the id leads from a reply to its line."""

import json

import grpc
import pytest
from faults import Wire, http, predict_request
from serving_toys import config, until
from tensorflow_serving.apis import prediction_service_pb2_grpc

from seqattn_tf.serving.front.access_log import AccessLog, request_id
from seqattn_tf.serving.server import Server


def test_requests_are_logged_with_their_ids(repository_root, tmp_path):
    path = tmp_path / "access.log"
    with Server(config(repository_root, access_log=path)) as server:
        with Wire(("127.0.0.1", int(server.rest_url.rpartition(":")[2]))) as wire:
            for request, expected in (
                (http({"instances": ["a"]}, more="X-Request-ID: mine-7\r\n"), "mine-7"),
                (http({"instances": ["a"]}, path="/v1/models/no:predict?secret=1"), None),
                (http({"instances": ["a"]}, more="X-Request-Id: two words\r\n"), None),
                (b"BREW / HTTP/1.1\r\n\r\n", None),
            ):
                wire.send(request)
                while b"\r\n\r\n" not in wire._bytes:
                    wire._more()
                head = wire._bytes.partition(b"\r\n\r\n")[0].decode().lower()
                found = head.partition("x-request-id: ")[2].partition("\r\n")[0]
                assert found == expected or (expected is None and len(found) == 16)
                wire.receive()
        with grpc.insecure_channel(server.grpc_address) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            stub.Predict(predict_request("toy", {"text": ["a"]}), metadata=[("x-request-id", "mine-8")], timeout=20)
            with pytest.raises(grpc.RpcError):
                stub.Predict(predict_request("no", {"text": ["a"]}), timeout=20)
        until(lambda: len(path.read_text().splitlines()) == 6)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    predict = "/tensorflow.serving.PredictionService/Predict"
    assert [(line["request"], line["status"]) for line in lines] == [
        ("POST /v1/models/toy:predict", "200"),
        ("POST /v1/models/no:predict", "400"),
        ("POST /v1/models/toy:predict", "200"),
        ("-", "501"),
        (predict, "OK"),
        (predict, "NOT_FOUND"),
    ]
    assert [lines[0]["id"], lines[4]["id"]] == ["mine-7", "mine-8"]
    assert all(line["client"].endswith("127.0.0.1") and 0 <= line["ms"] < 20_000 for line in lines)
    assert lines[0]["bytes"] > 10
    assert "secret" not in path.read_text()


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"access_log: expected a writable file\. Received: "):
        AccessLog(tmp_path / "no" / "access.log")


def test_ids_of_clients_are_printable():
    assert request_id("a" * 128) == "a" * 128
    for sent in ("", "a" * 129, "a b", "ä", 'a"\n'):
        assert request_id(sent) != sent
    assert len({request_id("") for _ in range(100)}) == 100
