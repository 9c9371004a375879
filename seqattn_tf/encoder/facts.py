"""Facts, a line each: the sum of the embeddings of a line's words, weighted by where in the line each stands."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.masking import masked_mean, row_lengths, zero_masked
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoder.base import Encoder, Read, Tensors, weighed
from seqattn_tf.encoder.turns import at_lines, fold, fold_alike


def _position_weights(mask: tf.Tensor, units: int, dtype: Any) -> tf.Tensor:
    """How much each unit hears of each word of a line, `[..., words] -> [..., words, units]` (Sukhbaatar et al., 2015).

        l_jk = (1 - j / J) - (k / d) (1 - 2 j / J)        word j of J, unit k of d, both from 1

    >>> _position_weights(tf.constant([[True, True]]), 2, tf.float32).numpy().tolist()
    [[[0.5, 0.5], [0.5, 1.0]]]
    """
    kept = tf.cast(mask, dtype)
    count = tf.maximum(tf.reduce_sum(kept, axis=-1, keepdims=True), 1)
    place = (tf.cumsum(kept, axis=-1) / count)[..., None]
    unit = tf.cast(tf.range(1, units + 1), dtype) / units  # a range of float16 there is none
    return zero_masked((1 - place) - unit * (1 - 2 * place), mask)


@keras.saving.register_keras_serializable("seqattn_tf")
class FactsEncoder(Encoder):
    """Reads ids `[batch, source]` with a mark between two lines, a fact each; gives a value for each fact.

        value_i = sum_j l_j * E x_ij        l by `_position_weights`

    Args:
        vocabulary: number of ids.
        mark: the id between two lines.
        embedding: size of a word's embedding, and of a value.
        lines: how many facts to read, the last ones.
        line_length: of each fact how many words; None for all.
        dropout: rate on the embeddings, in training.
        reads: the name of the input.

    >>> encoder = FactsEncoder(30, mark=9, embedding=4, lines=2)
    >>> read = encoder({"story_ids": tf.constant([[5, 9, 6, 7]])})
    >>> read.values.shape.as_list(), read.mask.numpy().tolist()
    ([1, 2, 4], [[True, True]])
    """

    name_in_registry = "facts"
    takes = "lines"
    level = "lines"

    def __init__(
        self,
        vocabulary: int,
        mark: int,
        embedding: int = 32,
        lines: int = 50,
        line_length: int | None = None,
        dropout: float = 0.0,
        reads: str = "story",
        **kwargs: Any,
    ) -> None:
        super().__init__(reads, **kwargs)
        self.vocabulary, self.mark = check_count("vocabulary", vocabulary), check_count("mark", mark)
        self.lines = check_count("lines", lines)
        self.line_length = None if line_length is None else check_count("line_length", line_length)
        alike = {"dtype": self.dtype_policy}
        spread = keras.initializers.RandomNormal(stddev=0.1)
        self.embedding = keras.layers.Embedding(vocabulary, embedding, embeddings_initializer=spread, **alike)
        self.drop = keras.layers.Dropout(dropout, **alike)

    def build(self, input_shape: Any = None) -> None:
        """Build the embedding."""
        self.embedding.build((None, None))
        self.built = True

    @property
    def output_size(self) -> int:
        """Of a fact."""
        return self.embedding.output_dim

    @property
    def summary_size(self) -> int:
        """Of their mean."""
        return self.output_size

    def sentence(self, ids: tf.Tensor, training: bool = False, kept: tf.Tensor | None = None) -> tf.Tensor:
        """The value of each line of words, of which so much is kept: `[..., words] -> [..., embedding]`."""
        words = weighed(self.drop(self.embedding(ids), training=training), kept)
        return tf.reduce_sum(words * _position_weights(ids != 0, self.output_size, words.dtype), axis=-2)

    def call(self, tensors: Tensors, training: bool = False) -> Read:
        """A value for each fact."""
        folded = fold(self.part(tensors, "ids"), self.mark, self.lines, self.line_length)
        values = self.sentence(folded.ids, training, fold_alike(self.kept(tensors), folded))
        mask = tf.reduce_any(folded.ids != 0, axis=-1)
        return Read(values, mask, masked_mean(values, mask))

    def places_read(self, tensors: Tensors) -> tf.Tensor:
        """Words, of which marks are none."""
        ids = self.part(tensors, "ids")
        return row_lengths((ids != 0) & (ids != self.mark))

    def at_places(self, weights: tf.Tensor, tensors: Tensors) -> tf.Tensor:
        """Weights of the facts read, the last ones, as of all lines of the text."""
        return at_lines(weights, self.part(tensors, "ids"), self.mark)

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            "vocabulary": self.vocabulary,
            "mark": self.mark,
            "embedding": self.embedding.output_dim,
            "lines": self.lines,
            "line_length": self.line_length,
            "dropout": self.drop.rate,
        }
