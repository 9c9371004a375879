"""SNLI: pairs of a premise and a hypothesis, with labels or as generation tasks for a single label."""

from pathlib import Path

from seqattn_tf.core.compressed import open_file
from seqattn_tf.training.data.examples import Example, Splits, from_text
from seqattn_tf.training.data.finding import check_folder, find_one, public_name
from seqattn_tf.training.data.reading import read_rows, split_name
from seqattn_tf.training.data.sources import split

LABELS = ("entailment", "neutral", "contradiction")
_UNSURE = "-"  # the label of a pair on which the annotators did not agree
_WANTED = "SNLI as snli_1.0_train.jsonl and so on, or train.tsv with label, premise, hypothesis (or --data tfds:snli),"
_COLUMNS = {".tsv": ("0", "1", "2"), ".jsonl": ("gold_label", "sentence1", "sentence2")}


def _rows(data: str | Path | None) -> tuple[dict[str, list[tuple[str, ...]]], dict[str, str]]:
    """Return the label, premise and hypothesis of each row, by part, and the origin of each part."""
    if name := public_name(data):
        from seqattn_tf.training.data import tfds

        rows = tfds.rows(name, ["label", "premise", "hypothesis"])
        return rows, {part: f"{name} {part}" for part in rows}
    folder = check_folder(data, _WANTED)
    paths = {part: find_one(folder, part, tuple(_COLUMNS)) for part in ("train", "dev", "test")}
    if not paths["train"]:
        raise ValueError(f"{folder}: expected {_WANTED}. Received: {sorted(p.name for p in folder.iterdir())}")
    rows = {part: read_rows(path, _COLUMNS[split_name(path)[1]]) for part, path in paths.items() if path}
    return rows, {part: path.name for part, path in paths.items() if path}


def load(data: str | Path | None, label: str = "entailment") -> Splits:
    """Load the pairs of one label, with the premise as the input and the hypothesis as the target.

    Args:
        data: A folder with SNLI, or `tfds:snli`.
        label: `entailment`, `neutral` or `contradiction`.
    """
    if label not in LABELS:
        raise ValueError(f"label: expected one of {LABELS}. Received: {label!r}")
    rows, names = _rows(data)
    pairs = {part: [from_text(*texts) for found, *texts in table if found == label] for part, table in rows.items()}
    found = split(pairs, names)
    return Splits(found.train, found.dev, found.test, f"{found.origin}, {label}")


def is_snli(data: str | Path | None) -> bool:
    """Return whether the data are SNLI rather than a table: its public name, or a folder with files in its format."""
    if data is None or public_name(data):
        return public_name(data) == "snli"
    path = find_one(Path(data), "train", tuple(_COLUMNS)) if Path(data).is_dir() else None
    if path is None or split_name(path)[1] == ".jsonl":
        return path is not None and path.name.startswith("snli")
    with open_file(path) as file:
        first = file.readline().decode("utf-8-sig", "replace")
    return first.partition("\t")[0] in (*LABELS, _UNSURE)


def load_labelled(data: str | Path | None) -> Splits:
    """Load all pairs with their labels, without those on which the annotators disagreed."""
    rows, names = _rows(data)
    if strange := {row[0] for table in rows.values() for row in table} - {*LABELS, _UNSURE}:
        raise ValueError(f"{data}: expected {', '.join(LABELS)}, or {_UNSURE}. Received: {min(strange)!r}")
    pairs = {part: [labelled(*row[1:], row[0]) for row in table if row[0] in LABELS] for part, table in rows.items()}
    return split(pairs, names)


def labelled(*texts: str) -> Example:
    """Return the example of a premise, a hypothesis and a label; the two texts together are its key."""
    premise, hypothesis, label = texts
    return Example(f"{premise}\t{hypothesis}", {"premise": premise, "hypothesis": hypothesis}, label)
