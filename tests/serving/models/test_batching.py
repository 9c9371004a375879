import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf
from serving_toys import until

from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.models.batcher import Batcher
from seqattn_tf.serving.models.batching import BatchingParameters
from seqattn_tf.serving.models.servable import Servable
from seqattn_tf.serving.models.session import SessionEngine

FOREVER = 60_000_000  # microseconds


def text(*values):
    return {"text": np.array([value.encode() for value in values], object)}


def loaded(exports, version=1, **parameters):
    return Servable("toy", version, SessionEngine(exports / str(version)), Batcher(BatchingParameters(**parameters)))


def together(*calls):
    """Run all calls at the same time; return their results or errors."""
    barrier = threading.Barrier(len(calls))

    def run(call):
        barrier.wait()
        try:
            return call()
        except ServingError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


@pytest.fixture(scope="module")
def counting(tmp_path_factory):
    """A SavedModel that returns the number of rows of its run."""

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32, name="x")])
    def rows(x):
        return {"rows": tf.fill(tf.shape(x)[:1], tf.shape(x)[0]), "sum": tf.reduce_sum(x, axis=1)}

    module, folder = tf.Module(), tmp_path_factory.mktemp("counting")
    module.rows = rows
    tf.saved_model.save(module, str(folder), signatures=rows)
    return folder


def test_requests_run_together_and_each_gets_its_own_rows(counting):
    servable = Servable(
        "count", 1, SessionEngine(counting), Batcher(BatchingParameters(max_batch_size=6, batch_timeout_micros=FOREVER))
    )
    inputs = [np.full((rows, 2), rows, np.float32) for rows in (1, 2, 3)]
    answers = together(*(lambda x=x: servable.predict("", {"x": x}) for x in inputs))
    for x, answer in zip(inputs, answers, strict=True):
        assert answer["rows"].tolist() == [6] * len(x)  # a full batch does not wait
        assert answer["sum"].tolist() == x.sum(1).tolist()


def test_a_batch_is_filled_up_to_an_allowed_size_and_cut_again(counting):
    parameters = BatchingParameters(max_batch_size=8, allowed_batch_sizes=(4, 8))
    answer = Servable("count", 1, SessionEngine(counting), Batcher(parameters)).predict(
        "", {"x": np.ones((3, 1), np.float32)}
    )
    assert answer["rows"].tolist() == [4, 4, 4]
    assert answer["sum"].shape == (3,)


@pytest.mark.parametrize("more", [{}, {"max_execution_batch_size": 4}])
def test_a_large_request_is_split_when_allowed(counting, more):
    parameters = BatchingParameters(max_batch_size=8, enable_large_batch_splitting=True, **more)
    servable = Servable("count", 1, SessionEngine(counting), Batcher(parameters))
    answer = servable.predict("", {"x": np.arange(7, dtype=np.float32)[:, None]})
    assert answer["sum"].tolist() == list(range(7))
    assert max(answer["rows"]) <= (4 if more else 8)


def test_a_request_larger_than_a_batch_is_refused(exports):
    servable = loaded(exports, max_batch_size=2)
    with pytest.raises(ServingError, match="Task size 3 is larger than maximum input batch size 2") as raised:
        servable.predict("", text("a", "b", "c"))
    assert raised.value.code == "INVALID_ARGUMENT"


def test_a_bad_request_fails_alone(exports):
    servable = loaded(exports, max_batch_size=3, batch_timeout_micros=FOREVER)
    good, bad, other = together(
        lambda: servable.predict("", text("a")),
        lambda: servable.predict("", text("x" * 65)),
        lambda: servable.predict("", text("b")),
    )
    assert good["upper"].tolist() == [b"A"]
    assert other["upper"].tolist() == [b"B"]
    assert bad.code == "INVALID_ARGUMENT"
    assert "65" in bad.message


def test_requests_of_other_lengths_do_not_harm_each_other(counting):
    parameters = BatchingParameters(max_batch_size=2, batch_timeout_micros=FOREVER)
    servable = Servable("count", 1, SessionEngine(counting), Batcher(parameters))
    answers = together(*(lambda n=n: servable.predict("", {"x": np.ones((1, n), np.float32)}) for n in (2, 3)))
    assert [answer["sum"].tolist() for answer in answers] == [[2.0], [3.0]]


