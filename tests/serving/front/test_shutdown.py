from types import SimpleNamespace

import grpc
import pytest

from seqattn_tf.serving.front.shutdown import ShutdownInterceptor


class Aborted(Exception):
    pass


def abort(code, words):
    raise Aborted(code, words)


def test_calls_are_let_in_until_it_is_closed_and_then_told_to_ask_elsewhere():
    door, asked = ShutdownInterceptor(), []

    def continuation(details):
        asked.append(details)
        return "handler"

    assert door.intercept_service(continuation, "first") == "handler"
    door.close()
    handler = door.intercept_service(continuation, "second")
    assert asked == ["first"]
    with pytest.raises(Aborted) as raised:
        handler.unary_unary(None, SimpleNamespace(abort=abort))
    assert raised.value.args == (grpc.StatusCode.UNAVAILABLE, "the server is shutting down")
