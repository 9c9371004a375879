import pytest

from seqattn_tf.serving.errors import CODES, HTTP_STATUS, ServingError, clean, from_exception, from_http, readable

GRAPH = "Graph execution error:\n\nDetected at node Assert defined at (most recent call last):\n"
TAIL = "\n\t [[{{node Assert/Assert}}]] [Op:__inference_signature_wrapper_119]"


class OpErrorLike(Exception):
    def __init__(self, error_code, message):
        super().__init__(message)
        self.error_code, self.message = error_code, message


@pytest.mark.parametrize(
    ("message", "cleaned"),
    [
        (GRAPH + "<stack traces unavailable>\nassertion failed: [a] [10000]" + TAIL, "assertion failed: [a] [10000]"),
        (GRAPH + "  File \"/srv/app/x.py\", line 3, in f\n\nNode: 'Assert'\nbad" + TAIL, "bad"),
        ("{{function_node __inference_f_1}} {{node while/Gather}} indices[0] = 9", "indices[0] = 9"),
        (
            "2 root error(s) found.\n  (0) INVALID_ARGUMENT:  one\n\t [[{{node a}}]]\n\t [[b/_2]]\n"
            "  (1) INVALID_ARGUMENT:  two\n\t [[{{node a}}]]\n0 successful operations.\n0 derived errors ignored.",
            "one",
        ),
        ("cannot read /srv/data-1/model_a/saved_model.pb: gone", "cannot read saved_model.pb: gone"),
        ("and/or 3/4 stay", "and/or 3/4 stay"),
    ],
)
def test_clean_keeps_the_sentence_and_drops_nodes_stacks_and_folders(message, cleaned):
    assert clean(message) == cleaned


def test_an_op_error_keeps_its_code_and_anything_else_is_internal():
    error = from_exception(OpErrorLike(3, GRAPH + "<stack traces unavailable>\nno" + TAIL))
    assert (error.code, error.message, error.http_status) == ("INVALID_ARGUMENT", "no", 400)
    error = from_exception(KeyError("x"))
    assert (error.code, error.message) == ("INTERNAL", "KeyError: 'x'")
    assert from_exception(error) is error
    assert from_exception(OSError("no file /a b/c/d"), hide="/a b/").message == "OSError: no file c/d"


def test_every_code_has_a_status_and_the_way_back():
    assert set(CODES) - {"OK"} == set(HTTP_STATUS)
    for code, status in HTTP_STATUS.items():
        assert from_http(status, "m").http_status == ServingError(code, "m").http_status
    assert from_http(400, "m").code == "INVALID_ARGUMENT"
    assert from_http(418, "m").code == "UNKNOWN"
    with pytest.raises(ValueError, match=r"code: expected one of .* Received: 'OK'"):
        ServingError("OK", "m")


def test_grpc_messages_are_cut_at_1024_characters():
    assert ServingError("UNKNOWN", "x" * 1024).grpc_details == "x" * 1024
    assert ServingError("UNKNOWN", "x" * 1025).grpc_details == "x" * 1024 + "...TRUNCATED"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "assertion failed: [image: expected a JPEG, PNG or BMP picture, received other bytes:] [392]",
            "image: expected a JPEG, PNG or BMP picture. Received: 392 bytes of another format",
        ),
        (
            "INVALID: assertion failed: [a: expected a clip of at most 9 pixels, received] [2] [frames of] [3]",
            "a: expected a clip of at most 9 pixels. Received: 2 frames of 3",
        ),
        ("assertion failed: [a: expected a BMP picture]", "a: expected a BMP picture"),
        (
            "NOT_FOUND: Servable not found for request: Latest(x)",
            "NOT_FOUND: Servable not found for request: Latest(x)",
        ),
    ],
)
def test_a_failed_assertion_is_said_in_the_words_of_the_field(said, shown):
    """`seqattn query --url` must not print `assertion failed: [image: expected ...] [392]`."""
    assert readable(said) == shown
