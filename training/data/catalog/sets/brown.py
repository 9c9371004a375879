"""The Brown corpus: 500 documents of 1961, tagged, in one file."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source
from seqattn_tf.training.data.catalog.originals import Originals


def _convert(originals: Originals) -> Iterator[tuple[str, bytes]]:
    """Join the documents: a line `### NAME CATEGORY`, then one tagged sentence per line."""
    named = originals.read(originals.one("brown/cats.txt")).decode("latin-1").split("\n")
    categories = {cells[0]: cells[1] for line in named if len(cells := line.split()) == 2}
    lines = []
    for path, data in sorted(originals.contents("brown/c[a-r][0-9][0-9]")):
        name = PurePosixPath(path).name
        if name not in categories:
            raise ValueError(f"{path}: expected a document listed in cats.txt. Received: {name}")
        lines.append(f"### {name} {categories[name]}")
        sentences = (" ".join(line.split()) for line in data.decode("latin-1").split("\n"))
        lines += filter(None, sentences)
    yield "brown.tagged.txt", "".join(f"{line}\n" for line in lines).encode()


dataset = Dataset(
    name="brown",
    title="57 340 tagged sentences",
    recipes=("word_lm",),
    license="non-commercial",
    source=Source(
        "Brown corpus (Francis and Kucera, 1964; revised 1979), as packaged by nltk_data",
        "equals packages/corpora/brown.zip at commit 5db857e6 (2023-02-02)",
        "may be used for non-commercial purposes, packages/corpora/brown.xml of nltk_data",
        "https://github.com/nltk/nltk_data",
    ),
    split="by position, in the proportions of Bengio and others (2003): of 1 181 words, 800 for training, 200 for "
    "development and 181 for testing",
    files={"brown.tagged.txt": Expected(9_925_672, "2f3a0afcde7a23909490f3ecd87bf5f6729506a978e4b543eca6b6bcef6bc888")},
    convert=_convert,
    originals=("brown/cats.txt", "brown/c[a-r][0-9][0-9]"),
    status="run on the original: equal",
)
