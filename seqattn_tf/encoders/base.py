"""The interface of an encoder, which turns the tensors of one input into values for a decoder to attend to."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import tensorflow as tf

from seqattn_tf.core.layer import RegisteredLayer

Tensors = dict[str, tf.Tensor]


class EncoderOutput(NamedTuple):
    """The output of an encoder."""

    values: tf.Tensor  # [batch, positions, output_size], to attend to
    mask: tf.Tensor  # [batch, positions], True = keep
    summary: tf.Tensor  # [batch, summary_size], the whole input
    attention: Mapping[str, tf.Tensor] = MappingProxyType(
        {}
    )  # attention weights inside the encoder, by `attention_levels` and `self_attention_maps`
    trees: tf.Tensor | None = None  # [batch, positions], outside training: heads of the best tree, from 1, root 0


def weighed(symbols: tf.Tensor, kept: tf.Tensor | None) -> tf.Tensor:
    """Scale each symbol of `[..., size]` by its weight in `[...]`; without weights, return the symbols unchanged."""
    return symbols if kept is None else symbols * tf.cast(kept, symbols.dtype)[..., None]


class Encoder(RegisteredLayer):
    """A layer that reads one input of a model.

    Subclasses define `call`, `input_lengths`, the two sizes and `arguments`. They also define `to_positions` unless
    there is one value for each position of the input. `call(tensors, training)` takes the tensors of all inputs, with
    keys `INPUT_PART`, and returns an `EncoderOutput`.

    Args:
        input_name: The name of the input.
    """

    registry: ClassVar[dict[str, type]] = {}
    field_type: ClassVar[str] = "text"  # the field that it reads
    attendable: ClassVar[bool] = True  # whether its values correspond to positions of the input
    one_per_token: ClassVar[bool] = True  # whether values without a level correspond to the positions in order
    level: ClassVar[str] = ""  # the level of its values, if the input has several

    def __init__(self, input_name: str = "text", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.input_name = input_name

    @property
    def output_size(self) -> int:
        """The width of the values."""
        raise NotImplementedError

    @property
    def summary_size(self) -> int:
        """The width of the summary."""
        raise NotImplementedError

    @property
    def attention_levels(self) -> Sequence[str]:
        """The input levels that the encoder attends to: keys of `EncoderOutput.attention`, `[batch, 1, positions]`."""
        return ()

    @property
    def self_attention_maps(self) -> Sequence[str]:
        """The keys of `EncoderOutput.attention` with self-attention weights `[batch, positions, positions]`."""
        return ()

    @property
    def gives_trees(self) -> bool:
        """Whether the self-attention is over trees, the best of which is in `EncoderOutput.trees`."""
        return False

    @property
    def arguments(self) -> dict[str, Any]:
        """The constructor arguments of the subclass."""
        raise NotImplementedError

    def part(self, tensors: Tensors, part: str) -> tf.Tensor:
        """Return one tensor of the input."""
        return tensors[f"{self.input_name}_{part}"]

    def check_one_per_token(self) -> None:
        """Raise an error unless the encoder returns one value for each position of the input.

        Raises:
            ValueError: If the values are of another level, or not one per position.
        """
        if self.level or not self.one_per_token:
            raise ValueError(
                f"encoder: expected an encoder with one output per token. Received: {self.name_in_registry}"
            )

    def token_weights(self, tensors: Tensors) -> tf.Tensor | None:
        """Return the weight of each symbol, `[batch, source]`, or None if not given. Erased symbols have weight 0."""
        return tensors.get(f"{self.input_name}_token_weights")

    def input_lengths(self, tensors: Tensors) -> tf.Tensor:
        """Return the number of positions to read in each row, `[batch]`: 0 for an empty row."""
        raise NotImplementedError

    def to_positions(self, weights: tf.Tensor, tensors: Tensors) -> tf.Tensor:
        """Map weights `[batch, rows, values]` to the positions of the input or of its grid."""
        return weights

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "input_name": self.input_name, **self.arguments}
