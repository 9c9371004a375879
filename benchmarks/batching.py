"""The batcher compared with TensorFlow's BatchFunction in the same session: `pronounce`, 64 threads, no sockets.

Both run batches of at most 16 words that wait up to 20 ms to fill, two batches at once, with one thread per operation.
"""

import threading
import time
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.attr_value_pb2 import AttrValue
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import pywrap_tf_session

from benchmarks.serving import PRONOUNCE, words
from seqattn_tf.export.package import export_presets
from seqattn_tf.serving.models.batcher import Batcher
from seqattn_tf.serving.models.batching import BatchingParameters
from seqattn_tf.serving.models.session import SessionEngine

SIZES = {"max_batch_size": 16, "batch_timeout_micros": 20_000, "max_enqueued_batches": 100, "num_batch_threads": 2}
THREADS, SECONDS, ROUNDS = 64, 5.0, 3
Ask = Callable[[bytes], object]


def by_batcher(engine: SessionEngine) -> Ask:
    """Return a function that answers a word through our batcher."""
    outputs = sorted(engine.signature_defs["serving_default"].outputs)
    queue = Batcher(BatchingParameters(**SIZES)).queue(
        lambda inputs, timeout: engine.run("serving_default", inputs, outputs, timeout)
    )
    return lambda word: queue({"text": np.array([word], object)}, 30.0)


def by_batch_function(engine: SessionEngine) -> Ask:
    """Return a function that answers a word through TensorFlow's op, added to the graph around the signature."""
    session, [info, *_] = engine._session, engine.signature_defs["serving_default"].outputs.values()
    call = session.graph.get_operation_by_name(info.name.partition(":")[0])
    captured = list(call.inputs)[1:]  # the first input is the text
    attributes = {name: AttrValue(i=value) for name, value in SIZES.items()}
    attributes["f"] = AttrValue()
    attributes["f"].func.name = call.node_def.attr["f"].func.name
    for name, tensors in (("Tcaptured", captured), ("Tout", call.outputs)):
        attributes[name] = AttrValue(list=AttrValue.ListValue(type=[t.dtype.as_datatype_enum for t in tensors]))
    attributes["Tin"] = AttrValue(list=AttrValue.ListValue(type=[tf.string.as_datatype_enum]))
    with session.graph.as_default():
        text = tf.compat.v1.placeholder(tf.string, [None])
        dtypes = [tensor.dtype for tensor in call.outputs]
        together = session.graph.create_op("BatchFunction", [text, *captured], dtypes, attrs=attributes)
    session._extend_graph()
    feed, fetches = text._as_tf_output(), [tensor._as_tf_output() for tensor in together.outputs]
    run = pywrap_tf_session.TF_SessionRun_wrapper
    return lambda word: run(session._session, None, {feed: np.array([word], object)}, fetches, [], None)


def measure(ask: Ask, asked: list[bytes], seconds: float) -> tuple[float, float]:
    """Return answers per second, and milliseconds of CPU time per answer."""
    end, counts, cpu = time.monotonic() + seconds, [0] * THREADS, time.process_time()

    def run(number: int) -> None:
        place = number
        while time.monotonic() < end:
            ask(asked[place % len(asked)])
            place += THREADS
            counts[number] += 1

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds, (time.process_time() - cpu) / sum(counts) * 1e3


def main() -> None:
    """Measure both in turns and print the results."""
    config = config_pb2.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=2)
    engine = SessionEngine(export_presets() / PRONOUNCE / "1", config)
    asked = [word.encode() for word in words()]
    ways = {"batcher": by_batcher(engine), "BatchFunction": by_batch_function(engine)}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for seconds in (1.0, *[SECONDS] * ROUNDS):
        for name, ask in ways.items():
            found[name].append(measure(ask, asked, seconds))
    for name, rounds in found.items():
        rate, cpu = np.median(rounds[1:], axis=0)
        print(f"{name:<14} {rate:6,.0f} /s   CPU {cpu:5.2f} ms", flush=True)
    ratio = np.median([ours[0] / theirs[0] for ours, theirs in zip(*(f[1:] for f in found.values()), strict=True)])
    print(f"batcher / BatchFunction: {ratio:.2f}")


if __name__ == "__main__":
    main()
