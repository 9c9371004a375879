"""The Stanford Sentiment Treebank: sentences as trees with a sentiment at every node."""

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source, copied

_PLACES = {name: f"trees/{name}" for name in ("train.txt", "dev.txt", "test.txt")}

dataset = Dataset(
    name="sst",
    title="sentences as trees with sentiments",
    recipes=("sentiment",),
    license="not stated",
    source=Source(
        "Stanford Sentiment Treebank (Socher and others, 2013), the trees of train.txt, dev.txt and test.txt",
        "not numbered",
        "unknown, says the dataset card of stanfordnlp/sst",
        "https://huggingface.co/datasets/stanfordnlp/sst",
    ),
    split="8 544 training, 1 101 development and 2 210 test trees, as distributed",
    files={
        "train.txt": Expected(2_160_058, "e2f3f41b0b1e6d4dddc0effe3bfc2d27ed8928079aa9a03d652311614fc5feb7"),
        "dev.txt": Expected(280_825, "0e9336aed6e4730e19f58d00a77b3f0297efdb755f7b5e598c98a05e3f97ea40"),
        "test.txt": Expected(559_614, "6e54806dee95cf80cd918e7dfb3f6770f6df24bf826f289a4d1f709e1c8f6761"),
    },
    convert=copied(_PLACES),
    originals=tuple(_PLACES.values()),
    status="run on a copy of the three original files in a third repository: all equal",
)
