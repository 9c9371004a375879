"""GloVe word vectors of 100 dimensions, a subset in eight bits."""

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source

dataset = Dataset(
    name="glove",
    title="66 718 word vectors of 100 dimensions",
    recipes=("classify", "entail", "parse", "sentiment", "tag"),
    license="PDDL",
    source=Source(
        "GloVe (Pennington, Socher and Manning, 2014)",
        "not known: a subset of 66 718 words, each vector scaled to int8; the file does not name its original",
        "Public Domain Dedication and License, README.md of the repository",
        "https://github.com/stanfordnlp/GloVe",
    ),
    split="none. The rule of the subset is not known; the checksum identifies it. The recipes read GloVe's text files, "
    "too (--set pretrained_embeddings=FILE), but results may differ",
    files={
        "glove100_subset_int8.npz": Expected(
            6_862_022, "ba7ca676196517f65660a51c448fed4d00eccbda24471088f5e64c79a99300df"
        ),
    },
    status="none: the rule of the subset is not known",
)
