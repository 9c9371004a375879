"""CoNLL-2000: sentences of the Wall Street Journal with chunks."""

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source, copied

dataset = Dataset(
    name="conll2000",
    title="sentences with chunks",
    recipes=("tag",),
    license="not stated",
    source=Source(
        "CoNLL-2000 shared task (Tjong Kim Sang and Buchholz), as packaged by nltk_data",
        "equals packages/corpora/conll2000.zip at commit 5db857e6 (2023-02-02)",
        "none stated; the text is part of the Wall Street Journal corpus",
        "https://github.com/nltk/nltk_data",
    ),
    split="8 936 training and 2 012 test sentences, as distributed; the recipe holds development sentences out by hash",
    files={
        "train.txt": Expected(2_842_164, "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea"),
        "test.txt": Expected(639_396, "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628"),
    },
    convert=copied({name: f"conll2000/{name}" for name in ("train.txt", "test.txt")}),
    originals=("conll2000/train.txt", "conll2000/test.txt"),
    status="run on the original: both files equal",
)
