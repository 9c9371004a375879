import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
import tensorflow as tf
from serving_toys import answering, config, export_fixed

from seqattn_tf.serving.client import GrpcClient, RestClient, connect
from seqattn_tf.serving.client.base import ModelVersion
from seqattn_tf.serving.client.rest import _path
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.server import Server, ServerConfig


def test_both_clients_give_the_same_answers(rest_client, grpc_client):
    for inputs, signature in (
        ({"text": ["ab", "é\0", b"\xffz\0"]}, "serving_default"),
        ({"x": [[1, 2.5]], "k": [3]}, "scale"),
        ({"x": np.float32([[1, 2.5]]), "k": np.int32([3])}, "scale"),
        ({"x": [0.1, np.inf]}, "single"),
    ):
        by_rest = rest_client.predict("toy", inputs, signature_name=signature)
        by_grpc = grpc_client.predict("toy", inputs, signature_name=signature)
        assert by_rest.keys() == by_grpc.keys()
        for alias, array in by_rest.items():
            assert array.shape == by_grpc[alias].shape
            if array.dtype == object:
                assert array.tolist() == by_grpc[alias].tolist()
            else:
                np.testing.assert_allclose(array, by_grpc[alias], rtol=1e-6)
    assert rest_client.status("toy") == grpc_client.status("toy")
    assert rest_client.metadata("toy") == grpc_client.metadata("toy")


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        (ModelVersion("a/b c"), "/v1/models/a%2Fb%20c"),
        (ModelVersion("m", 0), "/v1/models/m/versions/0"),
        (ModelVersion("m", label="x/y"), "/v1/models/m/labels/x%2Fy"),
    ],
)
def test_no_name_reaches_into_the_rest_of_a_path(asked, path):
    assert _path(asked) == path


def test_text_is_str_and_bytes_are_bytes(client):
    outputs = client.predict("toy", {"text": ["ab", b"\xff\0"]}, version=1)
    assert outputs["upper"].tolist() == ["AB", "\ufffd\0"]
    assert outputs["raw_bytes"].tolist() == [b"ab", b"\xff\0"]
    np.testing.assert_allclose(outputs["score"], [0.2, 0.2])


def joined(*names):
    """Return a function that joins the inputs with these names."""
    return answering(lambda given: tf.strings.join([given[name] for name in names], "|"), tags=["A", "B"])


@pytest.fixture(scope="module")
def answerer(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    export_fixed(root / "one" / "1", joined("image"), ["image"])
    export_fixed(root / "two" / "1", joined("premise", "hypothesis"), ["premise", "hypothesis"])
    with Server(config(root)) as server:
        yield server


@pytest.fixture(params=["http", "grpc"])
def asker(request, answerer):
    client = connect(answerer.rest_url if request.param == "http" else f"grpc://{answerer.grpc_address}")
    yield client
    client.close()


def test_rows_are_bare_values_or_mappings_by_name(asker):
    assert [answer.text for answer in asker.answer("one", ["a", b"b\0", ["c", "d"]])] == ["a", "b\0", "c\nd"]
    assert [answer.text for answer in asker.answer("one", [{"image": "a"}], version=1)] == ["a"]
    rows = [{"hypothesis": "h", "premise": "p"}, {"premise": ["p", "q"], "hypothesis": b"h"}]
    first, second = asker.answer("two", rows)
    assert (first.text, second.text) == ("p|h", "p\nq|h")
    assert first.score == -0.5
    assert first.extra["tags"].tolist() == ["A", "B"]


@pytest.mark.parametrize(
    ("model", "rows", "message"),
    [
        ("two", ["p"], r"rows: expected mappings with hypothesis, premise\. Received: 'p'"),
        ("two", [{"premise": "p"}], r"rows: expected hypothesis, premise in each\. Received: no hypothesis in row 0"),
        ("one", ["a", {"image": "b"}], "rows: expected either mappings or bare values throughout"),
        ("one", [1], r"rows: expected a string, bytes or a list of strings for image\. Received: 1 in row 0"),
        ("one", "abc", r"rows: expected a list of rows\. Received: 'abc'"),
    ],
)
def test_rows_that_do_not_fit_are_refused_before_they_are_sent(asker, model, rows, message):
    with pytest.raises(ValueError, match=message):
        asker.answer(model, rows)


def test_no_rows_are_no_request():
    assert connect("http://127.0.0.1:9", retries=0).answer("one", []) == []


def test_the_names_of_inputs_are_asked_for_once_and_again_when_they_do_not_fit(answerer, monkeypatch):
    asked = []
    client = RestClient(answerer.rest_url)
    metadata = client._metadata
    monkeypatch.setattr(client, "_metadata", lambda *arguments: asked.append(1) or metadata(*arguments))
    for _ in range(3):
        client.answer("one", ["a"])
    assert len(asked) == 1
    client._input_names = {key: ["text"] for key in client._input_names}  # of a version that was removed
    assert client.answer("one", [{"image": "a"}])[0].text == "a"
    assert len(asked) == 2
    client._input_names = {key: ["text"] for key in client._input_names}
    with pytest.raises(ServingError, match="image"):
        client.answer("one", ["a"])
    assert client.answer("one", ["a"])[0].text == "a"
    with pytest.raises(ServingError, match="NOT_FOUND"):
        client.answer("nobody", ["a"])
    client.close()


def test_a_model_that_answers_with_something_else(client):
    with pytest.raises(ValueError, match="outputs: expected text, score"):
        client.answer("toy", ["a"])


def test_an_empty_batch(client):
    assert client.predict("toy", {"text": []})["upper"].shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ({"model": "no"}, "NOT_FOUND", "Servable not found for request: Latest(no)"),
        ({"version": 99}, "NOT_FOUND", "Servable not found for request: Specific(toy, 99)"),
        ({"inputs": {"text": ["x" * 65]}}, "INVALID_ARGUMENT", "expected at most 64 symbols, received] [65]"),
        ({"inputs": {}}, "INVALID_ARGUMENT", ""),
        ({"inputs": {"text": [["a"], ["b", "c"]]}}, "INVALID_ARGUMENT", ""),
    ],
)
def test_errors_carry_the_server_s_code_and_message(client, arguments, code, message):
    with pytest.raises(ServingError) as raised:
        client.predict(**{"model": "toy", "inputs": {"text": ["a"]}} | arguments)
    assert raised.value.code == code
    assert message in raised.value.message


