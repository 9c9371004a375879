"""The symbol tokenizer: `SymbolRules` inside a TensorFlow graph, from raw strings to ids and back.

It uses only core ops and TensorFlow Text's normalization, all of which TensorFlow Serving links.
"""

import tensorflow as tf
import tensorflow_text as tf_text

from seqattn_tf.lite.text.pieces import INSIDE, LONGEST_WORD, SPACE
from seqattn_tf.lite.text.rules import PAD, SPACES, SymbolRules
from seqattn_tf.lite.text.tokens import RULES

_WORD = f"({SPACE}?(?:[\\pL\\pM\\pN]+|[^\\pL\\pM\\pN{SPACE}]))"


def normalise(texts: tf.Tensor, lowercase: bool = False, strip_accents: bool = False) -> tf.Tensor:
    """Normalize texts of any shape, as `SymbolRules.normalise` does."""
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    texts = tf.strings.regex_replace(texts, r"\x00", "\ufffd")  # normalization would truncate the text at a NUL
    if lowercase:  # case folding, because lowercasing depends on the locale of the process
        texts = tf_text.case_fold_utf8(texts)
    if lowercase or strip_accents:
        texts = tf_text.normalize_utf8(texts, "NFKD" if strip_accents else "NFKC")
        texts = tf.strings.regex_replace(texts, r"[\p{Mn}\p{Cf}]+" if strip_accents else r"\p{Cf}+", "")
    if strip_accents:
        texts = tf.strings.regex_replace(texts, "\u2019", "'")
    return tf.strings.regex_replace(texts, f"^[{SPACES}]+|[{SPACES}]+$", "")


def split(texts: tf.Tensor, tokenizer: str) -> tf.RaggedTensor:
    """Split normalized texts as rules with this `tokenizer` do: `[batch] -> [batch, (symbols)]`.

    Subwords are split only into words.
    """
    if tokenizer == "letters":
        texts = tf.strings.regex_replace(texts, f"[{SPACES}]+", "")
    if tokenizer in ("characters", "letters"):
        return tf.strings.unicode_split(texts, "UTF-8")
    if tokenizer == "spaces":
        return tf.strings.split(texts)
    if tokenizer == "tokens":
        texts = tf.strings.join([" ", tf.strings.regex_replace(texts, f"[{SPACES}]+", " "), " "])
        for pattern, replacement in RULES:
            texts = tf.strings.regex_replace(texts, pattern, replacement)
        return tf.strings.split(texts)
    texts = tf.strings.regex_replace(texts, f"^[{SPACES}{SPACE}]+|[{SPACES}{SPACE}]+$", "")
    texts = tf.strings.regex_replace(texts, "^(.)", SPACE + r"\1")
    texts = tf.strings.regex_replace(texts, f"[{SPACES}{SPACE}]+", SPACE)
    return tf.strings.split(tf.strings.regex_replace(texts, _WORD, r"\1 "))


class SymbolTokenizer(tf.Module):
    """A conversion from strings to ids and from ids to strings, by the given rules.

    Invalid UTF-8 is read as the replacement character, which is not in any vocabulary.

    >>> tokenizer = SymbolTokenizer(SymbolRules(("a", "b"), lowercase=True, strip_accents=True))
    >>> tokenizer.encode(tf.constant(["Bá", "a?"])).numpy().tolist()
    [[4, 3], [3, 0]]
    >>> tokenizer.decode(tf.constant([[4, 3], [3, 0]])).numpy().tolist()
    [b'ba', b'a']
    """

    def __init__(self, rules: SymbolRules) -> None:
        super().__init__()
        self.rules = rules
        ids = list(range(len(rules.special), rules.size))
        entries = tf.lookup.KeyValueTensorInitializer(list(rules.symbols), ids, tf.string, tf.int32)
        self.table = tf.lookup.StaticHashTable(entries, default_value=rules.default)
        if rules.tokenizer == "subwords":  # the op requires a separate table with int64
            known = tf.lookup.KeyValueTensorInitializer(list(rules.symbols), ids, tf.string, tf.int64)
            self.pieces = tf_text.WordpieceTokenizer(
                tf.lookup.StaticHashTable(known, default_value=-1),
                suffix_indicator=INSIDE,
                max_bytes_per_word=LONGEST_WORD,
                token_out_type=tf.string,
                unknown_token=None,
            )

    def tokens(self, texts: tf.Tensor) -> tf.Tensor:
        """Return the symbols of each text, known or not, padded with empty strings: `[batch] -> [batch, longest]`."""
        return self.cut(texts).to_tensor("")

    def cut(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the symbols of each text without padding: `[batch] -> [batch, (symbols)]`."""
        words = split(self.normalise(texts), self.rules.tokenizer)
        return self.pieces.tokenize(words).merge_dims(1, 2) if self.rules.tokenizer == "subwords" else words

    def normalise(self, texts: tf.Tensor) -> tf.Tensor:
        """Return texts of any shape in the form that the model reads."""
        return normalise(texts, self.rules.lowercase, self.rules.strip_accents)

    def encode(self, texts: tf.Tensor) -> tf.Tensor:
        """Return the ids of each text with padding: `[batch] -> [batch, longest]`, int32."""
        return self.lookup(self.tokens(texts))

    def lookup(self, tokens: tf.Tensor) -> tf.Tensor:
        """Return the id of each symbol, of any shape; the padding id for an empty string."""
        return tf.where(tokens == "", tf.constant(PAD), self.table.lookup(tokens))

    def names(self, ids: tf.Tensor) -> tf.Tensor:
        """Return the symbol of each id, of any shape; empty strings for special ids."""
        return tf.gather(tf.constant([""] * len(self.rules.special) + list(self.rules.symbols)), ids)

    def decode(self, ids: tf.Tensor) -> tf.Tensor:
        """Return the text of each row of ids, without special ones: `[..., length] -> [...]`."""
        names = self.names(ids)
        if self.rules.tokenizer in ("spaces", "tokens"):
            names = tf.where(names == "", "", tf.strings.join([" ", names]))
        if self.rules.tokenizer == "subwords":
            names = tf.strings.regex_replace(names, f"^{INSIDE}", "")
        texts = tf.strings.reduce_join(names, axis=-1)
        if self.rules.tokenizer in ("words", "subwords"):
            texts = tf.strings.regex_replace(texts, SPACE, " ")
        return (
            texts
            if self.rules.tokenizer in ("characters", "letters")
            else tf.strings.regex_replace(texts, "^ +| +$", "")
        )
