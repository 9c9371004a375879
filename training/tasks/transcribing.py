"""A task that maps sounds to symbols: Listen, Attend and Spell."""

import dataclasses
from collections.abc import Mapping, Sequence

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.decoders import DecoderOptions
from seqattn_tf.encoders import PyramidEncoder
from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.fields import Sound
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.models import EncoderDecoder, Seq2Seq
from seqattn_tf.training.data import Example, Examples
from seqattn_tf.training.data.corpora.digits import BEYOND
from seqattn_tf.training.metrics import Suffixed
from seqattn_tf.training.tasks.base import Report, Task, refuse_few, without_beam
from seqattn_tf.training.tasks.settings import SearchSettings, Settings, setting

_SOUND = "sound"  # the name of the input


@dataclasses.dataclass(frozen=True)
class TranscribeSettings(SearchSettings, DecoderOptions, Settings):
    """Settings of a speech recognizer."""

    depth: int = setting(3, "layers of the pyramid; each after the first halves the number of steps")
    score: str = "location"
    sample_rate: int = setting(8000, "samples per second to which sounds are resampled")
    n_mels: int = setting(40, "mel bands")
    hop_ms: int = setting(10, "milliseconds between frames")
    max_seconds: float = setting(30.0, "maximum length in seconds; a longer sound is an error")
    target_tokenizer: str = setting("spaces", "target token type: spaces, characters, words, subwords")
    max_target_length: int = setting(
        64, "maximum target tokens; longer training targets are skipped, longer answers are cut"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "max_target_length", "sample_rate", "n_mels", "hop_ms")


@dataclasses.dataclass(frozen=True)
class TranscribeTask(Task[TranscribeSettings, Seq2Seq]):
    """Training of a `Seq2Seq` on sounds. Examples noted as longer than the training data are evaluated separately."""

    def build(self, settings: TranscribeSettings, train: Examples) -> Seq2Seq:
        target = Symbols.learn(train.targets, tokenizer=settings.target_tokenizer, limit=settings.max_target_length)
        refuse_few(target.rules, "target vocabulary")
        encoder = PyramidEncoder(**arguments_of(PyramidEncoder, settings))
        how = {**arguments_of(EncoderDecoder.of_encoder, settings), **arguments_of(DecoderOptions, settings)}
        network = EncoderDecoder.of_encoder(encoder, target.rules.size, **how)
        sound = Sound(frames_per_position=encoder.frames_per_position, **arguments_of(Sound, settings))
        return Seq2Seq(network, {_SOUND: sound}, target, max_length_ratio=0, **arguments_of(Seq2Seq, settings))

    def fast_variant(self, model: Seq2Seq) -> Seq2Seq:
        return without_beam(model)

    def evaluate(
        self,
        model: Seq2Seq,
        found: Mapping[str, Answer],
        examples: Sequence[Example],
        notes: Mapping[str, str] | None = None,
    ) -> Report:
        """Return the metrics of ordinary examples and, with a suffix, those of longer ones."""
        notes = notes or {}
        longer = [example for example in examples if notes.get(example.key) == BEYOND]
        report = super().evaluate(model, found, [e for e in examples if notes.get(e.key) != BEYOND] or longer, notes)
        if not longer or len(longer) == len(examples):
            return report
        other = super().evaluate(model, found, longer, notes)
        apart = {f"{name}_{BEYOND}": value for name, value in other.metrics.items()}
        samples = [*report.samples, *(Suffixed(sampled, BEYOND) for sampled in other.samples)]
        return dataclasses.replace(report, metrics={**report.metrics, **apart}, samples=samples)
