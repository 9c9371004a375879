"""Toy tasks that are answered with what was read: by a pointer, by a memory, or by attention told where to look."""

from typing import Any

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.models import EncoderDecoder, PointerNetwork, RetellNetwork, Seq2Seq, Teller
from seqattn_tf.models.networks.guided import GuidedEncoderDecoder
from seqattn_tf.training.data import Examples
from seqattn_tf.training.tasks.base import refuse_few

# What solves a task, where no cell is named.
_POINTS = {"units": 64, "embedding": 32, "cell": "lstm"}
_KEEPS = {"units": 64, "embedding": 16, "cell": "memory"}
NETWORKS = {"pointer": _POINTS, "memory": _KEEPS, "attention": _POINTS}
_SOLVES = {"sort": "pointer", "copy": "memory", "recall": "memory"}


def build_teller(settings: Any, train: Examples) -> Teller | Seq2Seq:
    """Symbols of the training examples, on either side the same, and a network of their size."""
    name = _SOLVES[settings.task] if settings.network == "auto" else settings.network
    if settings.supervise and name != "attention":
        raise ValueError(f"supervise: expected 0 but for network=attention. Received: {settings.supervise}")
    if settings.label_smoothing and name == "pointer":  # most symbols are not there to be pointed at
        raise ValueError(f"label_smoothing: expected 0 for a pointer. Received: {settings.label_smoothing}")
    texts = [*train.inputs("text"), *train.targets]
    source = Text.learn(texts, split="spaces", limit=settings.max_source)
    refuse_few(source.rules, "vocabulary")
    target, size = Symbols(source.rules, settings.max_source), source.rules.size
    auto = settings.solving(NETWORKS[name]) if settings.cell == "auto" else {}
    if name == "attention":
        sizes = {**arguments_of(EncoderDecoder.of_symbols, settings), **auto}
        network = GuidedEncoderDecoder.of_symbols(size, size, supervise=settings.supervise, **sizes)
        return Seq2Seq(network, {"text": source}, target, max_length_ratio=1)
    kind = PointerNetwork if name == "pointer" else RetellNetwork
    return Teller(kind(size, **{**arguments_of(kind, settings), **auto}), {"text": source}, target)
