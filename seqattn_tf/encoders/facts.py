"""Facts, one per line: the sum of the word embeddings of a line, weighted by the positions of the words."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.masking import masked_mean, row_lengths, zero_masked
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoders.base import Encoder, EncoderOutput, Tensors, weighed
from seqattn_tf.encoders.turns import at_lines, fold, fold_alike


def _position_weights(mask: tf.Tensor, units: int, dtype: Any) -> tf.Tensor:
    """Return position weights for each word and unit, `[..., words] -> [..., words, units]` (Sukhbaatar et al., 2015).

        l_jk = (1 - j / J) - (k / d) (1 - 2 j / J)        word j of J, unit k of d, both from 1

    >>> _position_weights(tf.constant([[True, True]]), 2, tf.float32).numpy().tolist()
    [[[0.5, 0.5], [0.5, 1.0]]]
    """
    kept = tf.cast(mask, dtype)
    count = tf.maximum(tf.reduce_sum(kept, axis=-1, keepdims=True), 1)
    place = (tf.cumsum(kept, axis=-1) / count)[..., None]
    unit = tf.cast(tf.range(1, units + 1), dtype) / units  # tf.range does not support float16
    return zero_masked((1 - place) - unit * (1 - 2 * place), mask)


@keras.saving.register_keras_serializable("seqattn_tf")
class FactsEncoder(Encoder):
    """An encoder of facts: reads ids `[batch, source]` in which a mark separates facts, and returns a value for each.

        value_i = sum_j l_j * E x_ij        with position weights l (Sukhbaatar et al., 2015)

    Args:
        vocabulary: The number of ids.
        mark: The id between two lines.
        embedding: The size of a word embedding, and of a value.
        max_lines: The maximum number of facts to read, counted from the end.
        max_line_length: The maximum number of words to read per fact. None for all.
        dropout: The dropout rate of the embeddings, in training.
        input_name: The name of the input.

    >>> encoder = FactsEncoder(30, mark=9, embedding=4, max_lines=2)
    >>> read = encoder({"story_ids": tf.constant([[5, 9, 6, 7]])})
    >>> read.values.shape.as_list(), read.mask.numpy().tolist()
    ([1, 2, 4], [[True, True]])
    """

    name_in_registry = "facts"
    field_type = "lines"
    level = "lines"

    def __init__(
        self,
        vocabulary: int,
        mark: int,
        embedding: int = 32,
        max_lines: int = 50,
        max_line_length: int | None = None,
        dropout: float = 0.0,
        input_name: str = "story",
        **kwargs: Any,
    ) -> None:
        super().__init__(input_name, **kwargs)
        self.vocabulary, self.mark = check_count("vocabulary", vocabulary), check_count("mark", mark)
        self.max_lines = check_count("max_lines", max_lines)
        self.max_line_length = None if max_line_length is None else check_count("max_line_length", max_line_length)
        alike = {"dtype": self.dtype_policy}
        spread = keras.initializers.RandomNormal(stddev=0.1)
        self.embedding = keras.layers.Embedding(vocabulary, embedding, embeddings_initializer=spread, **alike)
        self.drop = keras.layers.Dropout(dropout, **alike)

    def build(self, input_shape: Any = None) -> None:
        self.embedding.build((None, None))
        self.built = True

    @property
    def output_size(self) -> int:
        return self.embedding.output_dim

    @property
    def summary_size(self) -> int:
        return self.output_size

    def sentence(self, ids: tf.Tensor, training: bool = False, kept: tf.Tensor | None = None) -> tf.Tensor:
        """Return the value of each line of words, weighted by `kept`: `[..., words] -> [..., embedding]`."""
        words = weighed(self.drop(self.embedding(ids), training=training), kept)
        return tf.reduce_sum(words * _position_weights(ids != 0, self.output_size, words.dtype), axis=-2)

    def call(self, tensors: Tensors, training: bool = False) -> EncoderOutput:
        """Return one value per fact."""
        folded = fold(self.part(tensors, "ids"), self.mark, self.max_lines, self.max_line_length)
        values = self.sentence(folded.ids, training, fold_alike(self.token_weights(tensors), folded))
        mask = tf.reduce_any(folded.ids != 0, axis=-1)
        return EncoderOutput(values, mask, masked_mean(values, mask))

    def input_lengths(self, tensors: Tensors) -> tf.Tensor:
        """Return the number of words, not counting marks."""
        ids = self.part(tensors, "ids")
        return row_lengths((ids != 0) & (ids != self.mark))

    def to_positions(self, weights: tf.Tensor, tensors: Tensors) -> tf.Tensor:
        """Map the weights of the facts that were read (the last ones) to all lines of the text."""
        return at_lines(weights, self.part(tensors, "ids"), self.mark)

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "vocabulary": self.vocabulary,
            "mark": self.mark,
            "embedding": self.embedding.output_dim,
            "max_lines": self.max_lines,
            "max_line_length": self.max_line_length,
            "dropout": self.drop.rate,
        }
