"""The messages that are defined here, against those of the official packages."""

import pytest
from google.protobuf import descriptor_pb2
from tensorflow.core.example import example_pb2
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow_serving.apis import get_model_metadata_pb2, model_service_pb2, prediction_service_pb2
from tensorflow_serving.config import model_server_config_pb2

from seqattn_tf.serving import protos
from seqattn_tf.serving.protos.parsing import parse_file

TEXT_ONLY = {"BatchingParameters", "PrometheusConfig", "MonitoringConfig", "SSLConfig"}  # not in the Python package
OURS = {("tensorflow.serving.ModelVersionStatus", "engine")}
# Fields that only streams of requests, sparse signatures and variables use; they pass through as unknown fields.
LEFT_OUT = {
    "tensorflow.TensorProto": {"resource_handle_val", "variant_val"},
    "tensorflow.TensorInfo.CompositeTensor": {"type_spec"},
    "tensorflow.serving.PredictRequest": {"predict_streamed_options", "client_id", "request_options"},
    "tensorflow.serving.SamplingConfig": {"per_task_sampling_configs"},
}


def reachable(message, found):
    """Return all messages that a message contains, by name, including itself."""
    if message.full_name not in found:
        found[message.full_name] = message
        for field in message.fields:
            if field.message_type is not None:
                reachable(field.message_type, found)
    return found


def described(field):
    """Return everything about a field that its form on the wire and in text depends on."""
    kind = field.message_type or field.enum_type
    oneof = field.containing_oneof
    return (
        *(field.number, field.type, field.is_repeated, field.is_packed),
        kind and kind.full_name,
        oneof and oneof.name,
    )


@pytest.fixture(scope="module")
def official():
    found = {}
    services = {}
    for module in (prediction_service_pb2, model_service_pb2):
        services |= {service.full_name: service for service in module.DESCRIPTOR.services_by_name.values()}
    for service in services.values():
        for method in service.methods:
            if not method.server_streaming and method.name != "SessionRun":
                reachable(method.input_type, found)
                reachable(method.output_type, found)
    for root in (
        get_model_metadata_pb2.SignatureDefMap,
        meta_graph_pb2.SignatureDef,
        example_pb2.Example,
        model_server_config_pb2.ModelServerConfig,
    ):
        reachable(root.DESCRIPTOR, found)
    return services, found


def ours():
    found = {}
    for name in protos._FILES:
        file = protos.POOL.FindFileByName(f"seqattn_tf/serving/protos/{name}")
        for message in file.message_types_by_name.values():
            if message.name not in TEXT_ONLY:
                reachable(message, found)
    return {name: message for name, message in found.items() if not name.startswith("google.")}


def test_every_field_is_that_of_the_official_message(official):
    """Catches a wrong number, type or name, which would lose the value of a field on the wire or in a config file."""
    _, theirs = official
    wrong = []
    for name, message in ours().items():
        if name == "tensorflow.serving.FileSystemStoragePathSourceConfig":
            continue  # here it only contains the message of a policy
        fields = {field.name: field for field in theirs[name].fields}
        for field in message.fields:
            if (name, field.name) not in OURS and described(field) != described(fields[field.name]):
                wrong.append((name, field.name, described(field), described(fields[field.name])))
        if missing := fields.keys() - {field.name for field in message.fields} - LEFT_OUT.get(name, set()):
            wrong.append((name, missing))
    assert wrong == []


def test_every_enum_and_method_is_the_official_one(official):
    services, theirs = official
    enums = {
        field.enum_type.full_name: field.enum_type
        for message in theirs.values()
        for field in message.fields
        if field.enum_type is not None
    }
    for name in ("tensorflow.DataType", "tensorflow.serving.ModelType", "tensorflow.serving.ModelVersionStatus.State"):
        values = protos.POOL.FindEnumTypeByName(name).values_by_number
        assert {number: value.name for number, value in values.items()} == {
            number: value.name for number, value in enums[name].values_by_number.items()
        }
    for name, service in services.items():
        for method in protos.POOL.FindServiceByName(name).methods:
            known = service.methods_by_name[method.name]
            assert method.input_type.full_name == known.input_type.full_name
            assert method.output_type.full_name == known.output_type.full_name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("message A { string a = 1 }", r"x\.proto: expected ;\. Received: }"),
        ("message A { string a = 1;", r"x\.proto: expected .*Received: the end of the file"),
        ("option a = 1;", r"x\.proto: expected syntax or .*Received: option"),
        ('syntax = "proto2";', r'x\.proto: expected "proto3"\. Received: "proto2"'),
        ("service S { rpc M(A) gives (B); }", r"x\.proto: expected returns\. Received: gives"),
    ],
)
def test_anything_else_in_a_proto_file_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_file("x.proto", text)


def test_comments_maps_and_oneofs_are_parsed():
    text = 'syntax = "proto3"; // a comment\nmessage A { map<string, int64> by_name = 2; oneof one { B b = 3; } }'
    (message,) = parse_file("x.proto", text).message_type
    assert message.nested_type[0].name == "ByNameEntry"
    assert [field.type for field in message.nested_type[0].field] == [
        descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
        descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    ]
    assert [(field.name, field.type_name, field.HasField("oneof_index")) for field in message.field] == [
        ("by_name", "ByNameEntry", False),
        ("b", "B", True),
    ]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'PredictStreamedOptions'"):
        protos.PredictStreamedOptions  # noqa: B018
