import json
import urllib.request

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from serving_toys import config, http_request, install, post, until

from seqattn_tf.serving.api.exchange import Reply, Request
from seqattn_tf.serving.client import GrpcClient, RestClient
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.front.access import Token
from seqattn_tf.serving.front.site import Site, probe
from seqattn_tf.serving.server import Server, ServerConfig


def get(server, path):
    request = urllib.request.Request(server.rest_url + path)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read().decode(), response.headers["Content-Type"]
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers["Content-Type"]


def health(server, service=""):
    with grpc.insecure_channel(server.grpc_address) as channel:
        request = health_pb2.HealthCheckRequest(service=service)
        return health_pb2_grpc.HealthStub(channel).Check(request, timeout=20).status


def test_what_is_nowhere(server):
    status, body, kind = get(server, "/elsewhere")
    assert (status, kind) == (404, "application/json")
    assert json.loads(body) == {"error": "Not Found: expected a path under /v1/. Received: /elsewhere"}
    assert http_request(server.rest_url, "POST", "/healthz")[0] == 404
    assert get(server, "/monitoring/prometheus/metrics")[0] == 404  # not configured


def test_alive_is_not_ready(repository_root, exports, gate):
    with Server(config(repository_root, drain_delay_seconds=0.2)) as server:
        assert get(server, "/healthz")[:2] == (200, "ok\n")
        assert get(server, "/readyz")[:2] == (200, "ok\n")
        assert {health(server, name) for name in ("", "ModelService", "tensorflow.serving.PredictionService")} == {1}
        install(exports / "1", repository_root / "late", 1)
        (repository_root / "late" / "1" / "saved_model.pb").write_bytes(b"\xff")
        # A model that cannot be loaded does not take the others out of service.
        until(lambda: get(server, "/readyz")[:2] == (200, "ok\nnot served: late\n"))
        assert get(server, "/healthz")[0] == 200
        seen = []
        stop, server._http.drain = (
            server._http.drain,
            lambda seconds: seen.append(get(server, "/readyz")) or stop(seconds),
        )
        server.stop()
        assert seen[0][:2] == (503, "not ready\n")


def test_reflection_tells_the_services(server):
    with grpc.insecure_channel(server.grpc_address) as channel:
        services = ProtoReflectionDescriptorDatabase(channel).get_services()
    assert {"tensorflow.serving.PredictionService", "tensorflow.serving.ModelService", "grpc.health.v1.Health"} < set(
        services
    )


def test_metrics_where_the_monitoring_config_wants_them(repository_root, tmp_path):
    path = tmp_path / "monitoring.config"
    path.write_text('prometheus_config { enable: true path: "/metrics here" }')
    with Server(config(repository_root, monitoring_config_file=path)) as server:
        post(server.rest_url, {"instances": ["a"]})
        status, body, kind = get(server, "/metrics%20here")
        assert status == 404  # as in TF Serving, the path is not decoded
    path.write_text("prometheus_config { enable: true }")
    with Server(config(repository_root, monitoring_config_file=path)) as server:
        post(server.rest_url, {"instances": ["a"]})
        status, body, kind = get(server, "/monitoring/prometheus/metrics")
        assert (status, kind.split(";")[0]) == (200, "text/plain")
        assert ':tensorflow:serving:request_count{model_name="toy",status="OK"} 1' in body.splitlines()


def test_one_model_and_a_config_file(repository_root, exports, tmp_path, caplog):
    base = repository_root / "toy"
    ports = {"rest_api_port": 0, "port": 0, "file_system_poll_wait_seconds": 0}
    with Server(ServerConfig(model_name="only", model_base_path=base, **ports)) as server:
        assert RestClient(server.rest_url).predict("only", {"text": ["a"]})["upper"].tolist() == ["A"]
    path = tmp_path / "models.config"
    entry = 'config {{ name: "{}" base_path: "{}" model_platform: "tensorflow" }}'
    path.write_text(f"model_config_list {{ {entry.format('one', base)} }}")
    server = Server(ServerConfig(model_config_file=path, model_config_file_poll_wait_seconds=0.05, **ports))
    path.write_text("model_config_list { broken")  # while the models are loaded: polling must not end
    with server:
        assert server.repository.names() == ["one"]
        until(lambda: "the model config file was rejected" in caplog.text)
        path.write_text(f"model_config_list {{ {entry.format('one', base)} {entry.format('two', base)} }}")
        until(lambda: server.repository.names() == ["one", "two"] and not server.repository.missing())
        path.write_text("model_config_list { broken")
        assert RestClient(server.rest_url).predict("two", {"text": ["a"]})["upper"].tolist() == ["A"]


