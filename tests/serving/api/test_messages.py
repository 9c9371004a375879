from types import SimpleNamespace

from seqattn_tf.serving import protos
from seqattn_tf.serving.api.messages import SIGNATURE_DEF, metadata_message, status_message, to_document
from seqattn_tf.serving.models.repository import VersionStatus


def test_a_status_has_the_state_and_the_error_of_every_version():
    told = status_message([VersionStatus(3, "AVAILABLE"), VersionStatus(2, "END", "NOT_FOUND", "gone")])
    available, ended = told.model_version_status
    states = protos.ModelVersionStatus
    assert (available.version, available.state, available.status.error_code) == (3, states.AVAILABLE, 0)
    assert (ended.state, ended.status.error_code, ended.status.error_message) == (states.END, 5, "gone")
    assert to_document(told)["model_version_status"] == [
        {"version": "3", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}},
        {"version": "2", "state": "END", "status": {"error_code": "NOT_FOUND", "error_message": "gone"}},
    ]


def test_metadata_are_the_signatures_as_they_were_exported():
    signature = protos.SignatureDef(method_name="tensorflow/serving/predict")
    signature.inputs["x"].name = "x:0"
    told = metadata_message(
        SimpleNamespace(name="m", version=7, engine="", signature_defs={"serving_default": signature})
    )
    assert (told.model_spec.name, told.model_spec.version.value) == ("m", 7)
    packed = protos.SignatureDefMap()
    assert told.metadata[SIGNATURE_DEF].Unpack(packed)
    assert packed.signature_def["serving_default"] == signature
    document = to_document(told)
    assert document["model_spec"]["version"] == "7"
    assert "@type" not in document["metadata"][SIGNATURE_DEF]
    assert document["metadata"][SIGNATURE_DEF]["signature_def"]["serving_default"]["inputs"]["x"]["name"] == "x:0"
