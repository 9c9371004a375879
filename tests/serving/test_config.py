"""Flags: all flags of TF Serving are accepted in all forms, with a message for those that have no effect."""

import argparse
import dataclasses
from pathlib import Path

import pytest

from seqattn_tf import cli
from seqattn_tf.serving import launcher
from seqattn_tf.serving.config import ServerConfig, add_flags, expand_flags, from_flags

ROOT = Path("models")
# The flags in main.cc, each with a value other than its default.
FLAGS = {
    "allow_version_labels_for_unavailable_models": "true",
    "batching_parameters_file": "batching.txt",
    "enable_batching": "true",
    "enable_grpc_healthcheck_service": "false",
    "enable_model_warmup": "false",
    "enable_per_model_batching_parameters": "true",
    "enable_profiler": "false",
    "enable_serialization_as_tensor_content": "true",
    "enable_signature_method_name_check": "true",
    "file_system_poll_wait_seconds": "2",
    "flush_filesystem_caches": "false",
    "grpc_channel_arguments": "a.b=1",
    "grpc_max_threads": "3",
    "grpc_socket_path": "/tmp/x.sock",
    "load_retry_interval_micros": "-1",
    "max_num_load_retries": "0",
    "mixed_precision": "bfloat16",
    "model_base_path": "/models/m",
    "model_config_file": "models.config",
    "model_config_file_poll_wait_seconds": "3",
    "model_name": "m",
    "monitoring_config_file": "monitoring.config",
    "num_load_threads": "2",
    "num_request_iterations_for_warmup": "2",
    "num_tflite_interpreters_per_pool": "2",
    "num_tflite_pools": "2",
    "num_unload_threads": "2",
    "per_process_gpu_memory_fraction": "0.5",
    "platform_config_file": "platform.config",
    "port": "1",
    "prefer_tflite_model": "true",
    "remove_unused_fields_from_bundle_metagraph": "false",
    "rest_api_enable_cors_support": "true",
    "rest_api_num_threads": "2",
    "rest_api_port": "2",
    "rest_api_timeout_in_ms": "5",
    "saved_model_tags": "serve,gpu",
    "skip_initialize_tpu": "true",
    "ssl_config_file": "ssl.config",
    "tensorflow_inter_op_parallelism": "2",
    "tensorflow_intra_op_parallelism": "2",
    "tensorflow_session_config_file": "session.config",
    "tensorflow_session_parallelism": "2",
    "thread_pool_factory_config_file": "threads.config",
    "use_alts_credentials": "true",
    "xla_cpu_compilation_enabled": "true",
    "xla_gpu_compilation_enabled": "true",
}
SOURCES = ("model_base_path", "model_config_file")
PARALLEL = ("tensorflow_inter_op_parallelism", "tensorflow_intra_op_parallelism", "tensorflow_session_parallelism")


def read(*arguments, models=ROOT):
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("models", nargs="?")
    add_flags(parser)
    options = parser.parse_args(expand_flags(arguments))
    return from_flags(Path(options.models) if options.models else models, options)


def test_there_is_a_field_for_every_flag_of_tf_serving():
    assert {field.name for field in dataclasses.fields(ServerConfig) if not field.metadata["ours"]} == set(FLAGS)


@pytest.mark.parametrize("spelled", ["--{}={}", "--{} {}"])
@pytest.mark.parametrize("name", FLAGS)
def test_every_flag_is_read_and_handed_on(name, spelled, tmp_path):
    value = FLAGS[name]
    if spelled == "--{} {}" and value in ("true", "false"):
        return
    more = ["--enable_batching"] if name == "batching_parameters_file" else []
    config = read(*spelled.format(name, value).split(), *more, models=None if name in SOURCES else ROOT)
    if name == "tensorflow_session_parallelism":
        assert (config.tensorflow_intra_op_parallelism, config.tensorflow_inter_op_parallelism) == (2, 2)
    else:
        received = config.changed(ours=False)[name]
        assert str(received).lower() in (value, f"{value}.0")
        idle = [line for line in config.idle() if f"--{name} has no effect in the embedded server: " in line]
        assert len(idle) == bool(ServerConfig.__dataclass_fields__[name].metadata["why"])


