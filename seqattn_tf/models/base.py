"""The contract of a model, and the folder that rebuilds it: `config.json`, `model.keras`, `assets/`."""

import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.aside import written_aside

_SYSTEMS: dict[str, type["Model"]] = {}


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a model says, and what it looked at."""

    text: str
    score: float  # log-probability
    alternatives: tuple[tuple[str, float], ...]  # other answers with their scores, best first
    attention: np.ndarray  # [tokens out, tokens in]
    tokens_in: tuple[str, ...]
    tokens_out: tuple[str, ...]


class Model(tf.Module):
    """A whole system: raw input in, `Answer` out.

    A subclass names itself (`system`), holds a Keras `network`, and gives `preprocess`, `serve`, `explain`,
    `settings`, `save_assets` and `rebuild`. What the graph computes (`preprocess`, `serve`) is what is exported.
    """

    system: str
    network: keras.Model

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _SYSTEMS[cls.system] = cls

    def preprocess(self, texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """Raw input to tensors, in the graph."""
        raise NotImplementedError

    def serve(self, texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """Raw input to the named outputs of `serving_default`, in the graph."""
        raise NotImplementedError

    def answer(self, texts: Sequence[str]) -> list[Answer]:
        """Answers to a list of raw inputs, in order."""
        raise NotImplementedError

    def explain(self, text: str) -> Any:
        """A figure that shows what one answer looked at."""
        raise NotImplementedError

    def settings(self) -> dict[str, Any]:
        """What `rebuild` needs besides the network and the assets."""
        raise NotImplementedError

    def save_assets(self, folder: Path) -> None:
        """Write vocabularies and the like."""
        raise NotImplementedError

    @classmethod
    def rebuild(cls, network: keras.Model, assets: Path, settings: dict[str, Any]) -> "Model":
        """The model of a saved folder."""
        raise NotImplementedError

    def save(self, folder: str | os.PathLike[str], record: dict[str, Any] | None = None) -> None:
        """Write the model, with a `record` of where it comes from.

        Each file is replaced whole, and `config.json`, without which a folder is no model, is the last.
        """
        folder = Path(folder)
        (folder / "assets").mkdir(parents=True, exist_ok=True)
        self.save_assets(folder / "assets")
        with written_aside(folder / "model.keras") as aside:
            self.network.save(aside)
        self.save_config(folder, record)

    def save_config(self, folder: Path, record: dict[str, Any] | None) -> None:
        """Write the `config.json` that `load` starts from."""
        config = {"system": self.system, "settings": self.settings(), "record": record or {}}
        with written_aside(folder / "config.json") as aside:
            aside.write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_config(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The `config.json` of a model folder."""
    path = Path(folder) / "config.json"
    if not path.is_file():
        raise ValueError(f"expected a model folder with config.json, model.keras and assets/. Received: {folder}")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON. Received: {error}") from None
    if config.get("system") not in _SYSTEMS:
        raise ValueError(f"{path}: expected a system among {sorted(_SYSTEMS)}. Received: {config.get('system')!r}")
    return config


def load(folder: str | os.PathLike[str]) -> Model:
    """The model of a folder that `Model.save` or a training run wrote.

    Raises:
        ValueError: the folder is not a model's, or a file of it is damaged.
    """
    folder = Path(folder)
    config = read_config(folder)
    try:
        network = keras.models.load_model(folder / "model.keras", compile=False)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{folder / 'model.keras'}: expected a whole Keras file. Received: {error}") from None
    return _SYSTEMS[config["system"]].rebuild(network, folder / "assets", config["settings"])
