import os
import signal

import pytest

from seqattn_tf.serving.signals import stop_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_sets_the_event_and_what_was_there_before_comes_back(number):
    seen = []
    before = signal.signal(number, lambda *_: seen.append("before"))
    try:
        with stop_signals() as told:
            assert not told.is_set()
            os.kill(os.getpid(), number)
            assert told.wait(5)
        assert seen == []
        os.kill(os.getpid(), number)
        assert seen == ["before"]
    finally:
        signal.signal(number, before)


def test_handlers_come_back_after_an_error():
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    with pytest.raises(RuntimeError), stop_signals():
        raise RuntimeError
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
