"""Pretrained word vectors: GloVe text, word2vec text or binary files, or NumPy `.npz` files.

the 0.418 0.24968 ...                     GloVe: a word and its numbers on each line
400000 100                                word2vec: a line with the counts, then the same; the binary form has float32
words, vectors                            .npz; or words, q and scale, where the vectors are q * scale
"""

import codecs
import dataclasses
import itertools
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import keras
import numpy as np

from seqattn_tf.core.compressed import open_file
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.lite.text.pieces import SPACE
from seqattn_tf.training.data.reading import split_name

if TYPE_CHECKING:
    from seqattn_tf.training.tasks.settings import TextSettings

AnyText = TypeVar("AnyText", bound=Text)
AnySettings = TypeVar("AnySettings", bound="TextSettings")
EXPECTED = "expected word vectors: GloVe text, word2vec, or .npz with words and vectors"


@dataclasses.dataclass(frozen=True)
class Vectors:
    """Words with their vectors.

    >>> vectors = Vectors({"dog": 0}, np.array([[0.5, 1.0]], np.float32))
    >>> vectors.find("dog"), vectors.find("Dog"), vectors.find("cat")
    (0, 0, None)
    """

    rows: dict[str, int]
    table: np.ndarray  # [words, size]
    fixed: bool = False  # whether they are frozen during training

    @property
    def size(self) -> int:
        """The dimension of the vectors."""
        return self.table.shape[1]

    def find(self, symbol: str, folded: dict[str, int] | None = None) -> int | None:
        """Return the row of a symbol, or None.

        The symbol is looked up as it is, then in lower case, then as the normalized form of a word.
        """
        word = symbol.removeprefix(SPACE) or symbol
        return self.rows.get(word, self.rows.get(word.lower(), (folded or {}).get(word)))

    def widen(self, field: AnyText, settings: AnySettings) -> tuple[AnyText, AnySettings]:
        """Add the words that the vocabulary of a field lacks, in order, and return the field and updated settings.

        Vocabularies of characters or subwords are not changed.
        """
        rules = field.rules
        settings = dataclasses.replace(settings, embedding=self.size)
        if rules.tokenizer not in ("spaces", "tokens", "words"):
            return field, settings
        mark = SPACE if rules.tokenizer == "words" else ""
        known = dict.fromkeys(rules.symbols)
        fresh = dict.fromkeys(mark + rules.normalise(word) for word in self.rows)
        extra = [word for word in fresh if word != mark and word not in known][: settings.max_pretrained_words]
        symbols = (*rules.symbols, *extra)
        wider = dataclasses.replace(rules, symbols=symbols, unknown=rules.unknown or len(extra) > 0)
        widened = field.with_rules(wider)
        return cast(AnyText, widened), settings

    def begin(self, network: keras.Model, rules: SymbolRules) -> None:
        """Copy the vectors into the network's first embedding of this vocabulary.

        Symbols without a vector get random values with the same standard deviation.

        Raises:
            ValueError: If no symbol has a vector, or if the network has no embedding of this size.
        """
        if not network.built:
            network.build()
        sizes = rules.size, self.size
        fitting = [layer for layer in _embeddings(network) if (layer.input_dim, layer.output_dim) == sizes]
        if not fitting:
            raise ValueError(
                f"pretrained_embeddings: expected an embedding layer of shape {list(sizes)}. Received: none"
            )
        folded = (
            {rules.normalise(word): row for word, row in reversed(self.rows.items())}
            if rules.lowercase or rules.strip_accents
            else {}
        )
        places = {symbol: self.find(symbol, folded) for symbol in rules.symbols}
        found = [(rules.ids[symbol], row) for symbol, row in places.items() if row is not None]
        if not found:
            raise ValueError(
                f"pretrained_embeddings: expected vectors for words such as {rules.symbols[:5]}. Received: none of them"
            )
        ids, rows = map(list, zip(*found, strict=True))
        spread = np.random.default_rng(0).normal(0, self.table[rows].std(), (rules.size, self.size))
        table = spread.astype(np.float32)
        table[ids] = self.table[rows]
        fitting[0].embeddings.assign(table)
        fitting[0].trainable = not self.fixed