def test_flags_without_effect_reach_the_real_server(tmp_path):
    (tmp_path / "models" / "toy").mkdir(parents=True)
    given = {"--num_load_threads=4", "--enable_profiler=false", "--per_process_gpu_memory_fraction=0.5"}
    given |= {"--file_system_poll_wait_seconds=2", "--grpc_channel_arguments=a=1,b=c"}  # whole seconds, not 2.0
    command = launcher._plan(read(*given, models=tmp_path / "models"), tmp_path, "").command
    assert given < set(command)


@pytest.mark.parametrize(
    ("arguments", "batching", "models"),
    [
        (["--enable_batching", "here"], True, "here"),
        (["here", "--enable_batching"], True, "here"),
        (["--enable_batching=true", "here"], True, "here"),
        (["--enable_batching=false", "here"], False, "here"),
        (["--enable_batching=False", "here"], False, "here"),
    ],
)
def test_the_word_after_a_switch_is_not_its_value(arguments, batching, models):
    config = read(*arguments)
    assert (config.enable_batching, config.models) == (batching, Path(models))


def test_the_command_takes_the_folder_after_a_switch(capsys):
    assert cli.main(["serve", "--embedded", "--enable_batching", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", []),
        ("grpc.max_connection_age_ms=2000", [("grpc.max_connection_age_ms", 2000)]),
        ("a=-1,b=x,c=0x1,d=1.5", [("a", -1), ("b", "x"), ("c", "0x1"), ("d", "1.5")]),
        ("a=b=c", [("a", "b=c")]),
    ],
)
def test_grpc_channel_arguments(text, options):
    assert ServerConfig(ROOT, grpc_channel_arguments=text).grpc_options == options


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--grpc_channel_arguments=a"], "grpc_channel_arguments: expected KEY=VALUE,KEY=VALUE. Received: 'a'"),
        (["--grpc_channel_arguments=a=1,=2"], "Received: '=2'"),
        (
            [f"--{name}=2" for name in PARALLEL],
            "tensorflow_session_parallelism: expected no other parallelism flags with it. Received: ",
        ),
        (["--tensorflow_session_parallelism=-1"], "tensorflow_session_parallelism: expected at least 0. Received: -1"),
    ],
)
def test_what_cannot_be(arguments, message):
    with pytest.raises(ValueError, match="expected") as raised:
        read(*arguments)
    assert message in str(raised.value)


def test_a_value_that_is_no_truth():
    with pytest.raises(argparse.ArgumentError, match=r"expected true or false\. Received: 'maybe'"):
        read("--enable_batching=maybe")


def test_a_config_file_comes_before_the_one_model():
    config = read("--model_base_path=/models/m", "--model_name=m", "--model_config_file=some.config", models=None)
    assert (config.model_base_path, config.model_config_file) == (None, Path("some.config"))


def test_the_version_is_told(capsys):
    assert cli.main(["serve", "--version"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("TensorFlow Library: 2.")


@pytest.mark.parametrize(
    "text", ["}{", 'model_config_list { config { nme: "x" } }', "model_config_list { config { name: 1 } }"]
)
def test_a_bad_config_file_is_told_in_one_line_and_by_us_alone(text, tmp_path, capfd):
    path = tmp_path / "models.config"
    path.write_text(text)
    assert cli.main(["serve", "--embedded", f"--model_config_file={path}", "--num_load_threads=2"]) == 2
    first, second, told = capfd.readouterr().err.splitlines()
    assert first.startswith("using the embedded server")
    assert second == "--num_load_threads has no effect in the embedded server: versions are loaded one at a time"
    expected = "seqattn serve: model_config_file: Error parsing text-format tensorflow.serving.ModelServerConfig: 1:"
    assert told.startswith(expected)
