"""Movie reviews of Pang and Lee (2004): 2 000 documents, one sentence per line in the original."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source
from seqattn_tf.training.data.catalog.originals import Originals

_FOLDERS = {"neg": 0, "pos": 1}  # and their labels


def _convert(originals: Originals) -> Iterator[tuple[str, bytes]]:
    """Write one line per review: its label, its name and its sentences, separated by `|||`."""
    rows = []
    for folder, label in _FOLDERS.items():
        for path, data in sorted(originals.contents(f"{folder}/cv*.txt")):
            sentences = [" ".join(line.split()) for line in data.decode("latin-1").split("\n")]
            text = " ||| ".join(filter(None, sentences))
            rows.append(f"{label}\t{PurePosixPath(path).stem}\t{text}\n")
    yield "polarity2.0.tsv", "".join(rows).encode()


dataset = Dataset(
    name="movie_reviews",
    title="2 000 movie reviews",
    recipes=("classify",),
    license="CC BY 4.0",
    source=Source(
        "polarity dataset 2.0 (Pang and Lee, 2004), as packaged by nltk_data",
        "equals packages/corpora/movie_reviews.zip at commit 5db857e6 (2023-02-02)",
        "CC BY 4.0, packages/corpora/movie_reviews.xml of nltk_data",
        "https://github.com/nltk/nltk_data",
    ),
    split="ten folds by the names: cv0.. to cv9..; the fold test_fold for testing, the next one for development",
    files={"polarity2.0.tsv": Expected(7_997_854, "0ec03ec3a14c33d46e99a59bb5b0eb9ce11fb9f07429931aad3a1993cae36d54")},
    convert=_convert,
    originals=("neg/cv*.txt", "pos/cv*.txt"),
    status="run on the original: equal",
)
