"""The captions of Flickr8k, to predict one of the five captions of an image from the other four.

In training, each of the five is the target once; in `dev` and `test` the first four are the source and the last one is
the target.
"""

import warnings
from collections.abc import Collection, Mapping
from pathlib import Path

from seqattn_tf.training.data.examples import DataWarning, Example, Splits, from_text
from seqattn_tf.training.data.finding import check_folder
from seqattn_tf.training.data.reading import Faults, read_rows, read_text, refuse_loss
from seqattn_tf.training.data.stored import Stored, in_folder, in_tar

CAPTIONS = 5
_SUFFIXES = (".jpg", ".jpeg", ".png")
_WANTED = "Flickr8k's captions (Flickr8k.token.txt) and splits (Flickr_8k.trainImages.txt, ... or names_split.tsv)"
_PARTS = ("train", "dev", "test")


def _one(folder: Path, pattern: str) -> Path | None:
    return next(iter(sorted(folder.glob(pattern))), None)


def captions(folder: Path) -> dict[str, list[str]]:
    """Return the captions of each image, by file name."""
    path = _one(folder, "*token.txt*")
    if path is None:
        raise ValueError(f"{folder}: expected {_WANTED}. Received: {sorted(p.name for p in folder.iterdir())}")
    found: dict[str, list[str]] = {}
    for name, caption in read_rows(path, ["0", "1"]):
        found.setdefault(name.rpartition("#")[0], []).append(caption)
    faults = Faults(path.name)
    for name in [name for name, texts in found.items() if len(texts) != CAPTIONS]:
        faults.add(name, f"{CAPTIONS} captions", len(found.pop(name)))
    faults.close(len(found), "images")
    return found


def images(folder: Path) -> dict[str, list[str]]:
    """Return the file names of the images of each part."""
    if table := _one(folder, "names_split.tsv*"):
        rows = read_rows(table, ["0", "1"])
        return {part: [name for name, where in rows if where == part] for part in _PARTS}
    lists = {part: path for part in _PARTS if (path := _one(folder, f"*{part}Images.txt*"))}
    if len(lists) < len(_PARTS):
        raise ValueError(f"{folder}: expected {_WANTED}. Received: {sorted(p.name for p in folder.iterdir())}")
    return {part: read_text(path).split() for part, path in lists.items()}


def _there(folder: Path, names: Mapping[str, list[str]], there: Collection[str], what: str) -> dict[str, list[str]]:
    """Return those names of each part that are available, and check that every part has some."""
    parts = {part: [name for name in listed if name in there] for part, listed in names.items()}
    if not all(parts.values()):
        counts = {part: len(listed) for part, listed in parts.items()}
        raise ValueError(f"{folder}: expected {what} with captions in each split. Received: {counts}")
    missing = [name for part, listed in names.items() for name in listed if name not in there]
    if missing:
        warnings.warn(f"{folder}: {len(missing)} of the listed {what} are missing; skipped", DataWarning, stacklevel=3)
    refuse_loss(str(folder), len(missing), sum(map(len, names.values())), what, [f"missing: {', '.join(missing[:3])}"])
    return parts


def is_flickr8k(data: str | Path) -> bool:
    """Return whether a folder contains the captions and splits of Flickr8k."""
    folder = Path(data)
    lists = ("names_split.tsv*", "*trainImages.txt*")
    return folder.is_dir() and bool(_one(folder, "*token.txt*")) and any(_one(folder, each) for each in lists)


def load(folder: str | Path | None) -> Splits:
    """Load pairs of captions; all captions of an image are in the same split."""
    folder = check_folder(folder, _WANTED)
    texts, names = captions(folder), images(folder)

    def without(name: str, last: int) -> Example:
        source = [text for i, text in enumerate(texts[name]) if i != last]
        return from_text("\n".join(source), texts[name][last])

    parts = _there(folder, names, texts.keys(), "images")
    dev, test = ([without(name, CAPTIONS - 1) for name in parts[part]] for part in ("dev", "test"))
    return Splits(
        [without(name, last) for name in parts["train"] for last in range(CAPTIONS)],
        dev,
        test,
        "Flickr8k captions (train: each of five from the others; dev, test: the last from the first four)",
    )


def pictures(folder: Path) -> dict[str, Stored]:
    """Return the pictures by file name, from tar files, the folder itself and its subfolders."""
    found: dict[str, Stored] = {}
    for tar in sorted(folder.glob("*.tar")):
        found |= in_tar(tar)
    for place in (folder, *sorted(path for path in folder.iterdir() if path.is_dir())):
        found |= in_folder(place, _SUFFIXES)
    return found


def load_pictures(folder: str | Path | None) -> Splits:
    """Load pictures with their five captions, all of which count as correct in `dev` and `test`."""
    folder = check_folder(folder, _WANTED)
    texts, names, stored = captions(folder), images(folder), pictures(folder)
    parts = _there(folder, names, texts.keys() & stored.keys(), "pictures")
    train, dev, test = (
        [Example(name, {"image": stored[name]}, text) for name in parts[part] for text in texts[name]]
        for part in _PARTS
    )
    return Splits(train, dev, test, "Flickr8k")
