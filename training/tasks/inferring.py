"""A premise and a hypothesis to a label."""

import dataclasses
from collections.abc import Sequence

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoder import ParentsEncoder, SymbolEncoder
from seqattn_tf.lite.fields import ParsedWords, Words
from seqattn_tf.lite.targets import Label
from seqattn_tf.models import Entailment, EntailmentNetwork, Parser
from seqattn_tf.models.presets import open_model
from seqattn_tf.training.data import Examples
from seqattn_tf.training.tasks.base import Task
from seqattn_tf.training.tasks.reading import ReadingSettings, Reads, learn_field
from seqattn_tf.training.tasks.settings import TextTable, setting


@dataclasses.dataclass(frozen=True)
class EntailSettings(TextTable, ReadingSettings):
    """Settings of a network that compares two texts, and of a table of one's own that it learns from."""

    encoder: str = setting("heads", "words joined with their soft heads; or bidirectional, forward, ...")
    heads: str = setting("projective", "how heads are found: none, softmax, projective, spanning")
    parser: str = setting("", "a preset or the folder of a run of parse, whose trees give each word its head instead")
    width: int = setting(200, "numbers of a word after its embedding was projected; 0 for as many as that has")
    compare_units: int = setting(200, "width of the networks that compare")
    differences: bool = setting(False, "whether differences and products of what is compared are seen, too")
    premise: str = setting("premise", "column or key of the premise")
    hypothesis: str = setting("hypothesis", "column or key of the hypothesis")
    target: str = setting("label", "column or key of the label")


def _read_with_parser(settings: EntailSettings, texts: Sequence[str]) -> Reads:
    """Vocabulary of the texts, and an encoder that joins each word with its parent."""
    for name, usual in (("encoder", "heads"), ("heads", "projective"), ("split", "tokens")):
        if (given := getattr(settings, name)) != usual:
            raise ValueError(f"{name}: expected none beside a parser, which decides that. Received: {given!r}")
    parser = open_model(settings.parser)
    field = parser.inputs.get("text")
    if not isinstance(parser, Parser) or not isinstance(field, Words) or not parser.target.projective:
        raise ValueError(
            f"parser: expected one of projective trees that reads words with their letters. Received: {settings.parser}"
        )
    learned, settings, vectors = learn_field(Words, settings, field.rules.split, texts)
    both = ParsedWords.beside(learned.rules, field, settings.max_source)
    arguments = {**arguments_of(SymbolEncoder, settings), "width": settings.width, "vocabulary": both.rules.size}
    return Reads(both, ParentsEncoder(parser=parser.network, **arguments), vectors)


@dataclasses.dataclass(frozen=True)
class EntailTask(Task[EntailSettings, Entailment]):
    """Training of an `Entailment`: one vocabulary and one encoder for both texts."""

    def build(self, settings: EntailSettings, train: Examples) -> Entailment:
        """Vocabulary and labels of the training examples, and a network of their sizes."""
        texts = [*train.inputs("premise"), *train.inputs("hypothesis")]
        reads = _read_with_parser(settings, texts) if settings.parser else Reads.learn(settings, texts)
        target = Label.learn(train.targets)
        arguments = {**arguments_of(EntailmentNetwork, settings), "units": settings.compare_units}
        network = EntailmentNetwork(reads.encoder, target.size, **arguments)
        return Entailment(reads.begin(network), dict.fromkeys(("premise", "hypothesis"), reads.field), target)