def test_rows_of_other_lengths_are_padded_with_the_first_element(counting, exports):
    parameters = BatchingParameters(max_batch_size=3, batch_timeout_micros=FOREVER, pad_variable_length_inputs=True)
    servable = Servable("count", 1, SessionEngine(counting), Batcher(parameters))
    short, long = np.float32([[5, 1], [2, 2]]), np.float32([[1, 1, 1, 1]])
    answers = together(*(lambda x=x: servable.predict("", {"x": x}) for x in (short, long)))
    assert answers[0]["rows"].tolist() == [3, 3]
    assert answers[0]["sum"].tolist() == [5 + 1 + 5 + 5, 2 + 2 + 5 + 5]
    assert answers[1]["sum"].tolist() == [4]
    texts = Servable(
        "toy", 1, SessionEngine(exports / "1"), Batcher(BatchingParameters(pad_variable_length_inputs=True))
    )
    assert texts.predict("", text("a", "bc"))["upper"].tolist() == [b"A", b"BC"]
    empty = servable.predict("", {"x": np.ones([3, 0], np.float32)})
    assert empty["sum"].tolist() == [0, 0, 0]


def test_versions_share_threads_but_never_a_batch(exports):
    batcher = Batcher(BatchingParameters(max_batch_size=8, batch_timeout_micros=20_000, num_batch_threads=1))
    versions = {version: Servable("toy", version, SessionEngine(exports / str(version)), batcher) for version in (1, 2)}
    calls = [lambda v=v: (v, versions[v].predict("", text("a"))["version"].tolist()) for v in (1, 2) * 8]
    assert all(told == [asked] for asked, told in together(*calls))


def test_a_full_queue_is_unavailable(exports, gate):
    servable = loaded(exports, max_batch_size=1, max_enqueued_batches=1, num_batch_threads=1)
    inputs = {"gate": np.array([gate.path.encode()], object)}
    with ThreadPoolExecutor(3) as threads:
        asking = [threads.submit(servable.predict, "wait", inputs) for _ in range(3)]  # one runs, one may wait
        until(lambda: any(call.done() for call in asking))
        gate.open()
        outcomes = [call.exception(timeout=20) for call in asking]
    refused = [error for error in outcomes if error is not None]
    assert {error.code for error in refused} == {"UNAVAILABLE"}
    assert len(refused) < 3  # accepted requests are answered


def test_no_rows_and_scalar_outputs(exports):
    servable = loaded(exports)
    assert servable.predict("", text())["upper"].shape == (0,)
    with pytest.raises(ServingError, match="Batched output tensor has 0 dimensions") as raised:
        servable.predict("scalar", {"x": np.ones(2, np.float32)})
    assert raised.value.code == "FAILED_PRECONDITION"


def test_outputs_that_were_not_asked_for_keep_nobody_from_an_answer(exports):
    """One output of the signature has no rows, but the other one can be requested."""
    servable = loaded(exports)
    assert servable.predict("joined", text("a", "b"), ["count"])["count"].tolist() == 2
    with pytest.raises(ServingError, match="Batched output tensor has 0 dimensions"):
        servable.predict("joined", text("a", "b"))


def test_inputs_must_have_the_same_number_of_rows(exports):
    with pytest.raises(ServingError, match=r"^INVALID_ARGUMENT: .*must have equal 0th-dimension size$"):
        loaded(exports).predict("scale", {"x": np.ones([2, 2], np.float32), "k": np.ones(3, np.int32)})


def test_the_parameter_file(tmp_path):
    path = tmp_path / "batching.txt"
    path.write_text(
        """
        max_batch_size { value: 16 }  # rows
        batch_timeout_micros { value: 500 }
        max_enqueued_batches { value: 3 }
        num_batch_threads { value: 2 }
        thread_pool_name { value: "pool" }
        allowed_batch_sizes: 4
        allowed_batch_sizes: 8
        enable_large_batch_splitting { value: true }
        max_execution_batch_size { value: 8 }
        pad_variable_length_inputs: true
        """
    )
    assert BatchingParameters.from_file(path) == BatchingParameters(16, 500, 3, 2, (4, 8), True, 8, True, "pool")
    path.write_text("")
    assert BatchingParameters.from_file(path) == BatchingParameters()
    for wrong, message in (
        (
            "max_batch_size: 3",
            r"Error parsing text-format tensorflow\.serving\.BatchingParameters: 1:",
        ),
        (
            "batch_size { value: 3 }",
            r"Error parsing text-format tensorflow\.serving\.BatchingParameters: 1:",
        ),
        ("allowed_batch_sizes: 8 max_batch_size { value: 4 }", "allowed_batch_sizes: expected .* end with 4"),
        ("max_batch_size { value: 0 }", "expected at least 1"),
        ("num_batch_threads { value: -1 }", "expected nonnegative numbers"),
        ("max_execution_batch_size { value: 4 }", "expected enable_large_batch_splitting"),
    ):
        path.write_text(wrong)
        with pytest.raises(ValueError, match=message):
            BatchingParameters.from_file(path)
    with pytest.raises(ValueError, match="batching_parameters_file: expected a file"):
        BatchingParameters.from_file(tmp_path / "nowhere")
