"""Public corpora by their names in TensorFlow Datasets (`--data tfds:wmt14_translate/de-en`).

A set is fetched and prepared once, into TensorFlow Datasets' own folder (or `TFDS_DATA_DIR`); later it is read there.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from seqattn_tf.training.data.examples import Splits
from seqattn_tf.training.data.files import PARTS, example_of, split


def load(name: str, columns: Mapping[str, str], target: str, data_dir: str | None = None) -> Splits:
    """The examples of a public set; a part that it lacks is held out of `train` by a hash of the source.

    Args:
        name: of the set, with its configuration where it has several: `para_crawl/ende`, `wmt14_translate/de-en`.
        columns: for each input, the feature that goes in: a language of a set of translations.
        target: the feature that comes out.
        data_dir: where sets are kept; None for the usual place.
    """
    parts = rows(name, [*columns.values(), target], data_dir)
    examples = {part: [example_of(columns, [*map(str.strip, row)]) for row in found] for part, found in parts.items()}
    return split(examples, {part: f"{name} {part}" for part in parts})


def rows(name: str, columns: Sequence[str], data_dir: str | None = None) -> dict[str, list[tuple[str, ...]]]:
    """Some features of every example as texts, by part (`train`, `dev`, `test`); classes by their names.

    Examples with an empty text among them are left out.
    """
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
    found = {}
    for part, words in PARTS.items():
        for word in [word for word in words if word in builder.info.splits][:1]:
            found[part] = list(_texts(builder.as_dataset(split=word), features, columns))
    if "train" not in found:
        raise ValueError(f"{name}: expected a split named train. Received: {sorted(builder.info.splits)}")
    return found


def _texts(examples: Any, features: Any, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    named = {column: features[column].int2str for column in columns if hasattr(features[column], "int2str")}
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
            yield tuple(row)