def test_a_config_file_is_read_once_unless_it_is_polled(repository_root, tmp_path):
    entry = f'config {{ name: "one" base_path: "{repository_root}/toy" model_platform: "tensorflow" }}'
    path = tmp_path / "models.config"
    path.write_text(f"model_config_list {{ {entry} }}")
    with Server(ServerConfig(model_config_file=path, rest_api_port=0, port=0)) as server:
        path.write_text(f"model_config_list {{ {entry} {entry.replace('one', 'two')} }}")
        assert not server.wait(0.3)
        assert server.repository.names() == ["one"]


def test_grpc_channel_arguments_reach_the_server(repository_root):
    arguments = "grpc.max_receive_message_length=200,grpc.lb_policy_name=grpclb"
    with Server(config(repository_root, grpc_channel_arguments=arguments)) as server:
        client = GrpcClient(server.grpc_address)
        assert client.predict("toy", {"text": ["a"]})["upper"].tolist() == ["A"]
        with pytest.raises(ServingError, match="RESOURCE_EXHAUSTED"):
            client.predict("toy", {"text": ["a"] * 300})


def test_grpc_over_a_unix_socket(repository_root, tmp_path):
    with (
        Server(config(repository_root, grpc_socket_path=str(tmp_path / "s"))),
        grpc.insecure_channel(f"unix:{tmp_path}/s") as channel,
    ):
        assert health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=20).status == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "expected one of: a folder of models, model_base_path, model_config_file. Received: none"),
        ({"models": "m", "model_base_path": "b"}, r"Received: \['m', 'b'\]"),
        ({"models": "m", "batching_parameters_file": "p"}, "batching_parameters_file: expected enable_batching"),
        ({"models": "m", "grpc_max_threads": 0}, "grpc_max_threads: expected at least 1. Received: 0"),
    ],
)
def test_configs_that_contradict_themselves(more, message):
    with pytest.raises(ValueError, match=message):
        ServerConfig(**more)


def test_each_request_goes_where_it_belongs():
    def says(word):
        return lambda request: Reply(200, word)

    site = Site(
        says(b"api"),
        private={"/metrics": says(b"metrics")},
        public={"/healthz": says(b"alive")},
        page=lambda request: Reply(200, b"page") if request.path == "/" else None,
        token=Token("secret"),
    )

    def ask(path, method="GET", token="Bearer secret"):
        reply = site.handle(Request(method, path, headers={"Authorization": token} if token else {}))
        return reply.body if reply.status == 200 else reply.status

    assert [ask(path) for path in ("/v1/models/m", "/V1/x?y", "/metrics", "/healthz", "/")] == [
        b"api",
        b"api",
        b"metrics",
        b"alive",
        b"page",
    ]
    assert [ask(path, token="") for path in ("/v1/models/m", "/metrics", "/healthz", "/")] == [
        401,
        401,
        b"alive",
        b"page",
    ]
    assert ask("/v1/models/m", "OPTIONS", token="") == b"api"
    assert [ask(path, "POST") for path in ("/v1/x", "/metrics", "/healthz", "/", "/nowhere")] == [b"api", *[404] * 4]
    assert (ask("/metrics", "HEAD"), ask("/nowhere"), ask("/v1")) == (b"metrics", 404, 404)


def test_a_probe_asks_every_time():
    well = [True, False]
    answer = probe(lambda: well.pop(0))
    assert [answer(Request("GET", "/")).status for _ in range(2)] == [200, 503]
