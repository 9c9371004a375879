"""Multi30k: captions of photographs in German and English, raw text."""

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source, copied

_PARTS = ("train", "val", "test_2016_flickr", "test_2017_flickr")
_NAMES = tuple(f"{part}.{language}" for part in _PARTS for language in ("de", "en"))

dataset = Dataset(
    name="multi30k",
    title="German and English captions",
    recipes=("translate",),
    license="research",
    source=Source(
        "Multi30k (Elliott and others, 2016), task 1, raw text",
        "equals data/task1/raw at commit a3d2e0d2; those files have not changed since 2020-11-09",
        "none stated for the texts; the photographs of Flickr30K are for non-commercial research and education",
        "https://github.com/multi30k/dataset",
    ),
    split="29 000 training and 1 014 development pairs, 1 000 test pairs of 2016 and 1 000 of 2017, as distributed; "
    "select with --set test=test_2016",
    files={
        "train.de": Expected(2_110_398, "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72"),
        "train.en": Expected(1_801_238, "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6"),
        "val.de": Expected(75_981, "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660"),
        "val.en": Expected(63_297, "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227"),
        "test_2016_flickr.de": Expected(70_649, "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16"),
        "test_2016_flickr.en": Expected(62_076, "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182"),
        "test_2017_flickr.de": Expected(64_059, "c3078bc3b36808bf9d20eb2347ed6137016179ef59ec0d2b9b8ecc3fb2880081"),
        "test_2017_flickr.en": Expected(55_242, "ce1450ddc5ab0834502579d77a170849952e15a2938b34cc503bdc25ebb4fb98"),
    },
    convert=copied({name: f"raw/{name}" for name in _NAMES}),
    originals=tuple(f"raw/{name}" for name in _NAMES),
    status="run on the original: all eight files equal",
)
