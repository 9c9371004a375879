"""The symbol tokeniser: `SymbolRules` inside a TensorFlow graph, from raw strings to ids and back.

It uses core ops and TensorFlow Text's normalisation alone, all of which TensorFlow Serving links.
"""

import tensorflow as tf
import tensorflow_text as tf_text

from seqattn_tf.lite.text.pieces import INSIDE, LONGEST_WORD, SPACE
from seqattn_tf.lite.text.rules import PAD, SPACES, SymbolRules
from seqattn_tf.lite.text.tokens import RULES

_WORD = f"({SPACE}?(?:[\\pL\\pM\\pN]+|[^\\pL\\pM\\pN{SPACE}]))"


def normalise(texts: tf.Tensor, fold: bool | str = False) -> tf.Tensor:
    """What `SymbolRules.normalise` does, to texts of any shape."""
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    texts = tf.strings.regex_replace(texts, r"\x00", "\ufffd")  # normalisation would end the text there
    if fold:  # by case folding: lower case depends on the locale of the process
        case = fold == "case"
        texts = tf_text.normalize_utf8(tf_text.case_fold_utf8(texts), "NFKC" if case else "NFKD")
        texts = tf.strings.regex_replace(texts, r"\p{Cf}+" if case else r"[\p{Mn}\p{Cf}]+", "")
    if fold is True:
        texts = tf.strings.regex_replace(texts, "\u2019", "'")
    return tf.strings.regex_replace(texts, f"^[{SPACES}]+|[{SPACES}]+$", "")


def split(texts: tf.Tensor, how: str) -> tf.RaggedTensor:
    """Normalised texts, cut as rules of this `split` do, subwords into their words: `[batch] -> [batch, (symbols)]`."""
    if how == "letters":
        texts = tf.strings.regex_replace(texts, f"[{SPACES}]+", "")
    if how in ("characters", "letters"):
        return tf.strings.unicode_split(texts, "UTF-8")
    if how == "spaces":
        return tf.strings.split(texts)
    if how == "tokens":
        texts = tf.strings.join([" ", tf.strings.regex_replace(texts, f"[{SPACES}]+", " "), " "])
        for pattern, replacement in RULES:
            texts = tf.strings.regex_replace(texts, pattern, replacement)
        return tf.strings.split(texts)
    texts = tf.strings.regex_replace(texts, f"^[{SPACES}{SPACE}]+|[{SPACES}{SPACE}]+$", "")
    texts = tf.strings.regex_replace(texts, "^(.)", SPACE + r"\1")
    texts = tf.strings.regex_replace(texts, f"[{SPACES}{SPACE}]+", SPACE)
    return tf.strings.split(tf.strings.regex_replace(texts, _WORD, r"\1 "))


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
        ids = list(range(len(rules.special), rules.size))
        entries = tf.lookup.KeyValueTensorInitializer(list(rules.symbols), ids, tf.string, tf.int32)
        self.table = tf.lookup.StaticHashTable(entries, default_value=rules.default)
        if rules.split == "subwords":  # the op wants a table of its own, with int64
            known = tf.lookup.KeyValueTensorInitializer(list(rules.symbols), ids, tf.string, tf.int64)
            self.pieces = tf_text.WordpieceTokenizer(
                tf.lookup.StaticHashTable(known, default_value=-1),
                suffix_indicator=INSIDE,
                max_bytes_per_word=LONGEST_WORD,
                token_out_type=tf.string,
                unknown_token=None,
            )

    def tokens(self, texts: tf.Tensor) -> tf.Tensor:
        """The symbols of each text, known or not: `[batch] -> [batch, longest]`, empty strings after the last."""
        return self.cut(texts).to_tensor("")

    def cut(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """The same without padding: `[batch] -> [batch, (symbols)]`."""
        words = split(self.normalise(texts), self.rules.split)
        return self.pieces.tokenize(words).merge_dims(1, 2) if self.rules.split == "subwords" else words

    def normalise(self, texts: tf.Tensor) -> tf.Tensor:
        """Texts as the model reads them, of any shape."""
        return normalise(texts, self.rules.fold)

    def encode(self, texts: tf.Tensor) -> tf.Tensor:
        """The ids of each text: `[batch] -> [batch, longest]`, int32; padding after the last."""
        return self.lookup(self.tokens(texts))

    def lookup(self, tokens: tf.Tensor) -> tf.Tensor:
        """The id of each symbol, of any shape; the padding id for an empty string."""
        return tf.where(tokens == "", tf.constant(PAD), self.table.lookup(tokens))

    def names(self, ids: tf.Tensor) -> tf.Tensor:
        """The symbol of each id, of any shape; empty strings for the special ones."""
        return tf.gather(tf.constant([""] * len(self.rules.special) + list(self.rules.symbols)), ids)

    def decode(self, ids: tf.Tensor) -> tf.Tensor:
        """The text of each row of ids, special ones left out: `[..., length] -> [...]`."""
        names = self.names(ids)
        if self.rules.split in ("spaces", "tokens"):
            names = tf.where(names == "", "", tf.strings.join([" ", names]))
        if self.rules.split == "subwords":
            names = tf.strings.regex_replace(names, f"^{INSIDE}", "")
        texts = tf.strings.reduce_join(names, axis=-1)
        if self.rules.split in ("words", "subwords"):
            texts = tf.strings.regex_replace(texts, SPACE, " ")
        return (
            texts if self.rules.split in ("characters", "letters") else tf.strings.regex_replace(texts, "^ +| +$", "")
        )
