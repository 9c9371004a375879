"""How text becomes symbols and back, in plain Python: what a device without TensorFlow needs.

`SymbolTokenizer` does the same inside a graph; a test holds the two together.
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
SPLITS = ("characters", "letters", "spaces", "tokens", "words", "subwords")
FOLDS = (False, "case", True)
JOINS = {
    "characters": "".join,
    "letters": "".join,
    "spaces": " ".join,
    "tokens": " ".join,
    "words": pieces.join,
    "subwords": pieces.join,
}
SPACES = " \t\n\v\f\r"  # not Unicode's: TensorFlow splits at these alone
_SPACED = re.compile(f"[^{SPACES}]+")
_FILLERS = frozenset(  # that show nothing and that case folding in the graph drops, besides the category Cf
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
    """A list of texts as strings, invalid UTF-8 and lone surrogates replaced; anything else is refused.

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
        symbols: the vocabulary; the id of a symbol is its place plus the special ids before it.
        split: `"characters"`; `"letters"`, characters without the spaces; `"spaces"` for words that stand apart
            already; `"tokens"`, words and punctuation as treebanks of English have them; `"words"` and punctuation of
            raw text, such that joining them gives it back; `"subwords"`, pieces of words.
        fold: `"case"`: ignore case and the forms of a character that mean the same; True: ignore also accents and the
            shape of apostrophes.
        unknown: whether a symbol outside the vocabulary has an id of its own. Else it gets the padding id: it is seen
            and not read.

    >>> rules = SymbolRules(("a", "b"), fold=True)
    >>> rules.encode("Bá"), rules.decode([4, 3])
    ([4, 3], 'ba')
    """

    symbols: tuple[str, ...]
    split: str = "characters"
    fold: bool | str = False
    unknown: bool = False

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            near = suggest(self.split, SPLITS)
            raise ValueError(f"split: expected one of {SPLITS}. Received: {self.split!r}{near}")
        if self.fold not in FOLDS:
            raise ValueError(f"fold: expected one of {FOLDS}. Received: {self.fold!r}")
        if len(set(self.symbols)) != len(self.symbols):
            raise ValueError("symbols: expected each symbol once. Received repeated symbols")
        broken = [symbol for symbol in self.symbols if not symbol or (symbol != "\n" and "\n" in symbol)]
        if broken:
            raise ValueError(f"symbols: expected non-empty strings without line breaks. Received: {broken!r}")

    @property
    def special(self) -> tuple[str, ...]:
        """The names of the ids before the first symbol."""
        return _SPECIAL if self.unknown else _SPECIAL[:UNKNOWN]

    @property
    def size(self) -> int:
        """Number of ids, the special ones included."""
        return len(self.special) + len(self.symbols)

    @property
    def unsayable(self) -> tuple[int, ...]:
        """The ids that are in no text: all special ones but the end."""
        return tuple(i for i in range(len(self.special)) if i != END)

    @property
    def default(self) -> int:
        """The id of whatever is not in the vocabulary."""
        return UNKNOWN if self.unknown else PAD

    @functools.cached_property
    def ids(self) -> dict[str, int]:
        """The id of every symbol."""
        return {symbol: i for i, symbol in enumerate(self.symbols, len(self.special))}

    def normalise(self, text: str) -> str:
        """The text as the model reads it."""
        text = text.replace("\0", "\ufffd")
        if self.fold and text.isascii():
            text = text.lower()
        elif self.fold:
            form: Literal["NFKC", "NFKD"] = "NFKC" if self.fold == "case" else "NFKD"
            dropped = ("Cf",) if self.fold == "case" else ("Mn", "Cf")
            folded = "".join(unicodedata.normalize(form, character).casefold() for character in text)
            folded = unicodedata.normalize(form, folded)
            text = "".join(c for c in folded if unicodedata.category(c) not in dropped and c not in _FILLERS)
        if self.fold is True:
            text = text.replace("\u2019", "'")
        return text.strip(SPACES)

    def tokens(self, text: str) -> list[str]:
        """The symbols of a text, known or not."""
        text = self.normalise(text)
        if self.split == "characters":
            return list(text)
        if self.split == "letters":
            return [character for character in text if character not in SPACES]
        if self.split == "spaces":
            return _SPACED.findall(text)
        if self.split == "tokens":
            return treebank.tokens(text, SPACES)
        words = pieces.words(text, SPACES)
        return words if self.split == "words" else [piece for word in words for piece in pieces.cut(word, self.ids)]

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return [self.ids.get(token, self.default) for token in self.tokens(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids."""
        return JOINS[self.split](self.names(ids))

    def names(self, ids: Iterable[int]) -> list[str]:
        """The symbols of some ids, special ones left out."""
        return [self.symbols[i - len(self.special)] for i in ids if i >= len(self.special)]

    def get_config(self) -> dict[str, Any]:
        """What JSON holds of them."""
        return dataclasses.asdict(self)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "SymbolRules":
        """The rules of what `get_config` gave."""
        return cls(**{**config, "symbols": tuple(config["symbols"])})
