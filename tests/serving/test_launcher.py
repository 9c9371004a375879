import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from serving_toys import install
from support import forked

from seqattn_tf import cli
from seqattn_tf.serving import launcher
from seqattn_tf.serving.client import connect
from seqattn_tf.serving.config import ServerConfig
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.launcher import TensorFlowServing

PORTS = {"rest_api_port": 0, "port": 0}


@pytest.fixture
def binary(tmp_path, monkeypatch):
    """The stand-in as the first binary on the path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    source = Path(__file__).with_name("stand_in.py").read_text()
    path = folder / launcher.BINARY
    path.write_text(f"#!{sys.executable}\n{source}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    return folder


@pytest.fixture
def at_once(binary, monkeypatch):
    """The stand-in, in a process that starts with TensorFlow imported."""

    def begin(command, **how):
        code = "import runpy, sys; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
        return forked.Popen([sys.executable, "-c", code, *command], **how)

    monkeypatch.setattr(launcher, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": begin}))
    return binary


def test_a_folder_of_models_is_served_and_left(binary, repository_root, exports):
    install(exports / "2", repository_root / "other", 4)
    lines = []
    with TensorFlowServing(ServerConfig(repository_root, **PORTS), log=lines.append) as server:
        for url in (server.rest_url, f"grpc://{server.grpc_address}"):
            client = connect(url)
            assert client.predict("toy", {"text": ["a"]})["upper"].tolist() == ["A"]
            assert client.predict("other", {"text": ["a"]})["version"].tolist() == [2]
            client.close()
        arguments = dict(a.removeprefix("--").split("=") for a in json.loads((binary / "arguments.json").read_text()))
        config = Path(arguments["model_config_file"])
        assert f'base_path: "{repository_root}/toy"' in config.read_text()
        assert arguments["rest_api_port"] == server.rest_url.rpartition(":")[2] != "0"
        assert server.stop() == 143
    assert not config.exists()
    assert any(line.startswith("stand-in: reading ") for line in lines)
    with pytest.raises(ServingError, match="UNAVAILABLE"):
        connect(server.rest_url, retries=0).status("toy")


def test_flags_and_files_are_handed_on_and_one_that_is_deaf_is_killed(at_once, repository_root, tmp_path):
    (at_once / "mode").write_text("deaf")
    batching = tmp_path / "batching.txt"
    batching.write_text("max_batch_size { value: 8 }")
    config = ServerConfig(
        model_name="only",
        model_base_path=repository_root / "toy",
        enable_batching=True,
        batching_parameters_file=batching,
        rest_api_enable_cors_support=True,
        drain_seconds=0.5,
        **PORTS,
    )
    with TensorFlowServing(config, log=lambda _: None) as server:
        assert connect(server.rest_url).predict("only", {"text": ["a"]})["upper"].tolist() == ["A"]
        assert server.stop() == -9
    arguments = json.loads((at_once / "arguments.json").read_text())
    for wanted in (
        "--model_name=only",
        f"--model_base_path={repository_root}/toy",
        "--enable_batching=true",
        f"--batching_parameters_file={batching}",
        "--rest_api_enable_cors_support=true",
    ):
        assert wanted in arguments


def test_a_server_that_refuses_is_an_error_with_its_log(binary, repository_root):
    (binary / "mode").write_text("refuse")
    with pytest.raises(ServingError, match=r"(?s)exit code 255.*not to my liking") as raised:
        TensorFlowServing(ServerConfig(repository_root, **PORTS), log=lambda _: None).start()
    assert raised.value.code == "UNAVAILABLE"


def test_a_server_that_is_late_is_killed(binary, repository_root):
    (binary / "mode").write_text("late")
    server = TensorFlowServing(ServerConfig(repository_root, **PORTS), log=lambda _: None, timeout=1)
    with pytest.raises(ServingError, match=r"not ready after 1 s: toy"):
        server.start()


def test_what_it_does_not_have_is_refused(repository_root):
    with pytest.raises(ValueError, match=r"expected flags of TensorFlow Serving. Received: max_request_bytes"):
        TensorFlowServing(ServerConfig(repository_root, max_request_bytes=10))
    shutil.rmtree(repository_root / "toy")
    with pytest.raises(ValueError, match="models: expected a folder with"):
        TensorFlowServing(ServerConfig(repository_root, **PORTS)).start()


def test_one_that_does_not_run_is_told_by_the_check(repository_root):
    with pytest.raises(ServingError, match="not running"):
        TensorFlowServing(ServerConfig(repository_root, **PORTS)).check()


def test_without_a_binary_it_cannot_be_started(repository_root, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert launcher.find() is None
    with pytest.raises(OSError, match="No such file"):
        TensorFlowServing(ServerConfig(repository_root, **PORTS)).start()


def test_a_container_is_given_ports_and_folders(repository_root, tmp_path):
    plan = launcher._plan(ServerConfig(repository_root, rest_api_port=1234, port=1235), tmp_path, "serving:2.20")
    assert plan.command[:3] == ["docker", "run", "--rm"]
    assert "--publish=127.0.0.1:1234:1234" in plan.command
    assert f"--volume={repository_root}/toy:/models/toy:ro" in plan.command
    after = plan.command[plan.command.index("serving:2.20") + 1 :]
    assert "--model_config_file=/config/model_config_file" in after
    assert 'base_path: "/models/toy"' in (tmp_path / "models.config").read_text()


def test_the_command_prefers_the_real_server(binary, repository_root, capfd):
    (binary / "mode").write_text("refuse")
    arguments = ["serve", str(repository_root), "--rest_api_port=0", "--port=0"]
    assert cli.main(arguments) == 1
    assert "not to my liking" in capfd.readouterr().err
    assert cli.main([*arguments, "--embedded", "--ssl_config_file=nowhere"]) == 2
    assert "ssl_config_file: expected a file" in capfd.readouterr().err


@pytest.mark.skipif(launcher.find() is None, reason="tensorflow_model_server is not installed")
def test_the_real_binary(repository_root):
    with TensorFlowServing(ServerConfig(repository_root, **PORTS)) as server:
        assert connect(server.rest_url).predict("toy", {"text": ["a"]})["upper"].tolist() == ["A"]
