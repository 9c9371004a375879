"""Tiny Shakespeare: 1.1 million characters of plays."""

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source, copied

dataset = Dataset(
    name="shakespeare",
    title="plays, as one text",
    recipes=("char_lm", "dialog"),
    license="not stated",
    source=Source(
        "tiny Shakespeare, part of char-rnn (A. Karpathy)",
        "equals data/tinyshakespeare/input.txt at commit 6f9487a6 (2016-04-30)",
        "none stated by the repository",
        "https://github.com/karpathy/char-rnn",
    ),
    split="by position. Characters: the first 5 % development, the last 10 % test. Speeches: 80 %, 10 %, 10 %",
    files={
        "input.txt": Expected(1_115_394, "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"),
    },
    convert=copied({"input.txt": "tinyshakespeare/input.txt"}),
    originals=("tinyshakespeare/input.txt",),
    status="run on the original: equal",
)
