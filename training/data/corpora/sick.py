"""SICK: pairs of sentences about pictures, labelled with whether one entails the other (Marelli et al., 2014)."""

from pathlib import Path

from seqattn_tf.training.data.corpora.snli import LABELS, labelled
from seqattn_tf.training.data.examples import Splits
from seqattn_tf.training.data.finding import check_folder
from seqattn_tf.training.data.reading import read_rows
from seqattn_tf.training.data.sources import split

FILES = {"train": "SICK_train.txt", "dev": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}
_COLUMNS = ("sentence_A", "sentence_B", "entailment_judgment")
_WANTED = f"SICK: {', '.join(FILES.values())}, plain, .gz or .xz,"


def _find(folder: Path, name: str) -> Path | None:
    return next((path for end in ("", ".gz", ".xz") if (path := folder / f"{name}{end}").is_file()), None)


def is_sick(data: str | Path | None) -> bool:
    """Return whether a folder contains SICK."""
    return data is not None and Path(data).is_dir() and _find(Path(data), FILES["train"]) is not None


def load(data: str | Path | None) -> Splits:
    """Load the pairs with their official splits: 4 500 for training, 500 for development, 4 927 for testing."""
    folder = check_folder(data, _WANTED)
    paths = {part: _find(folder, name) for part, name in FILES.items()}
    if missing := [FILES[part] for part, path in paths.items() if path is None]:
        raise ValueError(f"{folder}: expected {_WANTED}. Received: no {missing[0]}")
    examples = {part: _pairs(path) for part, path in paths.items() if path}
    return split(examples, {part: path.name for part, path in paths.items() if path})


def _pairs(path: Path) -> list:
    rows = [(*texts, label.lower()) for *texts, label in read_rows(path, _COLUMNS)]
    if strange := sorted({label for *_, label in rows} - set(LABELS)):
        raise ValueError(f"{path}: expected {', '.join(LABELS)}. Received: {strange[0]!r}")
    return [labelled(*row) for row in rows]
