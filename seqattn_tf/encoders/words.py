"""Words with their letters: a word embedding joined with convolutional features of the spelling."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.registry import check_count
from seqattn_tf.core.scan import size_of
from seqattn_tf.encoders.base import Tensors
from seqattn_tf.encoders.symbols import SymbolEncoder
from seqattn_tf.vision.base import channels_last

_WIDTH = 3  # the width of a filter in letters


@keras.saving.register_keras_serializable("seqattn_tf")
class WordEncoder(SymbolEncoder):
    """An encoder of word ids `[batch, words]` and letter ids `[batch, words, word length]`, read in both directions.

        spelling_i = max_k relu(W [e_k-1; e_k; e_k+1] + b)     over the letters k of word i (Ma and Hovy, 2016)
        x_i = [word_i; spelling_i]

    Args:
        vocabulary: The number of word ids.
        letters: The number of letter ids.
        letter_embedding_dim: The size of a letter embedding.
        filters: The number of features of a spelling.
        **arguments: The arguments of a `SymbolEncoder`.

    >>> encoder = WordEncoder(30, letters=9, units=8, embedding=4)
    >>> words = {"text_ids": tf.ones([2, 5], tf.int32), "text_letters": tf.ones([2, 5, 6], tf.int32)}
    >>> encoder(words).values.shape.as_list()
    [2, 5, 16]
    """

    name_in_registry = "words"
    field_type = "words"
    both_ways = True

    def __init__(
        self, vocabulary: int, letters: int, letter_embedding_dim: int = 32, filters: int = 48, **arguments: Any
    ) -> None:
        super().__init__(vocabulary, **arguments)
        self.letters = check_count("letters", letters)
        self.letter_embedding_dim, self.filters = letter_embedding_dim, filters
        alike = {"dtype": self.dtype_policy}
        self.letter = keras.layers.Embedding(letters, letter_embedding_dim, **alike)
        with channels_last():
            self.convolution = keras.layers.Conv1D(filters, _WIDTH, padding="same", activation="relu", **alike)

    def build(self, input_shape: Any = None) -> None:
        self.letter.build((None, None, None))
        self.convolution.build((None, None, self.letter_embedding_dim))
        super().build(input_shape)

    @property
    def embedded_size(self) -> int:
        """The size of a word and its spelling."""
        return super().embedded_size + self.filters

    def embed(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """Return the words joined with their spellings."""
        letters = self.part(tensors, "letters")
        batch, words = size_of(letters, 0), size_of(letters, 1)
        flat = tf.reshape(letters, [batch * words, letters.shape[2]])
        flat = tf.concat([tf.zeros([1, letters.shape[2]], flat.dtype), flat], axis=0)  # eager convolutions need one row
        there = tf.cast(flat != 0, self.compute_dtype)[..., None]
        found = self.convolution(self.letter(flat) * there) * there  # masked letters are 0, the minimum of relu
        spelled = tf.reshape(tf.reduce_max(found, axis=1)[1:], [batch, words, self.filters])
        return tf.concat([super().embed(tensors, training), self.drop_symbols(spelled, training=training)], axis=-1)

    @property
    def arguments(self) -> dict[str, Any]:
        own = {"letters": self.letters, "letter_embedding_dim": self.letter_embedding_dim, "filters": self.filters}
        return {**super().arguments, **own}
