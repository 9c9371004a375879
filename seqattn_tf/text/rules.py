"""How text becomes symbols and back, in plain Python: what a device without TensorFlow needs.

`SymbolTokenizer` does the same inside a graph; a test holds the two together.
"""

import dataclasses
import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from seqattn_tf.aside import write_json

PAD, BEGIN, END = 0, 1, 2
SPECIAL = ("<pad>", "<s>", "</s>")
SPLITS = ("characters", "spaces")
SPACES = " \t\n\v\f\r"  # not Unicode's: TensorFlow splits at these alone
FILLERS = "\u115f\u1160"  # letters of Hangul that show nothing; case folding in the graph drops them


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
        symbols: the vocabulary; the id of a symbol is its place plus the three special ids before it.
        split: `"characters"`, or `"spaces"` for symbols that are words.
        fold: ignore case, accents and the shape of apostrophes.

    >>> rules = SymbolRules(("a", "b"), fold=True)
    >>> rules.encode("Bá"), rules.decode([4, 3])
    ([4, 3], 'ba')
    """

    symbols: tuple[str, ...]
    split: str = "characters"
    fold: bool = False

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise ValueError(f"split: expected one of {SPLITS}. Received: {self.split!r}")
        if len(set(self.symbols)) != len(self.symbols):
            raise ValueError("symbols: expected each symbol once. Received repeated symbols")
        broken = [symbol for symbol in self.symbols if not symbol or "\n" in symbol]
        if broken:
            raise ValueError(f"symbols: expected non-empty strings without line breaks. Received: {broken!r}")

    @property
    def size(self) -> int:
        """Number of ids, the special ones included."""
        return len(SPECIAL) + len(self.symbols)

    def normalise(self, text: str) -> str:
        """The text as the model reads it."""
        text = text.replace("\0", "\ufffd")
        if self.fold:
            folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
            text = "".join(c for c in folded if unicodedata.category(c) not in ("Mn", "Cf") and c not in FILLERS)
            text = text.replace("\u2019", "'")
        return text.strip(SPACES)

    def tokens(self, text: str) -> list[str]:
        """The symbols of a text, known or not."""
        text = self.normalise(text)
        return list(text) if self.split == "characters" else [word for word in re.split(f"[{SPACES}]", text) if word]

    def encode(self, text: str) -> list[int]:
        """The ids of a text; a symbol that is not in the vocabulary gets the padding id: it is seen and not read."""
        ids = {symbol: i for i, symbol in enumerate(self.symbols, len(SPECIAL))}
        return [ids.get(token, PAD) for token in self.tokens(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids."""
        return ("" if self.split == "characters" else " ").join(self.names(ids))

    def names(self, ids: Iterable[int]) -> list[str]:
        """The symbols of some ids, special ones left out."""
        return [self.symbols[i - len(SPECIAL)] for i in ids if i >= len(SPECIAL)]

    @classmethod
    def learn(cls, texts: Iterable[str], split: str = "characters", fold: bool = False) -> "SymbolRules":
        """The rules whose vocabulary is every symbol of `texts`, the most frequent first."""
        rules = cls((), split, fold)
        counts = Counter(token for text in texts for token in rules.tokens(text))
        return dataclasses.replace(rules, symbols=tuple(sorted(counts, key=lambda s: (-counts[s], s))))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rules as JSON."""
        write_json(path, dataclasses.asdict(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "SymbolRules":
        """Read what `save` wrote."""
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
        return cls(**{**stored, "symbols": tuple(stored["symbols"])})
