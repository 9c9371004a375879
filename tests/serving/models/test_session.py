"""The session engine: SavedModels of TensorFlow 1 and 2."""

import gc
import shutil
import threading
import time
import weakref

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text as tf_text
from google.protobuf import text_format
from serving_toys import load_saved_model
from tensorflow.core.protobuf import saved_model_pb2

from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.models import session as engines
from seqattn_tf.serving.models.model_config import folder_of_models
from seqattn_tf.serving.models.repository import ModelRepository
from seqattn_tf.serving.models.servable import Servable
from seqattn_tf.serving.models.session import SessionEngine


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    """A model that counts to `n`, and counts how often it was started."""
    module = tf.Module()
    module.begun = tf.Variable(0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, name="n")])
    def count(n):
        with tf.control_dependencies([module.begun.assign_add(1)]):
            counted = tf.while_loop(lambda i: i < tf.reduce_max(n), lambda i: (i + 1,), [tf.constant(0)])[0]
        return {"counted": tf.fill(tf.shape(n), counted)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, name="n")])
    def positive(n):
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(n > 0), ["expected more than", 0])]):
            return {"n": tf.identity(n)}

    @tf.function(input_signature=[])
    def begun():
        return {"begun": module.begun.read_value()}

    folder = tmp_path_factory.mktemp("counter")
    signatures = {"serving_default": count, "positive": positive, "begun": begun}
    tf.saved_model.save(module, str(folder), signatures=signatures)
    return folder


def count(engine, n, timeout=None):
    return engine.run("serving_default", {"n": np.array([n], np.int32)}, ["counted"], timeout)["counted"].tolist()


def begun(engine):
    return int(engine.run("begun", {}, ["begun"], None)["begun"])


def test_a_run_ends_at_its_deadline_and_who_comes_too_late_is_not_begun(counter):
    engine = SessionEngine(counter)
    assert count(engine, 3) == count(engine, 3, timeout=60.0) == count(engine, 3, timeout=1e30) == [3]
    start = time.monotonic()
    with pytest.raises(ServingError, match="DEADLINE_EXCEEDED: Timed out waiting for notification"):
        count(engine, 2**31 - 1, timeout=0.3)
    assert 0.25 < time.monotonic() - start < 20
    so_far = begun(engine)
    for timeout in (0.0, -1.0):
        with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
            count(engine, 3, timeout)
    assert begun(engine) == so_far
    assert count(engine, 3) == [3]


def test_who_comes_together_waits_for_one_run_that_is_made_once(counter, monkeypatch):
    engine, made, going = SessionEngine(counter), [], threading.Event()

    def run(*_):
        made.append(going.wait(20))
        return lambda inputs, timeout: {}

    monkeypatch.setattr(engines, "_Run", run)
    threads = [threading.Thread(target=engine.run, args=("begun", {}, ["begun"], None)) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)  # until the other threads wait too
    going.set()
    for thread in threads:
        thread.join()
    assert made == [True]


def test_the_first_run_is_alone_and_others_wait_no_longer_than_they_may(counter, monkeypatch):
    monkeypatch.setattr(engines, "FIRST_SECONDS", 60.0)
    engine = SessionEngine(counter)
    threads = [threading.Thread(target=count, args=(engine, 3 * 10**4)) for _ in range(4)]
    for thread in threads:
        thread.start()
    while not engine._runs:
        time.sleep(0.001)
    [run] = engine._runs.values()
    with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
        count(engine, 3, timeout=0.001)
    seen = set()
    while run._unprepared:
        count_then = begun(engine)
        if run._unprepared:  # still true after counting
            seen.add(count_then)
    assert seen <= {0, 1}  # while the first run has not finished, no other one has started
    for thread in threads:
        thread.join()
    assert begun(engine) == 4


