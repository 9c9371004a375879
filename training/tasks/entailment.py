"""A task that maps a premise and a hypothesis to a label."""

import dataclasses
from collections.abc import Sequence

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoders import ParentsEncoder, SymbolEncoder
from seqattn_tf.lite.fields import ParsedWords, Words
from seqattn_tf.lite.targets import Label
from seqattn_tf.models import Entailment, EntailmentNetwork, Parser
from seqattn_tf.presets import open_model
from seqattn_tf.training.data import Examples
from seqattn_tf.training.tasks.base import Task
from seqattn_tf.training.tasks.reading import FieldAndEncoder, ReadingSettings, learn_field
from seqattn_tf.training.tasks.settings import TextTable, setting


@dataclasses.dataclass(frozen=True)
class EntailSettings(TextTable, ReadingSettings):
    """Settings of a network that compares two texts, and of the table that it is trained on."""

    encoder: str = setting("heads", "heads (words joined with their soft heads), bidirectional, forward, ...")
    head_attention: str = setting("projective", "how heads are chosen: none, softmax, projective, spanning")
    parser: str = setting("", "preset or run of parse whose trees provide the heads instead")
    projection_units: int = setting(200, "units to which word embeddings are projected; 0 for the embedding size")
    compare_units: int = setting(200, "units of the comparison networks")
    differences: bool = setting(False, "also compare the difference and the product of the two vectors")
    premise_column: str = setting("premise", "column or key of the premise")
    hypothesis_column: str = setting("hypothesis", "column or key of the hypothesis")
    target_column: str = setting("label", "column or key of the label")


def _read_with_parser(settings: EntailSettings, texts: Sequence[str]) -> FieldAndEncoder:
    """Return the vocabulary of the texts, and an encoder that joins each word with its head."""
    for name, usual in (("encoder", "heads"), ("head_attention", "projective"), ("tokenizer", "tokens")):
        if (given := getattr(settings, name)) != usual:
            raise ValueError(f"{name}: expected the default, because the parser determines it. Received: {given!r}")
    parser = open_model(settings.parser, "keras")
    field = parser.inputs.get("text")
    if not isinstance(parser, Parser) or not isinstance(field, Words) or not parser.target.projective:
        raise ValueError(f"parser: expected a projective parser with encoder=words. Received: {settings.parser}")
    learned, settings, vectors = learn_field(Words, settings, field.rules.tokenizer, texts)
    both = ParsedWords.beside(learned.rules, field, settings.max_source_length)
    arguments = {
        **arguments_of(SymbolEncoder, settings),
        "projection_units": settings.projection_units,
        "vocabulary": both.rules.size,
    }
    return FieldAndEncoder(both, ParentsEncoder(parser=parser.network, **arguments), vectors)


@dataclasses.dataclass(frozen=True)
class EntailTask(Task[EntailSettings, Entailment]):
    """Training of an `Entailment`, with one vocabulary and one encoder for both texts."""

    def build(self, settings: EntailSettings, train: Examples) -> Entailment:
        texts = [*train.inputs("premise"), *train.inputs("hypothesis")]
        reads = _read_with_parser(settings, texts) if settings.parser else FieldAndEncoder.learn(settings, texts)
        target = Label.learn(train.targets)
        arguments = {**arguments_of(EntailmentNetwork, settings), "units": settings.compare_units}
        network = EntailmentNetwork(reads.encoder, target.size, **arguments)
        return Entailment(reads.begin(network), dict.fromkeys(("premise", "hypothesis"), reads.field), target)
