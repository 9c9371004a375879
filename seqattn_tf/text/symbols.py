"""The symbol tokeniser: `SymbolRules` inside a TensorFlow graph, from raw strings to ids and back.

It uses core ops and TensorFlow Text's normalisation alone, all of which TensorFlow Serving links.
"""

import tensorflow as tf
import tensorflow_text as tf_text

from seqattn_tf.text.rules import PAD, SPACES, SPECIAL, SymbolRules


class SymbolTokenizer(tf.Module):
    """Strings to ids and ids to strings, by the given rules.

    Invalid UTF-8 is read as the replacement character, which is in no vocabulary.

    >>> tokenizer = SymbolTokenizer(SymbolRules(("a", "b"), fold=True))
    >>> tokenizer.encode(tf.constant(["Bá", "a?"])).numpy().tolist()
    [[4, 3], [3, 0]]
    >>> tokenizer.decode(tf.constant([[4, 3], [3, 0]])).numpy().tolist()
    [b'ba', b'a']
    """

    def __init__(self, rules: SymbolRules) -> None:
        super().__init__()
        self.rules = rules
        ids = range(len(SPECIAL), rules.size)
        entries = tf.lookup.KeyValueTensorInitializer(list(rules.symbols), list(ids), tf.string, tf.int32)
        self.table = tf.lookup.StaticHashTable(entries, default_value=PAD)

    def tokens(self, texts: tf.Tensor) -> tf.Tensor:
        """The symbols of each text, known or not: `[batch] -> [batch, longest]`, empty strings after the last."""
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        texts = tf.strings.regex_replace(texts, r"\x00", "\ufffd")  # normalisation would end the text there
        if self.rules.fold:  # by case folding: lower case depends on the locale of the process
            texts = tf_text.normalize_utf8(tf_text.case_fold_utf8(texts), "NFKD")
            texts = tf.strings.regex_replace(texts, r"[\p{Mn}\p{Cf}]+", "")
            texts = tf.strings.regex_replace(texts, "\u2019", "'")
        texts = tf.strings.regex_replace(texts, f"^[{SPACES}]+|[{SPACES}]+$", "")
        if self.rules.split == "characters":
            return tf.strings.unicode_split(texts, "UTF-8").to_tensor("")
        return tf.strings.split(texts).to_tensor("")

    def encode(self, texts: tf.Tensor) -> tf.Tensor:
        """The ids of each text: `[batch] -> [batch, longest]`, int32; padding after the last, and for the unknown."""
        return self.table.lookup(self.tokens(texts))

    def names(self, ids: tf.Tensor) -> tf.Tensor:
        """The symbol of each id, of any shape; empty strings for the special ones."""
        return tf.gather(tf.constant([""] * len(SPECIAL) + list(self.rules.symbols)), ids)

    def decode(self, ids: tf.Tensor) -> tf.Tensor:
        """The text of each row of ids, special ones left out: `[batch, length] -> [batch]`."""
        separator = "" if self.rules.split == "characters" else " "
        kept = tf.ragged.boolean_mask(self.names(ids), ids >= len(SPECIAL))
        return tf.strings.reduce_join(kept, axis=-1, separator=separator)
