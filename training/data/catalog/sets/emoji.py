"""Emoji as pictures of 32 x 32 pixels, with names in three languages."""

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source

dataset = Dataset(
    name="emoji",
    title="3 786 emoji with names in three languages",
    recipes=("caption",),
    license="not checked",
    source=Source(
        "pictures that resemble Noto Emoji's, names that resemble those of Unicode's CLDR",
        "not known: no picture equals the one that we made from png/32 or png/128 of noto-emoji at commit b3e3051a",
        "Apache-2.0 if the pictures are Noto Emoji's (README.md of its repository), Unicode's for the names; "
        "not checked",
        "https://github.com/googlefonts/noto-emoji",
    ),
    split="by a hash of the emoji without its skin tone: 5 % development, 10 % test, the rest training",
    files={
        "emoji32.npz": Expected(3_134_646, "aeba586c3740928f033078f7d9e2eeb7402e2c91a9645c77850f943920b32e6e"),
        "names.json": Expected(1_157_300, "0c67c54732a6670e6dfbf8b5571bccf9f5c4141783490a6a120a5479ea72f58e"),
    },
    status="none: how the pictures were reduced is not known",
)