def test_who_waited_for_the_first_run_does_not_wait_for_the_others(counter, monkeypatch):
    engine = SessionEngine(counter)
    run = engine._make("serving_default", ("counted",))
    within, at_once, most = run._within, [], []

    def watched(end, values):
        at_once.append(1)
        most.append(len(at_once))
        time.sleep(0.2)
        at_once.pop()
        return within(end, values)

    monkeypatch.setattr(run, "_within", watched)
    threads = [threading.Thread(target=count, args=(engine, 3)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1
    assert max(most[1:]) > 1


def test_while_the_first_run_has_not_ended_no_other_begins(counter, monkeypatch):
    monkeypatch.setattr(engines, "FIRST_SECONDS", 60.0)
    engine = SessionEngine(counter)
    run = engine._make("serving_default", ("counted",))
    within, begins, come, entered, end = run._within, run._begins, [], [], threading.Event()
    monkeypatch.setattr(run, "_begins", lambda deadline: come.append(1) or begins(deadline))
    monkeypatch.setattr(run, "_within", lambda *given: entered.append(1) or (end.wait(20) and within(*given)))
    threads = [threading.Thread(target=count, args=(engine, 3)) for _ in range(3)]
    for thread in threads:
        thread.start()
    while len(come) < 3:
        time.sleep(0.001)
    time.sleep(0.1)
    assert len(entered) == 1
    end.set()
    for thread in threads:
        thread.join()
    assert len(entered) == 3


def test_a_short_deadline_is_kept_while_a_longer_one_runs(counter):
    engine = SessionEngine(counter)
    count(engine, 3)
    ends = {}

    def never_ends(timeout):
        with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
            count(engine, 2**31 - 1, timeout)
        ends[timeout] = time.monotonic() - start

    start = time.monotonic()
    threads = [threading.Thread(target=never_ends, args=(timeout,)) for timeout in (2.0, 0.2)]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    assert ends[0.2] < 1.5
    assert ends[2.0] > 1.9


def test_a_first_run_that_takes_long_does_not_stop_the_others(counter, monkeypatch):
    monkeypatch.setattr(engines, "FIRST_SECONDS", 0.2)
    engine = SessionEngine(counter)

    def never_ends():
        with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
            count(engine, 2**31 - 1, timeout=2.0)

    slow = threading.Thread(target=never_ends)
    slow.start()
    while not engine._runs:
        time.sleep(0.01)
    time.sleep(0.05)
    start = time.monotonic()
    assert count(engine, 3, timeout=1.5) == count(engine, 3) == [3]
    assert time.monotonic() - start < 1.5
    slow.join()


def test_a_failed_first_run_is_not_the_last_word(counter):
    engine = SessionEngine(counter)
    for _ in range(2):
        with pytest.raises(ServingError, match=r"^INVALID_ARGUMENT: assertion failed: \[expected more than\] \[0\]$"):
            engine.run("positive", {"n": np.zeros(1, np.int32)}, ["n"], 5.0)
    assert engine.run("positive", {"n": np.ones(1, np.int32)}, ["n"], None)["n"].tolist() == [1]


@pytest.fixture(scope="module")
def powers(tmp_path_factory):
    """A model without loops: the time of a request depends on its size."""

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32, name="x")])
    def power(x):
        y = tf.matmul(x, x)
        for _ in range(4):
            y = tf.matmul(y, x)
        return {"y": y}

    folder = tmp_path_factory.mktemp("powers")
    tf.saved_model.save(tf.Module(), str(folder), signatures=power)
    return folder


def power(engine, size, timeout=60.0):
    return engine.run("serving_default", {"x": np.eye(size, dtype=np.float32)}, ["y"], timeout)["y"]


def watched(run, monkeypatch):
    """Record the thread of each subsequent run."""
    places, within, here = [], run._within, run._here
    monkeypatch.setattr(run, "_within", lambda *arguments: places.append("pool") or within(*arguments))
    monkeypatch.setattr(run, "_here", lambda *arguments: places.append("here") or here(*arguments))
    return places


def test_only_what_was_seen_to_be_quick_runs_in_the_thread_that_asks(powers, monkeypatch):
    """The calling thread cannot observe a deadline, so requests must be no larger than a previous fast one."""
    monkeypatch.setattr(engines, "QUICK_SECONDS", 10.0)
    monkeypatch.setattr(engines, "CHEAP_SECONDS", 10.0)
    engine = SessionEngine(powers)
    power(engine, 2)  # prepares the graph
    places = watched(engine._runs["serving_default", ("y",)], monkeypatch)
    for size in (2, 2, 1, 3, 3, 2):
        np.testing.assert_array_equal(power(engine, size), np.eye(size))
    assert places == ["pool", "here", "here", "pool", "here", "here"]
    places.clear()
    monkeypatch.setattr(engines, "CHEAP_SECONDS", 0.0)
    for size in (512, 512, 512, 3):  # the second run turns out to be too slow
        power(engine, size)
    assert places == ["pool", "here", "pool", "here"]
    monkeypatch.setattr(engines, "CHEAP_SECONDS", 10.0)
    with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):  # reported although it ran to its end
        power(engine, 3, timeout=1e-9)


def test_what_is_slow_or_may_take_any_time_never_runs_in_the_thread_that_asks(counter, powers, monkeypatch):
    monkeypatch.setattr(engines, "QUICK_SECONDS", 10.0)
    loops = SessionEngine(counter)
    for _ in range(4):
        count(loops, 3)
    assert loops._runs["serving_default", ("counted",)]._callable is None
    monkeypatch.setattr(engines, "QUICK_SECONDS", 0.0)
    slow = SessionEngine(powers)
    for _ in range(4):
        power(slow, 2)
    assert slow._runs["serving_default", ("y",)]._callable is None


