"""Word vectors that a training begins with: GloVe's text, word2vec's text or binary form, or NumPy's `.npz`.

the 0.418 0.24968 ...                     GloVe: a word and its numbers a line
400000 100                                word2vec: counts first, then the same; in its binary form float32
words, vectors                            .npz; or words, q and scale, which make q * scale
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
    """Words, each with its vector.

    >>> vectors = Vectors({"dog": 0}, np.array([[0.5, 1.0]], np.float32))
    >>> vectors.find("dog"), vectors.find("Dog"), vectors.find("cat")
    (0, 0, None)
    """

    rows: dict[str, int]
    table: np.ndarray  # [words, size]
    fixed: bool = False  # whether they stay as they are while the rest learns

    @property
    def size(self) -> int:
        """Numbers of a vector."""
        return self.table.shape[1]

    def find(self, symbol: str, folded: dict[str, int] | None = None) -> int | None:
        """The row of a symbol: as it is, else in lower case, else of the first word that is folded to it."""
        word = symbol.removeprefix(SPACE) or symbol
        return self.rows.get(word, self.rows.get(word.lower(), (folded or {}).get(word)))

    def widen(self, field: AnyText, settings: AnySettings) -> tuple[AnyText, AnySettings]:
        """The field with words of the file that its vocabulary lacks, in their order there, and the fitting settings.

        Characters and pieces of words stay as they are.
        """
        rules = field.rules
        settings = dataclasses.replace(settings, embedding=self.size)
        if rules.split not in ("spaces", "tokens", "words"):
            return field, settings
        mark = SPACE if rules.split == "words" else ""
        known = dict.fromkeys(rules.symbols)
        fresh = dict.fromkeys(mark + rules.normalise(word) for word in self.rows)
        extra = [word for word in fresh if word != mark and word not in known][: settings.vector_words]
        symbols = (*rules.symbols, *extra)
        wider = dataclasses.replace(rules, symbols=symbols, unknown=rules.unknown or len(extra) > 0)
        widened = field.with_rules(wider)
        return cast(AnyText, widened), settings

    def begin(self, network: keras.Model, rules: SymbolRules) -> None:
        """Put the vectors into the network's first embedding of this vocabulary; other symbols are spread as they are.

        Raises:
            ValueError: no symbol has a vector.
        """
        if not network.built:
            network.build()
        sizes = rules.size, self.size
        fitting = [layer for layer in _embeddings(network) if (layer.input_dim, layer.output_dim) == sizes]
        if not fitting:
            raise ValueError(f"vectors: expected an embedding of {rules.size} symbols by {self.size}. Received: none")
        folded = {rules.normalise(word): row for word, row in reversed(self.rows.items())} if rules.fold else {}
        places = {symbol: self.find(symbol, folded) for symbol in rules.symbols}
        found = [(rules.ids[symbol], row) for symbol, row in places.items() if row is not None]
        if not found:
            raise ValueError(f"vectors: expected some of the words {rules.symbols[:5]}. Received: none of them")
        ids, rows = map(list, zip(*found, strict=True))
        spread = np.random.default_rng(0).normal(0, self.table[rows].std(), (rules.size, self.size))
        table = spread.astype(np.float32)
        table[ids] = self.table[rows]
        fitting[0].embeddings.assign(table)
        fitting[0].trainable = not self.fixed


def _embeddings(layer: keras.Layer) -> Iterator[keras.layers.Embedding]:
    """The embeddings of a network in the order in which they were made: that of words before that of their letters."""
    for part in layer._layers:
        if isinstance(part, keras.layers.Embedding):
            yield part
        else:
            yield from _embeddings(part)


def read_vectors(settings: "TextSettings") -> Vectors | None:
    """The vectors that settings name; None for none."""
    return dataclasses.replace(read(settings.vectors), fixed=settings.fixed_vectors) if settings.vectors else None


def read(path: str | Path) -> Vectors:
    """The vectors of a file, plain or packed as `.gz` or `.xz`; of a word that is there twice, the first.

    Raises:
        ValueError: it is not there, or not of a known form, or damaged.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"vectors: expected a file. Received: {path}")
    try:
        with np.errstate(over="ignore"):  # what is too large is not finite, and said below
            words, table = _read_npz(path) if path.suffix == ".npz" else _read_text(path)
    except (OSError, zipfile.BadZipFile, KeyError, UnicodeDecodeError, IndexError, MemoryError) as error:
        raise ValueError(f"{path}: {EXPECTED}. Received: {type(error).__name__}: {error}") from None
    if table.ndim != 2 or len(words) != len(table) or not len(words) or not table.shape[1]:
        raise ValueError(f"{path}: {EXPECTED}. Received: {len(words)} words and numbers {table.shape}")
    finite = np.isfinite(table).all(axis=1)
    if not finite.all():
        raise ValueError(f"{path}: expected finite numbers. Received: others for {words[int(np.argmin(finite))]!r}")
    rows: dict[str, int] = {}
    for row, word in enumerate(words):
        rows.setdefault(word, row)
    return Vectors(rows, table)


def _read_npz(path: Path) -> tuple[list[str], np.ndarray]:
    try:
        with np.load(path) as held:  # no pickles: nothing in it is run
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
        raise ValueError(f"{path}: expected {count} vectors, as its first line says. Received: {len(words)}")
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
            raise ValueError(f"{path}: expected {count} vectors. Received: {len(words)}, and the file breaks off")
        row[:] = np.frombuffer(data, "<f4")
        words.append(word.decode("utf-8", "replace").lstrip("\n"))
    return words, table
