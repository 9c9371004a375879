"""Toy tasks whose answers consist of input symbols, solved by a pointer, a memory cell or supervised attention."""

from typing import Any

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.models import EncoderDecoder, MemoryCellNetwork, PointerNetwork, Rearranger, Seq2Seq
from seqattn_tf.models.networks.guided import GuidedEncoderDecoder
from seqattn_tf.training.data import Examples
from seqattn_tf.training.tasks.base import refuse_few

# The networks that solve a task, used if no cell is given.
_POINTS = {"units": 64, "embedding": 32, "cell": "lstm"}
_KEEPS = {"units": 64, "embedding": 16, "cell": "memory"}
NETWORKS = {"pointer": _POINTS, "memory": _KEEPS, "attention": _POINTS}
_SOLVES = {"sort": "pointer", "copy": "memory", "recall": "memory"}


def build_teller(settings: Any, train: Examples) -> Rearranger | Seq2Seq:
    """Build an untrained model for a sequence task, with one vocabulary for input and output."""
    name = _SOLVES[settings.task] if settings.network == "auto" else settings.network
    if settings.attention_supervision and name != "attention":
        raise ValueError(
            f"attention_supervision: expected 0 unless network=attention. Received: {settings.attention_supervision}"
        )
    if settings.label_smoothing and name == "pointer":  # a pointer cannot point to symbols that are not in the input
        raise ValueError(f"label_smoothing: expected 0 for a pointer network. Received: {settings.label_smoothing}")
    texts = [*train.inputs("text"), *train.targets]
    source = Text.learn(texts, tokenizer="spaces", limit=settings.max_source_length)
    refuse_few(source.rules, "vocabulary")
    target, size = Symbols(source.rules, settings.max_source_length), source.rules.size
    auto = settings.solving(NETWORKS[name]) if settings.cell == "auto" else {}
    if name == "attention":
        sizes = {**arguments_of(EncoderDecoder.of_symbols, settings), **auto}
        network = GuidedEncoderDecoder.of_symbols(
            size, size, attention_supervision=settings.attention_supervision, **sizes
        )
        return Seq2Seq(network, {"text": source}, target, max_length_ratio=1)
    kind = PointerNetwork if name == "pointer" else MemoryCellNetwork
    return Rearranger(kind(size, **{**arguments_of(kind, settings), **auto}), {"text": source}, target)
