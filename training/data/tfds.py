"""Public corpora by their names in TensorFlow Datasets (`--data tfds:wmt14_translate/de-en`).

A set is fetched and prepared once, into TensorFlow Datasets' own folder (or `TFDS_DATA_DIR`); later it is read there.
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

_TOLD = "captions.json"  # of a tar of pictures: what is said of each


def load(
    name: str, columns: Mapping[str, str], target: str, data_dir: str | None = None, stream: str = "never"
) -> Splits:
    """The examples of a public set; a part that it lacks is held out of `train` by a hash of the source.

    Args:
        name: of the set, with its configuration where it has several: `para_crawl/ende`, `wmt14_translate/de-en`.
        columns: for each input, the feature that goes in: a language of a set of translations.
        target: the feature that comes out.
        data_dir: where sets are kept; None for the usual place.
        stream: whether training examples stay on disk (see `split_sources`).
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
    """Some features of every example as texts, by part (`train`, `dev`, `test`); classes by their names.

    Examples with an empty text among them are left out.
    """
    builder = _prepared(name, columns, data_dir)
    features = builder.info.features
    return {
        part: list(_texts(name, builder.as_dataset(split=word), features, columns)) for part, word in _parts(builder)
    }


def _prepared(name: str, columns: Sequence[str], data_dir: str | None) -> Any:
    """The builder of a set that has these features, its data fetched."""
    import tensorflow_datasets as tfds

    try:
        builder = tfds.builder(name, data_dir=data_dir)
    except ValueError as error:  # the set, its configuration or its spelling; the reason goes on with pages of names
        reason = str(error).strip().partition("\n")[0][:200]
        raise ValueError(f"data: expected a set of TensorFlow Datasets. Received: {name!r}. {reason}") from None
    features = builder.info.features
    for column in columns:
        if column not in features:
            raise ValueError(f"{name}: expected a feature among {sorted(features)}. Received: {column!r}")
    builder.download_and_prepare()
    if "train" not in dict(_parts(builder)):
        raise ValueError(f"{name}: expected a split named train. Received: {sorted(builder.info.splits)}")
    return builder


def _parts(builder: Any) -> Iterator[tuple[str, str]]:
    """Which split of a set is which part."""
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
                raise ValueError(f"{column}: expected a feature of text or classes. Received: {value}")
        if all(text.strip() for text in row):
            good += 1
            yield tuple(row)
        else:
            lost += 1
    refuse_loss(name, lost, lost + good, "examples", [f"no text in one of {', '.join(columns)}"])


def load_pictures(name: str, image: str, caption: str, data_dir: str | None = None) -> Splits:
    """The pictures of a public set with all their captions, read from a tar when their batch comes.

    Args:
        name: of the set, as of `load`.
        image: the feature of the picture.
        caption: that of what is said of it; one of a sequence as `captions/text`.
        data_dir: where sets are kept; None for the usual place.
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
    """Write a tar of the pictures of a split as their files are, and what is said of each; with a bar."""
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
    """All captions of one example."""
    found: Any = example
    for name in caption.split("/"):
        if not isinstance(found, Mapping) or name not in found:
            raise ValueError(f"{caption}: expected a feature of the set. Received: none named {name!r}")
        found = found[name]
    texts = [found] if isinstance(found, bytes) else list(found)
    if not all(isinstance(text, bytes) for text in texts):
        raise ValueError(f"{caption}: expected a feature of texts. Received: {found!r:.80}")
    return [said for text in texts if (said := text.decode("utf-8", "replace").strip())]


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))
