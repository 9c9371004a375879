"""Feature maps of pictures from a frozen backbone: computed once, stored on disk, and read in every epoch."""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from seqattn_tf.core.atomic_io import user_cache, write_atomically
from seqattn_tf.encoders import GridEncoder
from seqattn_tf.inputs import graph_field
from seqattn_tf.lite.fields import Image
from seqattn_tf.lite.fields.feature_map import NUMBER
from seqattn_tf.training.data import Example, Splits

_TOGETHER = 32  # pictures per batch of the backbone


class Mapped(NamedTuple):
    """A feature map that replaces the picture of an example."""

    maps: np.ndarray
    number: int
    picture: Any  # the picture that it replaces

    def read(self) -> bytes:
        """Return the bytes of the map."""
        return self.maps[self.number].tobytes()


def given(value: Any) -> Any:
    """Return the original input of an example: the picture if a map has replaced it."""
    return value.picture if isinstance(value, Mapped) else value


def map_splits(
    splits: Splits, name: str, image: Image, encoder: GridEncoder, folder: str | Path = "", quiet: bool = False
) -> Splits:
    """Return the same examples with feature maps in place of the pictures in the input `name`.

    Raises:
        ValueError: If a picture cannot be read; the message names its example.
    """
    parts = (splits.train, splits.dev, splits.test)
    pictures = list(dict.fromkeys(example.inputs[name] for part in parts for example in part))
    keys = {example.inputs[name]: example.key for part in parts for example in part}
    maps = _kept(pictures, [keys[picture] for picture in pictures], image, encoder, folder, quiet)
    numbers = {picture: number for number, picture in enumerate(pictures)}

    def mapped(part: Sequence[Example]) -> list[Example]:
        return [
            example._replace(inputs={**example.inputs, name: Mapped(maps, numbers[picture], picture)})
            for example in part
            for picture in [example.inputs[name]]
        ]

    train, dev, test = map(mapped, parts)
    return dataclasses.replace(splits, train=train, dev=dev, test=test)


def _kept(
    pictures: Sequence[Any], keys: Sequence[str], image: Image, encoder: GridEncoder, folder: str | Path, quiet: bool
) -> np.ndarray:
    """Return the maps of pictures, from disk if the same pictures were mapped by the same backbone before."""
    shape = (len(pictures), encoder.rows, encoder.columns, encoder.backbone.channels)
    backbone = encoder.backbone.name_in_registry, encoder.backbone.arguments
    digest = hashlib.sha256(json.dumps([shape, image.get_config(), backbone]).encode())
    for weight in encoder.backbone.weights:
        digest.update(np.ascontiguousarray(weight.numpy()).tobytes())
    for picture in pictures:
        data = image.raw(picture)
        digest.update(len(data).to_bytes(8, "little") + data)
    path = Path(folder or user_cache() / "maps") / f"{digest.hexdigest()[:24]}.maps"
    if (found := _open(path, shape)) is not None:
        return found
    with write_atomically(path) as aside, aside.open("wb") as file:
        checked = hashlib.sha256()
        for rows in _computed(pictures, keys, image, encoder, quiet):
            data = rows.astype(NUMBER).tobytes()
            checked.update(data)
            file.write(data)
        file.write(checked.digest())
    found = _open(path, shape)
    if found is None:
        raise OSError(f"{path}: the file cannot be read back")
    return found


def _open(path: Path, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the maps in a file, or None if it is missing or damaged."""
    size = int(np.prod(shape, dtype=np.int64)) * NUMBER.itemsize
    if not path.is_file() or path.stat().st_size != size + hashlib.sha256().digest_size:
        return None
    checked = hashlib.sha256()
    with path.open("rb") as file:
        left = size
        while left:
            data = file.read(min(left, 1 << 24))
            checked.update(data)
            left -= len(data)
        if file.read() != checked.digest():
            return None
    return np.memmap(path, NUMBER, "r", shape=shape)


def _computed(pictures: Sequence[Any], keys: Sequence[str], image: Image, encoder: GridEncoder, quiet: bool) -> Any:
    reads = graph_field(image, "image")
    look = tf.function(lambda raw: encoder.look(reads.encode_unbounded(raw)["pixels"]), reduce_retracing=True)
    with tqdm(total=len(pictures), unit="image", desc="feature maps", disable=quiet) as bar:
        for start in range(0, len(pictures), _TOGETHER):
            raw = [image.raw(picture) for picture in pictures[start : start + _TOGETHER]]
            try:
                yield look(tf.constant(raw)).numpy()
            except tf.errors.InvalidArgumentError:
                for key, data in zip(keys[start:], raw, strict=False):
                    try:
                        image.arrays(data)
                    except ValueError as error:
                        raise ValueError(f"{key:.80}: {error}") from None
                raise
            bar.update(len(raw))
