"""The Free Spoken Digit Dataset: 3 000 recordings of six speakers."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source
from seqattn_tf.training.data.catalog.originals import Originals

_NAME = re.compile(r"\d_[a-z]+_\d+\.wav")


def _convert(originals: Originals) -> Iterator[tuple[str, bytes]]:
    """Copy the recordings; the recipe splits them by their numbers."""
    for path, data in originals.contents("recordings/*.wav"):
        if _NAME.fullmatch(name := PurePosixPath(path).name):
            yield name, data


dataset = Dataset(
    name="fsdd",
    title="spoken digits, six speakers",
    recipes=("transcribe",),
    license="CC BY-SA 4.0",
    source=Source(
        "Free Spoken Digit Dataset (Z. Jackson and others)",
        "equals tag v1.0.10 (commit d6938f9b, 2020-08-12)",
        "CC BY-SA 4.0, README.md of the repository",
        "https://github.com/Jakobovski/free-spoken-digit-dataset",
    ),
    split="recordings 0 to 4 of each speaker and digit for testing, as the authors propose; the recipe holds 5 to 7 "
    "out for development",
    files={
        "recordings 5 to 49": Expected(
            19_047_588,
            "fa7464403de147881df94359e870a1a7d5420cc57cda5cad6fb4ffcf6f288669",
            pattern=r"(.*/)?\d_[a-z]+_([5-9]|\d\d)\.wav",
            count=2700,
        ),
        "recordings 0 to 4": Expected(
            2_081_260,
            "2f5b502b90695d899cdf062513deed802ccf27fb8646386957d875fdc4808b85",
            pattern=r"(.*/)?\d_[a-z]+_[0-4]\.wav",
            count=300,
        ),
    },
    convert=_convert,
    originals=("recordings/*.wav",),
    status="run on the original: all 3 000 recordings equal",
    archives=r".*\.tar\.xz",
)
