"""Public corpora by their names in TensorFlow Datasets (`--data tfds:wmt14_translate/de-en`).

A dataset is downloaded and prepared once, in TensorFlow Datasets' own folder (or `TFDS_DATA_DIR`), and read from there
afterwards.
"""

import io
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from seqattn_tf.core.atomic_io import write_atomically
from seqattn_tf.training.data.examples import Example, Splits, example_of
from seqattn_tf.training.data.finding import PARTS
from seqattn_tf.training.data.reading import refuse_loss
from seqattn_tf.training.data.sources import Source, split, split_sources
from seqattn_tf.training.data.stored import in_tar

_TOLD = "captions.json"  # the file in the tar that holds the captions of all pictures


def load(
    name: str, columns: Mapping[str, str], target: str, data_dir: str | None = None, stream: str = "never"
) -> Splits:
    """Load the examples of a public dataset.

    If the dataset lacks `dev` or `test`, it is held out of `train` by a hash of the source.

    Args:
        name: The dataset, with its configuration if it has several: `para_crawl/ende`, `wmt14_translate/de-en`.
        columns: The feature of each input, for example a language of a translation dataset.
        target: The feature of the target.
        data_dir: The folder of the datasets; None for the default one.
        stream: Whether training examples stay on disk (see `split_sources`).
    """
    asked = [*columns.values(), target]
    builder = _prepared(name, asked, data_dir)

    def source(part: str, word: str) -> Source:
        def read() -> Iterator[Example]:
            for row in _texts(name, builder.as_dataset(split=word), builder.info.features, asked):
                yield example_of(columns, [*map(str.strip, row)])

        about = builder.info.splits[word]
        state = [str(builder.data_dir), word, about.num_examples, about.num_bytes, list(columns), asked]
        return Source(f"{name} {part}", read, about.num_bytes, state)

    return split_sources({part: source(part, word) for part, word in _parts(builder)}, stream)


def rows(name: str, columns: Sequence[str], data_dir: str | None = None) -> dict[str, list[tuple[str, ...]]]:
    """Return some features of every example as texts, by part (`train`, `dev`, `test`).

    Class labels are returned as their names. Examples in which one of these texts is empty are left out.
    """
    builder = _prepared(name, columns, data_dir)
    features = builder.info.features
    return {
        part: list(_texts(name, builder.as_dataset(split=word), features, columns)) for part, word in _parts(builder)
    }


def _prepared(name: str, columns: Sequence[str], data_dir: str | None) -> Any:
    """Return the builder of a dataset that has these features, after downloading its data."""
    import tensorflow_datasets as tfds

    try:
        builder = tfds.builder(name, data_dir=data_dir)
    except ValueError as error:  # the message continues with pages of names
        reason = str(error).strip().partition("\n")[0][:200]
        raise ValueError(
            f"data: expected the name of a data set in TensorFlow Datasets. Received: {name!r}. {reason}"
        ) from None
    features = builder.info.features
    for column in columns:
        if column not in features:
            raise ValueError(f"{name}: expected a feature among {sorted(features)}. Received: {column!r}")
    builder.download_and_prepare()
    if "train" not in dict(_parts(builder)):
        raise ValueError(f"{name}: expected a split named train. Received: {sorted(builder.info.splits)}")
    return builder


def _parts(builder: Any) -> Iterator[tuple[str, str]]:
    """Yield each part that the dataset has, with the name of its split."""
    for part, words in PARTS.items():
        for word in [word for word in words if word in builder.info.splits][:1]:
            yield part, word


def _texts(name: str, examples: Any, features: Any, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    named = {column: features[column].int2str for column in columns if hasattr(features[column], "int2str")}
    good = lost = 0
    for example in examples.as_numpy_iterator():
        row = []
        for column in columns:
            value = example[column]
            if isinstance(value, bytes):
                row.append(value.decode("utf-8", "replace"))
            elif column in named:
                row.append(named[column](value) if value >= 0 else "-")
            else:
                raise ValueError(f"{column}: expected a text or class feature. Received: {value}")
        if all(text.strip() for text in row):
            good += 1
            yield tuple(row)
        else:
            lost += 1
    refuse_loss(name, lost, lost + good, "examples", [f"no text in one of {', '.join(columns)}"])


def load_pictures(name: str, image: str, caption: str, data_dir: str | None = None) -> Splits:
    """Load the pictures of a public dataset with all their captions.

    The pictures are stored in a tar file and read when their batch is made.

    Args:
        name: The dataset, as in `load`.
        image: The feature of the picture.
        caption: The feature of the captions; `captions/text` for a feature inside a sequence.
        data_dir: The folder of the datasets; None for the default one.
    """
    builder = _prepared(name, [image, caption.partition("/")[0]], data_dir)
    examples: dict[str, list[Example]] = {}
    for part, word in _parts(builder):
        path = Path(builder.data_dir) / f"pictures-{word}.tar"
        if not path.is_file():
            _store(builder, word, image, caption, path)
        stored = in_tar(path)
        told = json.loads(stored.pop(_TOLD).read())
        examples[part] = [Example(key, {"image": stored[key]}, text) for key, texts in told.items() for text in texts]
    return split(examples, {part: f"{name} {part}" for part in examples})


def _store(builder: Any, word: str, image: str, caption: str, path: Path) -> None:
    """Write a tar file with the encoded pictures of a split and their captions, with a progress bar."""
    import tensorflow_datasets as tfds

    told: dict[str, list[str]] = {}
    examples = builder.as_dataset(split=word, decoders={image: tfds.decode.SkipDecoding()}).as_numpy_iterator()
    with write_atomically(path) as aside, tarfile.open(aside, "w") as tar:
        for number, example in enumerate(tqdm(examples, unit="picture", desc=path.name)):
            if texts := _said(example, caption):
                told[key := f"{word}-{number}"] = texts
                _add(tar, key, example[image])
        _add(tar, _TOLD, json.dumps(told).encode())


def _said(example: Mapping[str, Any], caption: str) -> list[str]:
    """Return all captions of one example."""
    found: Any = example
    for name in caption.split("/"):
        if not isinstance(found, Mapping) or name not in found:
            raise ValueError(f"{caption}: expected a feature of the data set. Received: no feature {name!r}")
        found = found[name]
    texts = [found] if isinstance(found, bytes) else list(found)
    if not all(isinstance(text, bytes) for text in texts):
        raise ValueError(f"{caption}: expected a text feature. Received: {found!r:.80}")
    return [said for text in texts if (said := text.decode("utf-8", "replace").strip())]


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))
