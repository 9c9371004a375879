"""SNLI: premise -> a hypothesis that follows from it, or stands in another given relation to it."""

from pathlib import Path

from seqattn_tf.training.data.examples import Splits, from_text
from seqattn_tf.training.data.files import check_folder, find_one, public_name, split
from seqattn_tf.training.data.reading import read_rows, split_name

LABELS = ("entailment", "neutral", "contradiction")
WANTED = "SNLI as snli_1.0_train.jsonl and so on, or train.tsv with label, premise, hypothesis (or --data tfds:snli),"
COLUMNS = {".tsv": ("0", "1", "2"), ".jsonl": ("gold_label", "sentence1", "sentence2")}


def load(data: str | Path | None, label: str = "entailment") -> Splits:
    """The pairs of one label.

    Args:
        data: a folder with SNLI, or `tfds:snli`.
        label: `entailment`, `neutral` or `contradiction`.
    """
    if label not in LABELS:
        raise ValueError(f"label: expected one of {LABELS}. Received: {label!r}")
    if name := public_name(data):
        from seqattn_tf.training.data import tfds

        rows = tfds.rows(name, ["label", "premise", "hypothesis"])
        names = {part: f"{name} {part}" for part in rows}
    else:
        folder = check_folder(data, WANTED)
        paths = {part: find_one(folder, part, tuple(COLUMNS)) for part in ("train", "dev", "test")}
        if not paths["train"]:
            raise ValueError(f"{folder}: expected {WANTED}. Received: {sorted(p.name for p in folder.iterdir())}")
        rows = {part: read_rows(path, COLUMNS[split_name(path)[1]]) for part, path in paths.items() if path}
        names = {part: path.name for part, path in paths.items() if path}
    pairs = {part: [from_text(*texts) for found, *texts in table if found == label] for part, table in rows.items()}
    found = split(pairs, names)
    return Splits(found.train, found.dev, found.test, f"{found.origin}, {label}")
