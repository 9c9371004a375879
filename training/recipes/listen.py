"""A sound in, what was said out, with when each symbol was heard: Listen, Attend and Spell.

    seqattn train listen                                          # tones of a telephone, which are made here
    seqattn train listen --data fsdd                              # spoken digits, 3 to 5 after another
    seqattn train listen --data fsdd --set digits=1               # one each, as they were recorded
    seqattn train listen --data fsdd --set score=additive --set beyond=8
    seqattn train listen --data sounds/said.csv --set sound=file --set text=said
    seqattn explain runs/listen sound=@digits.wav -o heard.png

Data: the Free Spoken Digit Dataset (CC BY-SA 4.0), generated tones, or WAV files beside a table. Encoder: energies of
mel bands, and a pyramid of bidirectional LSTMs over them. Decoder: LSTM with attention that sees where it looked last,
or not (Chan et al., 2016; Chorowski et al., 2015). Loss: cross-entropy of the symbols. Metric: error rate by symbol.
"""

import dataclasses
import re
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import digits
from seqattn_tf.training.metrics import ERRORS
from seqattn_tf.training.recipes.base import Recipe, load_files
from seqattn_tf.training.tasks import ListenSettings, ListenTask, setting
from seqattn_tf.training.tasks.settings import TableSplit


@dataclasses.dataclass(frozen=True)
class SoundSettings(TableSplit, ListenSettings):
    """Settings, how many digits follow each other, and which columns a table of one's own has."""

    digits: str = setting("3-5", "of a string, the fewest and the most; 1 for recordings as they are")
    beyond: int = setting(0, "digits of more test strings, longer than those to learn from; 0 for none")
    left_out: str = setting("", "a speaker of whom nothing is learned, and who alone is tested")
    examples: int = setting(20_000, "strings that are made to learn from")
    sound: str = setting("sound", "column or key of a sound's file")
    text: str = setting("text", "column or key of what is said in it")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "examples")
        self._refuse_less(0, "beyond")
        self.count_digits()

    def count_digits(self) -> tuple[int, int]:
        """The fewest and the most of a string."""
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", self.digits)
        low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= low <= high:
            raise ValueError(f"digits: expected a number, or two like 3-5. Received: {self.digits!r}")
        return low, high


FULL = SoundSettings(
    units=96,
    embedding=32,
    dropout=0.2,
    label_smoothing=0.0,
    batch_size=128,
    epochs=12,
    learning_rate=3e-3,
    warmup_steps=200,
    average=0.99,
    hop=16,
    max_target=20,
)


def load(data: str | Path | None, settings: SoundSettings) -> Splits:
    """Spoken digits, tones, or sounds of one's own."""
    if data is not None and not digits.is_digits(data):
        return load_files(data, "sound", settings.sound, settings.text, settings)
    how = {name: getattr(settings, name) for name in ("examples", "beyond", "left_out", "seed")}
    return digits.load(data, settings.count_digits(), **how)


recipe = Recipe(
    name="listen",
    summary="sound -> digits, or what else is said (tones, Free Spoken Digit Dataset, own sounds)",
    load=load,
    task=ListenTask(metrics=[ERRORS]),
    settings=FULL,
    small=dataclasses.replace(FULL, units=48, examples=4_000, epochs=4, batch_size=64, average=0.0, warmup_steps=100),
)