@pytest.fixture(scope="module")
def of_tensorflow_1(tmp_path_factory):
    """A model with variables, a table that is initialized at the start, an asset, and a signature without a name."""
    v1, utils = tf.compat.v1, tf.compat.v1.saved_model.signature_def_utils
    folder = tmp_path_factory.mktemp("v1")
    (folder / "words.txt").write_text("zero\none\ntwo\n")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        word = v1.placeholder(tf.string, [None], name="word")
        half = v1.get_variable("half", initializer=0.5)
        table = tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(
                str(folder / "words.txt"),
                tf.string,
                tf.lookup.TextFileIndex.WHOLE_LINE,
                tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER,
            ),
            -1,
        )
        fails = tf.debugging.Assert(tf.constant(False), ["never asked for"])
        with tf.control_dependencies([fails]):
            bad = tf.identity(x)
        y = half * x
        info = v1.saved_model.build_tensor_info
        ill = utils.build_signature_def({"x": info(x)}, {"y": info(y)}, "tensorflow/serving/predict")
        ill.outputs["y"].name = "nowhere:0"
        ill_input = utils.build_signature_def({"x": info(x)}, {"y": info(y)}, "tensorflow/serving/predict")
        ill_input.inputs["x"].name = "nowhere:0"
        signatures = {
            "serving_default": utils.predict_signature_def({"x": x}, {"y": y, "same": y, "sum": tf.reduce_sum(y)}),
            "lookup": utils.predict_signature_def({"word": word}, {"number": table.lookup(word), "first": word[0]}),
            "half_bad": utils.predict_signature_def({"x": x}, {"good": y, "bad": bad}),
            "ill": ill,
            "ill_input": ill_input,
        }
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        builder = v1.saved_model.Builder(str(folder / "m"))
        builder.add_meta_graph_and_variables(session, ["serve"], signatures, main_op=v1.tables_initializer())
        builder.save()
    return folder / "m"


def test_a_model_of_tensorflow_1_answers(of_tensorflow_1):
    engine = SessionEngine(of_tensorflow_1)
    x = np.float32([[1, 2], [3, 4]])
    found = engine.run("serving_default", {"x": x}, ["y", "same", "sum"], None)
    assert found["y"].tolist() == found["same"].tolist() == [[0.5, 1.0], [1.5, 2.0]]
    assert (found["sum"].shape, found["sum"].dtype, float(found["sum"])) == ((), np.float32, 5.0)
    words = np.array([b"two", b"three"], object)
    for _ in range(3):  # in threads of both kinds
        found = engine.run("lookup", {"word": words}, ["number", "first"], None)
        assert found["number"].tolist() == [2, -1]
        assert (found["first"].shape, found["first"].dtype, found["first"].item()) == ((), object, b"two")


def test_one_ill_signature_does_not_keep_the_others_from_serving(of_tensorflow_1):
    servable = Servable("m", 1, SessionEngine(of_tensorflow_1))
    x = {"x": np.ones([1, 2], np.float32)}
    assert servable.predict("", x)["y"].tolist() == [[0.5, 0.5]]
    for name, side in (("ill", "FetchOutputs"), ("ill_input", "FeedInputs")):
        with pytest.raises(ServingError, match=f"^NOT_FOUND: {side} nowhere:0: not found$"):
            servable.predict(name, x)


def test_what_is_not_asked_for_does_not_run(of_tensorflow_1):
    servable = Servable("m", 1, SessionEngine(of_tensorflow_1))
    x = {"x": np.ones([1, 2], np.float32)}
    assert list(servable.predict("half_bad", x, ["good"])) == ["good"]
    with pytest.raises(ServingError, match="never asked for"):
        servable.predict("half_bad", x)


def test_two_inputs_that_are_one_tensor_are_refused(of_tensorflow_1):
    engine = SessionEngine(of_tensorflow_1)
    signature = engine.signature_defs["serving_default"]
    signature.inputs["again"].CopyFrom(signature.inputs["x"])
    x = np.ones([1, 2], np.float32)
    for _ in range(4):  # also in the calling thread
        with pytest.raises(ServingError, match=r'^INVALID_ARGUMENT: Endpoint "x:0" fed more than once\.$'):
            engine.run("serving_default", {"x": x, "again": x}, ["y"], None)


@pytest.mark.parametrize("times", [1, 4])
def test_another_dtype_is_refused_in_tensorflow_s_words(of_tensorflow_1, times):
    engine = SessionEngine(of_tensorflow_1)
    for _ in range(times):
        engine.run("serving_default", {"x": np.ones([1, 2], np.float32)}, ["y"], None)
    for wrong, name in ((np.ones([1, 2]), "double"), (np.full([1, 2], b"a", object), "string")):
        with pytest.raises(ServingError, match=f"^INVALID_ARGUMENT: .*to be float but {name} is provided"):
            engine.run("serving_default", {"x": wrong}, ["y"], None)