def test_a_wrong_signature_has_the_code_of_its_api(rest_client, grpc_client):
    for client, code in ((rest_client, "INVALID_ARGUMENT"), (grpc_client, "FAILED_PRECONDITION")):
        with pytest.raises(ServingError, match='"s" not found') as raised:
            client.predict("toy", {"text": ["a"]}, signature_name="s")
        assert raised.value.code == code


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_no_server_there(scheme):
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ServingError) as raised:
        connect(f"{scheme}://{address}").predict("toy", {"text": ["a"]})
    assert raised.value.code == "UNAVAILABLE"
    assert f"expected a model server at {scheme}://{address}" in raised.value.message


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_server_that_never_answers(scheme):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        client = connect(f"{scheme}://{address}", timeout=0.2)
        with pytest.raises(ServingError) as raised:
            client.status("toy")
    assert raised.value.code in ("DEADLINE_EXCEEDED", "UNAVAILABLE")


def test_connect_chooses_by_scheme(server):
    assert isinstance(connect(server.rest_url), RestClient)
    assert isinstance(connect(f"grpc://{server.grpc_address}"), GrpcClient)
    for url in ("127.0.0.1:8500", "http://", "ftp://a:1", ""):
        with pytest.raises(
            ValueError, match=r"url: expected http\(s\)://host:port or grpc\(s\)://host:port\. Received"
        ):
            connect(url)
    with pytest.raises(ValueError, match="url: expected http://host:port"):
        RestClient("grpc://a:1")


def test_clients_may_be_shared_by_threads(client):
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda n: client.predict("toy", {"text": ["a" * n]})["upper"][0], range(1, 40)))
    assert answers == ["A" * n for n in range(1, 40)]


def test_the_rest_client_loads_no_tensorflow():
    code = (
        "import sys, seqattn_tf.serving.client; "
        "heavy = {'tensorflow', 'grpc', 'keras', 'google.protobuf'} & set(sys.modules); assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class Busy(BaseHTTPRequestHandler):
    """Returns the status 503 a few times, then proper responses."""

    def do_GET(self):
        self.server.asked += 1
        body = b'{"error": "full"}' if self.server.asked <= self.server.busy else b'{"model_version_status": []}'
        self.send_response(503 if self.server.asked <= self.server.busy else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def busy():
    with HTTPServer(("127.0.0.1", 0), Busy) as server:
        server.asked = server.busy = 0
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_an_unavailable_server_is_asked_again(busy):
    busy.busy = 2
    client = RestClient(f"http://127.0.0.1:{busy.server_port}", retries=2)
    assert client.status("toy") == {"model_version_status": []}
    assert busy.asked == 3
    busy.asked, busy.busy = 0, 3
    with pytest.raises(ServingError, match="UNAVAILABLE: full"):
        client.status("toy")
    assert busy.asked == 3
    client.close()


def test_tries_end_with_the_deadline(busy):
    busy.busy = 10**6
    client = RestClient(f"http://127.0.0.1:{busy.server_port}", retries=10**6, timeout=0.5)
    start = time.monotonic()
    with pytest.raises(ServingError, match=r"UNAVAILABLE|DEADLINE_EXCEEDED"):
        client.status("toy")
    assert time.monotonic() - start < 5
    assert busy.asked > 1
    client.close()


def test_other_errors_are_not_tried_again(server, monkeypatch):
    tries = []
    client = RestClient(server.rest_url)
    exchange = client._exchange
    monkeypatch.setattr(client, "_exchange", lambda *arguments: tries.append(1) or exchange(*arguments))
    with pytest.raises(ServingError, match="NOT_FOUND"):
        client.predict("nobody", {"text": ["a"]})
    assert len(tries) == 1
    client.close()


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_client_may_come_before_its_server(repository_root, scheme):
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    client = connect(f"{scheme}://127.0.0.1:{port}", retries=60, timeout=60)
    with ThreadPoolExecutor(1) as threads:
        asking = threads.submit(client.predict, "toy", {"text": ["a"]})
        ports = {"rest_api_port": port, "port": 0} if scheme == "http" else {"rest_api_port": 0, "port": port}
        with Server(ServerConfig(repository_root, **ports)):
            assert asking.result(timeout=60)["upper"].tolist() == ["A"]
            client.close()


def test_what_a_manner_may_not_be(server):
    for options in ({"timeout": 0}, {"retries": -1}):
        with pytest.raises(ValueError, match="timeout, retries: expected"):
            connect(server.rest_url, **options)
    with pytest.raises(ValueError, match="version, label: expected at most one of them"):
        connect(server.rest_url).predict("toy", {"text": ["a"]}, version=1, label="stable")