def _embeddings(layer: keras.Layer) -> Iterator[keras.layers.Embedding]:
    """Yield the embeddings of a network in the order of their creation: that of words before that of their letters."""
    for part in layer._layers:
        if isinstance(part, keras.layers.Embedding):
            yield part
        else:
            yield from _embeddings(part)


def read_vectors(settings: "TextSettings") -> Vectors | None:
    """Return the vectors that the settings name, or None."""
    return (
        dataclasses.replace(read(settings.pretrained_embeddings), fixed=settings.freeze_embeddings)
        if settings.pretrained_embeddings
        else None
    )


def read(path: str | Path) -> Vectors:
    """Read the vectors of a file, plain, `.gz` or `.xz`. If a word occurs twice, its first vector is used.

    Raises:
        ValueError: If the file is missing, damaged or in an unknown format.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"pretrained_embeddings: expected an existing file. Received: {path}")
    try:
        with np.errstate(over="ignore"):  # numbers that overflow are not finite, which is reported below
            words, table = _read_npz(path) if path.suffix == ".npz" else _read_text(path)
    except (OSError, zipfile.BadZipFile, KeyError, UnicodeDecodeError, IndexError, MemoryError) as error:
        raise ValueError(f"{path}: {EXPECTED}. Received: {type(error).__name__}: {error}") from None
    if table.ndim != 2 or len(words) != len(table) or not len(words) or not table.shape[1]:
        raise ValueError(f"{path}: {EXPECTED}. Received: {len(words)} words and numbers {table.shape}")
    finite = np.isfinite(table).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"{path}: expected finite numbers. Received: NaN or infinity for {words[int(np.argmin(finite))]!r}"
        )
    rows: dict[str, int] = {}
    for row, word in enumerate(words):
        rows.setdefault(word, row)
    return Vectors(rows, table)


def _read_npz(path: Path) -> tuple[list[str], np.ndarray]:
    try:
        with np.load(path) as held:  # pickles are disabled, so no code is executed
            words = [word.decode() if isinstance(word, bytes) else str(word) for word in held["words"]]
            if "vectors" in held.files:
                return words, held["vectors"].astype(np.float32)
            return words, held["q"].astype(np.float32) * held["scale"].astype(np.float32)
    except (EOFError, TypeError, ValueError, zlib.error) as error:
        raise ValueError(f"{path}: {EXPECTED}. Received: {type(error).__name__}: {error}") from None


def _read_text(path: Path) -> tuple[list[str], np.ndarray]:
    with open_file(path) as file:
        first = file.readline().removeprefix(codecs.BOM_UTF8)
        header, count = first.split(), 0
        if len(header) == 2 and all(part.isdigit() for part in header):
            count, size = map(int, header)
            if split_name(path)[1] == "bin":
                return _read_binary(file, count, size, path)
            first = file.readline()
        else:
            size = len(first.rstrip().split(b" ")) - 1
        words, numbers = [], []
        for place, line in enumerate(_lines(first, file), 1):
            word, *cells = line.rstrip().decode("utf-8").rsplit(" ", size)
            if len(cells) != size or not size:
                raise ValueError(f"{path}, vector {place}: expected {size} numbers. Received: {line[:60]!r}")
            try:
                numbers.append(np.array(cells, np.float32))
            except ValueError:
                raise ValueError(f"{path}, vector {place}: expected numbers. Received: {line[:60]!r}") from None
            words.append(word)
    if words and len(words) < count:
        raise ValueError(f"{path}: expected {count} vectors, as declared in its first line. Received: {len(words)}")
    return words, np.array(numbers, np.float32).reshape(len(words), size)


def _lines(first: bytes, file: Any) -> Any:
    yield from (line for line in itertools.chain([first], file) if line.strip())


def _read_binary(file: Any, count: int, size: int, path: Path) -> tuple[list[str], np.ndarray]:
    words: list[str] = []
    table = np.zeros([count, size], np.float32)
    for row in table:
        word = bytearray()
        while (letter := file.read(1)) not in (b" ", b""):
            word += letter
        data = file.read(4 * size)
        if len(data) < 4 * size:
            raise ValueError(f"{path}: expected {count} vectors. Received: {len(words)}; the file is truncated")
        row[:] = np.frombuffer(data, "<f4")
        words.append(word.decode("utf-8", "replace").lstrip("\n"))
    return words, table
