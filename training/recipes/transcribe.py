"""Speech recognition: the text of a sound, with the time of each symbol (Listen, Attend and Spell).

    seqattn train transcribe                                          # generated telephone tones
    seqattn train transcribe --data fsdd                              # spoken digits, in strings of 3 to 5
    seqattn train transcribe --data fsdd --set digits=1               # single digits, as they were recorded
    seqattn train transcribe --data fsdd --set score=additive --set max_test_digits=8
    seqattn train transcribe --data sounds/said.csv --set sound_column=file --set text_column=said
    seqattn explain runs/transcribe sound=@digits.wav -o heard.png

Data: the Free Spoken Digit Dataset (CC BY-SA 4.0), generated tones, or WAV files with a table. Encoder: a pyramid of
bidirectional LSTMs over the energies of mel bands. Decoder: LSTM with attention that depends on its previous weights,
or not (Chorowski et al., 2015; Chan et al., 2016). Loss: cross-entropy of the symbols. Metric: symbol error rate.
"""

import dataclasses
import re
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import digits
from seqattn_tf.training.metrics import ERRORS
from seqattn_tf.training.recipes.base import Recipe, load_files
from seqattn_tf.training.tasks import TranscribeSettings, TranscribeTask, setting
from seqattn_tf.training.tasks.settings import TableSplit


@dataclasses.dataclass(frozen=True)
class _SoundSettings(TableSplit, TranscribeSettings):
    """The settings of transcription, the number of digits per string, and the columns of a table."""

    digits: str = setting("3-5", "number of digits in a string, as MIN-MAX; 1 for single recordings")
    max_test_digits: int = setting(
        0, "add test strings of up to this many digits, longer than the training strings; 0 for none"
    )
    held_out_speaker: str = setting("", "use this speaker for testing only")
    num_examples: int = setting(20_000, "generated training strings")
    sound_column: str = setting("sound", "column or key of the sound file name")
    text_column: str = setting("text", "column or key of the transcript")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "num_examples")
        self._refuse_less(0, "max_test_digits")
        self.count_digits()

    def count_digits(self) -> tuple[int, int]:
        """Return the minimum and maximum number of digits of a string."""
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", self.digits)
        low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= low <= high:
            raise ValueError(f"digits: expected a number or a range such as 3-5. Received: {self.digits!r}")
        return low, high


FULL = _SoundSettings(
    units=96,
    embedding=32,
    dropout=0.2,
    label_smoothing=0.0,
    batch_size=128,
    epochs=12,
    learning_rate=3e-3,
    warmup_steps=200,
    ema_decay=0.99,
    hop_ms=16,
    max_target_length=20,
)


def load(data: str | Path | None, settings: _SoundSettings) -> Splits:
    """Load spoken digits, tones, or sounds with a table."""
    if data is not None and not digits.is_digits(data):
        return load_files(data, "sound", settings.sound_column, settings.text_column, settings)
    how = {name: getattr(settings, name) for name in ("num_examples", "max_test_digits", "held_out_speaker", "seed")}
    return digits.load(data, settings.count_digits(), **how)


recipe = Recipe(
    name="transcribe",
    summary="speech -> digits or other text (tones, Free Spoken Digit Dataset, your sounds)",
    load=load,
    task=TranscribeTask(metrics=[ERRORS]),
    settings=FULL,
    small=dataclasses.replace(
        FULL, units=48, num_examples=4_000, epochs=4, batch_size=64, ema_decay=0.0, warmup_steps=100
    ),
)
