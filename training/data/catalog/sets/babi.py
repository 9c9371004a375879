"""bAbI: stories with questions, twenty tasks with 1 000 training questions each."""

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source

dataset = Dataset(
    name="babi",
    title="stories with questions, 20 tasks",
    recipes=("answer",),
    license="CC BY 3.0",
    source=Source(
        "bAbI tasks 1-20 (Weston and others, 2015), Facebook AI Research",
        "version 1.2, as the archive's name tasks_1-20_v1-2 says; not compared with the original archive",
        "Creative Commons Attribution 3.0, LICENSE.txt of the archive",
        "https://research.facebook.com/downloads/babi/",
    ),
    split="1 000 training and 1 000 test questions per task, as distributed; the recipe holds a tenth of the training "
    "questions out for development, by hash",
    files={
        "en/qa*_train.txt": Expected(
            2_947_923,
            "92905848e01ce1b86c42403d9b274d82ebd9edbd9b663a674e805da5036ebf69",
            pattern=r"((.*/)?en/)?qa\d+_[a-z-]+_train\.txt",
            count=20,
        ),
        "en/qa*_test.txt": Expected(
            2_949_964,
            "d5b4719ffbed986f8801e224f4db15eae2dbb0088e75fa6c25bd512ea52ef567",
            pattern=r"((.*/)?en/)?qa\d+_[a-z-]+_test\.txt",
            count=20,
        ),
    },
    status="none needed: the recipe reads the original archive; not compared with it, because it was not at hand",
    archives=r"tasks_1-20.*\.tar(\.gz|\.xz|\.bz2)?",
    folders=("en",),
)
