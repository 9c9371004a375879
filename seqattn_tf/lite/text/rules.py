"""The conversion between text and symbols in plain Python, for devices without TensorFlow.

`SymbolTokenizer` does the same inside a graph; a test checks that both agree.
"""

import dataclasses
import functools
import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Literal

from seqattn_tf.core.registry import suggest
from seqattn_tf.lite.text import pieces
from seqattn_tf.lite.text import tokens as treebank

PAD, BEGIN, END, UNKNOWN = 0, 1, 2, 3
_SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
TOKENIZERS = ("characters", "letters", "spaces", "tokens", "words", "subwords")
JOINS = {
    "characters": "".join,
    "letters": "".join,
    "spaces": " ".join,
    "tokens": " ".join,
    "words": pieces.join,
    "subwords": pieces.join,
}
SPACES = " \t\n\v\f\r"  # without Unicode's other spaces, at which TensorFlow does not split
_SPACED = re.compile(f"[^{SPACES}]+")
_FILLERS = frozenset(  # invisible characters besides category Cf that case folding in the graph removes
    map(
        chr,
        [
            0x34F,
            0x115F,
            0x1160,
            0x17B4,
            0x17B5,
            *range(0x180B, 0x1810),
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
        ],
    )
)


def as_texts(texts: Iterable[str | bytes]) -> list[str]:
    """Return a list of texts as strings, with invalid UTF-8 and lone surrogates replaced; reject any other value.

    >>> as_texts(["a", b"\\xff"])
    ['a', '\ufffd']
    """
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise ValueError(f"texts: expected a list of strings. Received: {texts!r:.80}")
    texts = list(texts)
    if not all(isinstance(text, str | bytes) for text in texts):
        raise ValueError(f"texts: expected a list of strings. Received: {texts!r:.80}")
    raw = (text.encode("utf-8", "replace") if isinstance(text, str) else text for text in texts)
    return [text.decode("utf-8", "replace") for text in raw]


@dataclasses.dataclass(frozen=True)
class SymbolRules:
    """A vocabulary of symbols and the way text is cut into them.

    Args:
        symbols: The vocabulary; the id of a symbol is its index plus the number of special ids.
        tokenizer: `"characters"`; `"letters"`, characters without spaces; `"spaces"`, words separated by spaces;
            `"tokens"`, words and punctuation as in English treebanks; `"words"`, words and punctuation of raw text that
            give the text back when joined; `"subwords"`, pieces of words.
        lowercase: Whether to ignore case and differences between compatible forms of a character.
        strip_accents: Whether to ignore accents and the shape of apostrophes.
        unknown: Whether there is an id for symbols outside the vocabulary. Otherwise they get the padding id: they are
            listed as tokens, but the network ignores them.

    >>> rules = SymbolRules(("a", "b"), lowercase=True, strip_accents=True)
    >>> rules.encode("Bá"), rules.decode([4, 3])
    ([4, 3], 'ba')
    """

    symbols: tuple[str, ...]
    tokenizer: str = "characters"
    lowercase: bool = False
    strip_accents: bool = False
    unknown: bool = False

    def __post_init__(self) -> None:
        if self.tokenizer not in TOKENIZERS:
            near = suggest(self.tokenizer, TOKENIZERS)
            raise ValueError(f"tokenizer: expected one of {TOKENIZERS}. Received: {self.tokenizer!r}{near}")
        if len(set(self.symbols)) != len(self.symbols):
            raise ValueError("symbols: expected unique symbols. Received: repeated ones")
        broken = [symbol for symbol in self.symbols if not symbol or (symbol != "\n" and "\n" in symbol)]
        if broken:
            raise ValueError(f"symbols: expected non-empty strings without line breaks. Received: {broken!r}")

    @property
    def special(self) -> tuple[str, ...]:
        """The names of the ids before the first symbol."""
        return _SPECIAL if self.unknown else _SPECIAL[:UNKNOWN]

    @property
    def size(self) -> int:
        """The number of ids, including special ones."""
        return len(self.special) + len(self.symbols)

    @property
    def unsayable(self) -> tuple[int, ...]:
        """The ids that never occur in a generated text: all special ones except the end."""
        return tuple(i for i in range(len(self.special)) if i != END)

    @property
    def default(self) -> int:
        """The id of symbols outside the vocabulary."""
        return UNKNOWN if self.unknown else PAD

    @functools.cached_property
    def ids(self) -> dict[str, int]:
        """The ids by symbol."""
        return {symbol: i for i, symbol in enumerate(self.symbols, len(self.special))}

    def normalise(self, text: str) -> str:
        """Return the text in the form that the model reads."""
        text = text.replace("\0", "\ufffd")
        if text.isascii():
            text = text.lower() if self.lowercase else text
        elif self.lowercase or self.strip_accents:
            form: Literal["NFKC", "NFKD"] = "NFKD" if self.strip_accents else "NFKC"
            dropped = {"Mn", "Cf"} if self.strip_accents else {"Cf"}
            fillers = _FILLERS if self.lowercase else frozenset()
            if self.lowercase:
                text = "".join(unicodedata.normalize(form, character).casefold() for character in text)
            text = unicodedata.normalize(form, text)
            text = "".join(c for c in text if unicodedata.category(c) not in dropped and c not in fillers)
        if self.strip_accents:
            text = text.replace("\u2019", "'")
        return text.strip(SPACES)

    def tokens(self, text: str) -> list[str]:
        """Return the symbols of a text, including unknown ones."""
        text = self.normalise(text)
        if self.tokenizer == "characters":
            return list(text)
        if self.tokenizer == "letters":
            return [character for character in text if character not in SPACES]
        if self.tokenizer == "spaces":
            return _SPACED.findall(text)
        if self.tokenizer == "tokens":
            return treebank.tokens(text, SPACES)
        words = pieces.words(text, SPACES)
        return words if self.tokenizer == "words" else [piece for word in words for piece in pieces.cut(word, self.ids)]

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        return [self.ids.get(token, self.default) for token in self.tokens(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of a sequence of ids."""
        return JOINS[self.tokenizer](self.names(ids))

    def names(self, ids: Iterable[int]) -> list[str]:
        """Return the symbols of a sequence of ids, without special ones."""
        return [self.symbols[i - len(self.special)] for i in ids if i >= len(self.special)]

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, in the form stored as JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "SymbolRules":
        """Create the rules from the result of `get_config`."""
        return cls(**{**config, "symbols": tuple(config["symbols"])})
