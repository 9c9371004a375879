"""The contract of an encoder: the tensors of one input in, what a decoder looks at out."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import tensorflow as tf

from seqattn_tf.core.layer import RegisteredLayer

Tensors = dict[str, tf.Tensor]


class Read(NamedTuple):
    """What an encoder made of an input."""

    values: tf.Tensor  # [batch, places, output_size]: to look at
    mask: tf.Tensor  # [batch, places], True = keep
    summary: tf.Tensor  # [batch, summary_size]: all in one
    looks: Mapping[str, tf.Tensor] = MappingProxyType({})  # what it looked at itself, by `looks_at`, `looks_within`
    trees: tf.Tensor | None = None  # [batch, places], outside training: the heads of the best, 0 for the root, from 1


def weighed(symbols: tf.Tensor, kept: tf.Tensor | None) -> tf.Tensor:
    """Symbols `[..., size]`, each by how much of it is kept, `[...]`; all of it where that is not given."""
    return symbols if kept is None else symbols * tf.cast(kept, symbols.dtype)[..., None]


class Encoder(RegisteredLayer):
    """Reads one input of a model.

    A subclass gives `call`, `places_read`, the two sizes and `arguments`, and `at_places` where there is not one value
    for each place of the input. `call(tensors, training)` takes the tensors of all inputs by `INPUT_PART` and returns a
    `Read`.

    Args:
        reads: the name of the input.
    """

    registry: ClassVar[dict[str, type]] = {}
    takes: ClassVar[str] = "text"  # the field that it is made for
    looked_at: ClassVar[bool] = True  # whether looking at its values is looking at places of the input
    one_each: ClassVar[bool] = True  # whether its values, where they are of no level, are one for each place in order
    level: ClassVar[str] = ""  # of the places that its values are of, where the input has several levels

    def __init__(self, reads: str = "text", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.reads = reads

    @property
    def output_size(self) -> int:
        """Width of the values."""
        raise NotImplementedError

    @property
    def summary_size(self) -> int:
        """Width of the summary."""
        raise NotImplementedError

    @property
    def looks_at(self) -> Sequence[str]:
        """The levels of the input that it looks at itself, the names of `Read.looks` of `[batch, 1, places]`."""
        return ()

    @property
    def looks_within(self) -> Sequence[str]:
        """The names of `Read.looks` by which places of the input look at each other, `[batch, places, places]`."""
        return ()

    @property
    def finds_trees(self) -> bool:
        """Whether these looks are of trees, the best of which is in `Read.trees`."""
        return False

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments of the subclass."""
        raise NotImplementedError

    def part(self, tensors: Tensors, part: str) -> tf.Tensor:
        """One tensor of the input."""
        return tensors[f"{self.reads}_{part}"]

    def check_one_each(self) -> None:
        """Refuse to be used where a value for each place of the input is needed, and it gives others."""
        if self.level or not self.one_each:
            raise ValueError(f"encoder: expected one with a value for each word. Received: {self.name_in_registry}")

    def kept(self, tensors: Tensors) -> tf.Tensor | None:
        """How much of each symbol is read, `[batch, source]`, where it is given: 0 of one that is erased."""
        return tensors.get(f"{self.reads}_kept")

    def places_read(self, tensors: Tensors) -> tf.Tensor:
        """How many places of each row there are to read: `[batch]`; 0 for a row with nothing."""
        raise NotImplementedError

    def at_places(self, weights: tf.Tensor, tensors: Tensors) -> tf.Tensor:
        """Weights `[batch, rows, values]` as of the places of the input, or of its grid."""
        return weights

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "reads": self.reads, **self.arguments}