def test_ops_of_tensorflow_text_are_there(tmp_path):
    spec = tf.TensorSpec([None], tf.string, name="text")
    lower = tf.function(lambda text: {"lower": tf_text.case_fold_utf8(text)}, input_signature=[spec])
    tf.saved_model.save(tf.Module(), str(tmp_path), signatures=lower)
    found = SessionEngine(tmp_path).run("serving_default", {"text": np.array(["ÄB".encode()], object)}, ["lower"], None)
    assert found["lower"].tolist() == ["äb".encode()]


def test_a_model_in_text_form_is_served(powers, tmp_path):
    model = saved_model_pb2.SavedModel.FromString((powers / "saved_model.pb").read_bytes())
    shutil.copytree(powers, tmp_path / "m" / "1")
    (tmp_path / "m" / "1" / "saved_model.pb").unlink()
    (tmp_path / "m" / "1" / "saved_model.pbtxt").write_text(text_format.MessageToString(model))
    repository = ModelRepository(folder_of_models(tmp_path), load_saved_model, poll_seconds=0)
    repository.start()
    found = repository.get("m").predict("", {"x": np.eye(2, dtype=np.float32)})
    assert found["y"].tolist() == [[1, 0], [0, 1]]


def test_shapes_are_left_to_the_graph(of_tensorflow_1):
    engine = SessionEngine(of_tensorflow_1)
    assert engine.run("serving_default", {"x": np.ones([3], np.float32)}, ["y"], None)["y"].tolist() == [0.5] * 3


def test_inputs_that_are_left_out_have_their_defaults(counter, tmp_path):
    model = saved_model_pb2.SavedModel.FromString((counter / "saved_model.pb").read_bytes())
    signature = model.meta_graphs[0].signature_def["positive"]
    signature.defaults["n"].CopyFrom(tf.make_tensor_proto([7], tf.int32))
    servable = Servable("m", 1, SessionEngine(counter))
    with pytest.raises(ServingError, match=r"0!=1 len\(\{\}\) != len\(\{n\}\)\. .*Missing but required: \{n\}\.$"):
        servable.predict("positive", {})
    servable.signature_defs["positive"].MergeFromString(signature.SerializeToString())
    assert servable.predict("positive", {})["n"].tolist() == [7]
    assert servable.predict("positive", {"n": np.array([3], np.int32)})["n"].tolist() == [3]
    with pytest.raises(ServingError, match=r"Inputs contains invalid name\. Used request inputs: , request input: m$"):
        servable.predict("positive", {"m": np.array([3], np.int32)})


def test_what_is_sent_goes_before_a_default(tmp_path):
    specs = [tf.TensorSpec([None], tf.int32, name=name) for name in ("a", "b")]
    tf.saved_model.save(tf.Module(), str(tmp_path), signatures=tf.function(lambda a, b: {"y": 10 * a + b}, specs))
    servable = Servable("m", 1, SessionEngine(tmp_path))
    signature = servable.signature_defs["serving_default"]
    for alias, value in (("a", 1), ("b", 2)):
        signature.defaults[alias].MergeFromString(tf.make_tensor_proto([value], tf.int32).SerializeToString())
    assert servable.predict("", {})["y"].tolist() == [12]
    assert servable.predict("", {"a": np.array([5], np.int32)})["y"].tolist() == [52]


def test_a_model_that_nobody_holds_is_closed(counter):
    engine = SessionEngine(counter)
    assert count(engine, 3) == [3]
    session = engine._session
    gone = weakref.ref(engine)
    del engine
    gc.collect()
    assert gone() is None
    with pytest.raises(RuntimeError, match="closed"):
        session.run([])


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("none", "NOT_FOUND: Could not find SavedModel .pb or .pbtxt"),
        ("half", "DATA_LOSS: Can't parse saved_model.pb as binary proto"),
        ("tag", "NOT_FOUND: Could not find meta graph def matching supplied tags: { serve }"),
        ("variables", "DATA_LOSS: expected complete weights in variables/"),
    ],
)
def test_a_model_that_cannot_be_loaded_says_why(counter, tmp_path, fault, message):
    model = saved_model_pb2.SavedModel.FromString((counter / "saved_model.pb").read_bytes())
    if fault == "tag":
        model.meta_graphs[0].meta_info_def.tags[:] = ["train"]
    whole = model.SerializeToString()
    if fault != "none":
        (tmp_path / "saved_model.pb").write_bytes(whole[: len(whole) // 2] if fault == "half" else whole)
    with pytest.raises((ServingError, tf.errors.OpError)) as raised:
        SessionEngine(tmp_path)
    assert message in str(raised.value)
