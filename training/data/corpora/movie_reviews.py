"""Movie reviews (Pang and Lee, 2004): 2 000 documents with one sentence per line, in ten folds by their numbers."""

import re
from pathlib import Path

from seqattn_tf.training.data.examples import Example, Splits
from seqattn_tf.training.data.finding import check_folder
from seqattn_tf.training.data.reading import read_rows

FOLDS = 10
LABELS = {"0": "negative", "1": "positive"}
_BREAK = "|||"  # separates sentences
_NUMBER = re.compile(r"cv(\d)\d\d")


def find(data: str | Path | None) -> Path | None:
    """Return the file with the reviews: the path itself or a file in that folder; None if there is none."""
    if data is None:
        return None
    path = Path(data)
    found = [path] if path.is_file() else sorted(path.glob("polarity*.tsv*"))
    return found[0] if found and found[0].name.startswith("polarity") else None


def load(data: str | Path | None, test_fold: int = 0) -> Splits:
    """Load the reviews: one fold to test on, the next one for development, the others for training.

    Args:
        data: `polarity2.0.tsv` (label, name, sentences separated by `|||`), or its folder.
        test_fold: From 0 to 9, the first digit of the numbers in the names: `cv3..` is fold 3.
    """
    path = find(data)
    if path is None:
        folder = check_folder(data, "polarity2.0.tsv")
        raise ValueError(f"{folder}: expected polarity2.0.tsv. Received: {sorted(p.name for p in folder.iterdir())}")
    if not 0 <= test_fold < FOLDS:
        raise ValueError(f"test_fold: expected a number from 0 to {FOLDS - 1}. Received: {test_fold}")
    parts: dict[str, list[Example]] = {"train": [], "dev": [], "test": []}
    for label, name, text in read_rows(path, ["0", "1", "2"]):
        number = _NUMBER.match(name)
        if label not in LABELS or number is None:
            raise ValueError(f"{path.name}: expected 0 or 1 and a name like cv012_345. Received: {label!r}, {name!r}")
        fold = int(number[1])
        part = "test" if fold == test_fold else "dev" if fold == (test_fold + 1) % FOLDS else "train"
        lines = "\n".join(line.strip() for line in text.split(_BREAK) if line.strip())
        parts[part].append(Example(f"{label} {name}", {"text": lines}, LABELS[label]))
    origin = f"{path.name}, fold {test_fold} to test, the next for development"
    return Splits(parts["train"], parts["dev"], parts["test"], origin)
