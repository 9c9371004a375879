"""Sounds to symbols: Listen, Attend and Spell."""

import dataclasses
from collections.abc import Mapping, Sequence

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoder import PyramidEncoder
from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.fields import Sound
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.models import EncoderDecoder, Seq2Seq
from seqattn_tf.training.data import Example, Examples
from seqattn_tf.training.data.corpora.digits import BEYOND
from seqattn_tf.training.tasks.base import Report, Task, refuse_few, without_beam
from seqattn_tf.training.tasks.settings import SearchSettings, Settings, setting

_SOUND = "sound"  # the name of the input


@dataclasses.dataclass(frozen=True)
class ListenSettings(SearchSettings, Settings):
    """Settings of what listens."""

    depth: int = setting(3, "layers of the pyramid; each but the first has half the steps of the one below")
    score: str = setting("location", "or additive, general, dot, ..., or one of a plug-in")
    align: str = setting("softmax", "or sigmoid, monotonic, ..., or one of a plug-in")
    scheduled_sampling: float = setting(0.0, "how often the decoder sees its own symbol in training")
    rate: int = setting(8000, "samples a second to which sounds are brought")
    bands: int = setting(40, "of pitch, whose energies are heard")
    hop: int = setting(10, "milliseconds from frame to frame")
    seconds: float = setting(30.0, "of a sound, at most; a longer one is refused")
    target_split: str = setting("spaces", "what a symbol of an answer is: spaces, characters, words, subwords")
    max_target: int = setting(64, "symbols; a longer answer is cut, and not learned from")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "max_target", "rate", "bands", "hop")


@dataclasses.dataclass(frozen=True)
class ListenTask(Task[ListenSettings, Seq2Seq]):
    """Training of a `Seq2Seq` that listens; what the data note to be longer than all that was heard stands apart."""

    def build(self, settings: ListenSettings, train: Examples) -> Seq2Seq:
        """The symbols of the training answers, and a network of their number."""
        target = Symbols.learn(train.targets, split=settings.target_split, limit=settings.max_target)
        refuse_few(target.rules, "vocabulary of what is said")
        encoder = PyramidEncoder(**arguments_of(PyramidEncoder, settings))
        sizes = arguments_of(EncoderDecoder.of_encoder, settings)
        network = EncoderDecoder.of_encoder(encoder, target.rules.size, **sizes)
        sound = Sound(per_place=encoder.per_place, **arguments_of(Sound, settings))
        return Seq2Seq(network, {_SOUND: sound}, target, max_length_ratio=0, **arguments_of(Seq2Seq, settings))

    def quick(self, model: Seq2Seq) -> Seq2Seq:
        """The same without a beam."""
        return without_beam(model)

    def judge(
        self,
        model: Seq2Seq,
        found: Mapping[str, Answer],
        examples: Sequence[Example],
        notes: Mapping[str, str] | None = None,
    ) -> Report:
        """The figures, and beside them those of longer ones."""
        notes = notes or {}
        longer = [example for example in examples if notes.get(example.key) == BEYOND]
        report = super().judge(model, found, [e for e in examples if notes.get(e.key) != BEYOND] or longer, notes)
        if not longer or len(longer) == len(examples):
            return report
        figures = super().judge(model, found, longer, notes).figures
        apart = {f"{name}_{BEYOND}": value for name, value in figures.items()}
        return dataclasses.replace(report, figures={**report.figures, **apart})
