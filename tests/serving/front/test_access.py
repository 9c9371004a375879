import gzip
import http.client
import json
import socket
import ssl
import threading
import time
from contextlib import closing

import grpc
import pytest
import trustme
from grpc_health.v1 import health_pb2, health_pb2_grpc
from serving_toys import config, http_request, is_working, post
from tensorflow_serving.apis import get_model_status_pb2, model_service_pb2_grpc

from seqattn_tf.serving.client import RestClient, connect
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.front.access import Certificates, Token
from seqattn_tf.serving.server import Server

TOKEN = "a-token"


def quoted(pem):
    return json.dumps(pem.bytes().decode())


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture(scope="module")
def ssl_config(authority, tmp_path_factory):
    issued = authority.issue_cert("127.0.0.1")
    path = tmp_path_factory.mktemp("tls") / "ssl.config"
    path.write_text(
        f"server_key: {quoted(issued.private_key_pem)} server_cert: {quoted(issued.cert_chain_pems[0])} "
        f"custom_ca: {quoted(authority.cert_pem)} client_verify: false"
    )
    return path


@pytest.fixture(scope="module")
def guarded(exports, ssl_config, tmp_path_factory):
    """A server with TLS and a token."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "models" / "toy").mkdir(parents=True)
    (folder / "models" / "toy" / "1").symlink_to(exports / "1")
    (folder / "token").write_text(TOKEN + "\n")
    more = {"ssl_config_file": ssl_config, "bearer_token_file": folder / "token"}
    with Server(config(folder / "models", **more)) as server:
        yield server


def ask(server, path, authority, headers=None, method="GET", body=None):
    context = ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())
    connection = http.client.HTTPSConnection(server.rest_url.removeprefix("https://"), timeout=30, context=context)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.read(), dict(response.getheaders())
    finally:
        connection.close()


def test_rest_needs_the_token(guarded, authority):
    for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": TOKEN}, {"Authorization": "Bearer ä"}):
        status, body, answered = ask(guarded, "/v1/models/toy", authority, headers)
        assert (status, answered["WWW-Authenticate"]) == (401, "Bearer")
        assert TOKEN.encode() not in body
    known = {"Authorization": f"Bearer {TOKEN}"}
    assert ask(guarded, "/v1/models/toy", authority, known)[0] == 200
    body = json.dumps({"instances": ["a"]})
    assert ask(guarded, "/v1/models/toy:predict", authority, known, "POST", body)[0] == 200
    assert ask(guarded, "/v1/models/toy:predict", authority, {}, "POST", body)[0] == 401
    assert [ask(guarded, "/page/models.json", authority, headers)[0] for headers in ({}, known)] == [401, 200]


def test_probes_and_the_page_need_none(guarded, authority):
    for path in ("/healthz", "/readyz", "/"):
        assert ask(guarded, path, authority)[0] == 200


def test_grpc_needs_both(guarded, authority):
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "toy"
    credentials = grpc.ssl_channel_credentials(authority.cert_pem.bytes())
    with grpc.secure_channel(guarded.grpc_address, credentials) as channel:
        stub = model_service_pb2_grpc.ModelServiceStub(channel)
        with pytest.raises(grpc.RpcError) as raised:
            stub.GetModelStatus(request, timeout=20)
        assert raised.value.code() == grpc.StatusCode.UNAUTHENTICATED
        answer = stub.GetModelStatus(request, timeout=20, metadata=[("authorization", f"Bearer {TOKEN}")])
        assert answer.model_version_status[0].version == 1
        health = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=20)
        assert health.status == health_pb2.HealthCheckResponse.SERVING
    with grpc.insecure_channel(guarded.grpc_address) as channel, pytest.raises(grpc.RpcError) as raised:
        model_service_pb2_grpc.ModelServiceStub(channel).GetModelStatus(request, timeout=20)
    assert raised.value.code() == grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("scheme", ["https", "grpcs"])
def test_our_client_has_both(guarded, authority, scheme, tmp_path):
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    address = guarded.rest_url.removeprefix("https://") if scheme == "https" else guarded.grpc_address
    assert f"{scheme}://{address}" in (guarded.rest_url, guarded.grpc_url)
    known = {"ca_file": str(tmp_path / "ca.pem"), "token": TOKEN}
    with closing(connect(f"{scheme}://{address}", **known)) as client:
        assert client.predict("toy", {"text": ["a"]})["upper"].tolist() == ["A"]
    for less, code in (({"token": ""}, "UNAUTHENTICATED"), ({"ca_file": None}, "UNAVAILABLE")):
        with closing(connect(f"{scheme}://{address}", retries=0, **known | less)) as client:
            with pytest.raises(ServingError) as raised:
                client.predict("toy", {"text": ["a"]})
            assert raised.value.code == code


def test_a_client_that_stalls_in_the_handshake_holds_up_nobody(guarded, authority):
    port = int(guarded.rest_url.rpartition(":")[2])
    stalled = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    start = time.monotonic()
    assert ask(guarded, "/healthz", authority)[0] == 200
    assert time.monotonic() - start < 10
    for connection in stalled:
        connection.close()


def test_plain_http_at_a_tls_port_is_refused(guarded):
    with pytest.raises(ServingError):
        RestClient("http://" + guarded.rest_url.removeprefix("https://")).status("toy")


def test_a_stop_drains_tls_too(exports, ssl_config, repository_root, gate, authority):
    server = Server(config(repository_root, ssl_config_file=ssl_config)).start()
    answers = []
    body = json.dumps({"signature_name": "wait", "inputs": [gate.path]})
    asking = threading.Thread(
        target=lambda: answers.append(ask(server, "/v1/models/toy:predict", authority, {}, "POST", body))
    )
    asking.start()
    stopping = threading.Thread(target=server.stop)
    while not (is_working(server) or answers):
        time.sleep(0.01)
    stopping.start()
    gate.open()
    asking.join(20)
    stopping.join(20)
    assert answers[0][0] == 200


def test_certificates_that_cannot_be_used(tmp_path, ssl_config, authority):
    path = tmp_path / "ssl.config"
    key, other = (authority.issue_cert("127.0.0.1") for _ in range(2))
    for text, message in (
        ("server_key: 'x'", "expected server_key and server_cert"),
        ("server_key: 'x' server_cert: 'y' client_verify: true", "expected custom_ca with client_verify"),
        ("key: 'x'", "ssl_config_file: Error parsing text-format tensorflow.serving.SSLConfig: 1:1"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            Certificates.from_file(path)
    mismatched = Certificates(key.private_key_pem.bytes().decode(), other.cert_chain_pems[0].bytes().decode())
    with pytest.raises(ValueError, match="expected a key and its certificate"):
        mismatched.context()


def test_tokens(tmp_path):
    path = tmp_path / "token"
    for text in ("", " \n", "two words"):
        path.write_text(text)
        with pytest.raises(ValueError, match="bearer_token_file: expected a token without spaces"):
            Token.from_file(path)
    with pytest.raises(ValueError, match="bearer_token_file: expected a readable file with a token"):
        Token.from_file(tmp_path / "nowhere")


def test_only_the_whole_token_opens():
    token = Token("secret")
    assert token.allows("Bearer secret")
    for header in ("", "Bearer", "Bearer ", "Bearer s", "Bearer secre", "Bearer secrets", "Bearer secret ", "secret"):
        assert not token.allows(header), header


def test_requests_may_be_limited_in_size(repository_root):
    with Server(config(repository_root, max_request_bytes=1000)) as server:
        assert post(server.rest_url, {"instances": ["a"]})[0] == 200
        large = json.dumps({"instances": ["a"] * 1000}).encode()
        for body, headers in (
            (large, {}),
            (gzip.compress(large), {"Content-Encoding": "gzip"}),
            # Each chunk is within the limit.
            (iter([large[start : start + 900] for start in range(0, len(large), 900)]), {}),
        ):
            status, answer, _ = http_request(server.rest_url, "POST", "/v1/models/toy:predict", body, headers)
            assert status == 413
            assert "at most 1000 bytes" in answer["error"]


def test_the_limit_counts_what_a_body_unpacks_to_and_is_itself_allowed(repository_root):
    body = json.dumps({"instances": ["a"]}).encode().ljust(1000)
    packed = {"Content-Encoding": "gzip"}
    with Server(config(repository_root, max_request_bytes=1000)) as server:

        def status(body, headers):
            return http_request(server.rest_url, "POST", "/v1/models/toy:predict", body, headers)[0]

        assert [status(body, {}), status(gzip.compress(body), packed)] == [200, 200]
        assert [status(body + b" ", {}), status(gzip.compress(body + b" "), packed)] == [413, 413]
        unending = gzip.compress(bytes(500_000))[:-20]
        assert status(unending, packed) == 413  # reading stops before its end


def test_who_has_no_certificate_is_refused_where_one_is_asked_for(repository_root, authority, tmp_path):
    issued, own = authority.issue_cert("127.0.0.1"), authority.issue_cert("asker@example.org")
    (tmp_path / "ssl.config").write_text(
        f"server_key: {quoted(issued.private_key_pem)} server_cert: {quoted(issued.cert_chain_pems[0])} "
        f"custom_ca: {quoted(authority.cert_pem)} client_verify: true"
    )
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "toy"

    def asked(address, *pair):
        credentials = grpc.ssl_channel_credentials(authority.cert_pem.bytes(), *pair)
        with grpc.secure_channel(address, credentials) as channel:
            return model_service_pb2_grpc.ModelServiceStub(channel).GetModelStatus(request, timeout=20)

    with Server(config(repository_root, ssl_config_file=tmp_path / "ssl.config")) as server:
        answer = asked(server.grpc_address, own.private_key_pem.bytes(), own.cert_chain_pems[0].bytes())
        assert answer.model_version_status[0].version == 1
        with pytest.raises(grpc.RpcError) as raised:
            asked(server.grpc_address)
        assert raised.value.code() == grpc.StatusCode.UNAVAILABLE
        # With TLS 1.3, the server rejects after the client considers itself connected: an alert, an end or a reset
        # follows.
        with pytest.raises((ssl.SSLError, ConnectionError)):
            ask(server, "/v1/models/toy", authority)
