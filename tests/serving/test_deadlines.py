import threading
import time

from seqattn_tf.serving.models.deadlines import Deadlines


def test_what_runs_too_long_is_told_once_and_what_does_not_is_not():
    deadlines, told = Deadlines(), []
    late = threading.Event()
    with deadlines.limit(60, lambda: told.append("far")):
        with deadlines.limit(0.05, lambda: (told.append("near"), late.set())):  # sooner than the one being waited for
            assert late.wait(10)
        with deadlines.limit(0.2, lambda: told.append("done in time")):
            pass
        time.sleep(0.3)
    with deadlines.limit(1e30, print):  # longer than a clock can say
        pass
    assert told == ["near"]


def test_many_at_once():
    deadlines, lock, told = Deadlines(), threading.Lock(), []

    def run(number):
        over = threading.Event()
        with deadlines.limit(0.01 * (number % 5), over.set):
            assert over.wait(10)
        with lock:
            told.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == list(range(50))
