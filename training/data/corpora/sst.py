"""The Stanford Sentiment Treebank: sentences as bracketed trees with a sentiment at every node."""

from pathlib import Path

from seqattn_tf.lite.fields.tree import Nodes, parse
from seqattn_tf.training.data.examples import Example, Splits
from seqattn_tf.training.data.finding import check_folder, find_files
from seqattn_tf.training.data.reading import Faults, read_lines

_WANTED = "the Stanford Sentiment Treebank: train.txt, dev.txt and test.txt, one tree per line,"
_FINE = {"0": "very negative", "1": "negative", "2": "neutral", "3": "positive", "4": "very positive"}
BINARY = {"0": "negative", "1": "negative", "2": "", "3": "positive", "4": "positive"}


def is_treebank(data: str | Path | None) -> bool:
    """Return whether a folder contains the trees: files with lines that begin with a bracket."""
    if data is None or not Path(data).is_dir():
        return False
    path = find_files(Path(data), ("txt",)).get("train")
    return path is not None and (read_lines(path, Faults(path.name))[0] or "").startswith("(")


def load(folder: str | Path | None, binary: bool = False, trees: bool = True, phrases: bool = True) -> Splits:
    """Load the sentences, with their labels ordered from the most negative to the most positive.

    Args:
        folder: The folder with the three files.
        binary: Whether to use two sentiments instead of five. Neutral sentences are then left out and neutral phrases
            ignored.
        trees: Whether a text is a tree rather than plain words.
        phrases: Whether to train on every phrase: on each node of a tree, or on one example per phrase of plain words.
    """
    names, found = BINARY if binary else _FINE, find_files(check_folder(folder, _WANTED), ("txt",))
    if missing := [part for part in ("train", "dev", "test") if part not in found]:
        raise ValueError(f"{folder}: expected {_WANTED}. Received: no {missing[0]} file")
    parts: dict[str, list[Example]] = {}
    for part, path in found.items():
        parts[part] = []
        faults, good = Faults(path.name), 0
        for number, line in enumerate(read_lines(path, faults), 1):
            if line is None:
                continue
            try:
                nodes = parse(line)
                labels = [names[label] for label in nodes.labels]
            except (ValueError, KeyError):
                faults.add(number, "a tree with sentiments from 0 to 4", line, lost=bool(line.strip()))
                continue
            good += 1
            learned = phrases and part == "train"
            if trees and labels and labels[0]:
                target = tuple(labels) if learned else labels[0]
                parts[part].append(Example(" ".join(nodes.words), {"text": line}, target))
            elif not trees:
                parts[part] += _texts(nodes, labels, learned)
        if not parts[part]:
            raise ValueError(f"{path}: expected at least one tree. Received: {faults.count or 'no'} malformed ones")
        faults.close(good, "trees")
    origin = f"SST, {'two' if binary else 'five'} sentiments{', all phrases' if phrases else ''}"
    scale = tuple(dict.fromkeys(filter(None, names.values())))
    return Splits(parts["train"], parts["dev"], parts["test"], origin, labels=scale)


def _texts(nodes: Nodes, labels: list[str], phrases: bool) -> list[Example]:
    """Return the sentence as plain words and, if `phrases`, each of its phrases once."""
    chosen = {span: label for span, label in zip(nodes.spans, labels, strict=True) if label}
    spans = chosen if phrases else [span for span in nodes.spans[:1] if span in chosen]
    texts = {" ".join(nodes.words[low:high]): chosen[low, high] for low, high in spans}
    return [Example(text, {"text": text}, label) for text, label in texts.items()]
