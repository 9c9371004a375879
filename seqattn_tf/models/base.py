"""The contract of a model, and the folder that rebuilds it: `config.json`, weights, `assets/`."""

import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.answer import Answer
from seqattn_tf.aside import write_json, written_aside

WHOLE, COMPACT = "model.keras", "weights.npz"
_SYSTEMS: dict[str, type["Model"]] = {}


class Model(tf.Module):
    """A whole system: raw input in, `Answer` out.

    A subclass names itself (`system`), holds a Keras `network` and gives the methods below down to `rebuild`. What
    takes and returns tensors (`serve`, `serve_tensors`, `serve_ids`, `log_likelihood`) is what is exported.
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

    def serve_tensors(self, ids: tf.Tensor, lengths: tf.Tensor) -> dict[str, tf.Tensor]:
        """The `tensors` form: ids and lengths in, ids out; no strings."""
        raise NotImplementedError

    def serve_ids(self, ids: tf.Tensor) -> dict[str, tf.Tensor]:
        """The same from padded ids alone, in ops that also run on the edge."""
        raise NotImplementedError

    def log_likelihood(self, texts: tf.Tensor, answers: tf.Tensor) -> tf.Tensor:
        """Log-probability of each given answer."""
        raise NotImplementedError

    def answer(self, texts: Sequence[str | bytes]) -> list[Answer]:
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

    def save(self, folder: str | os.PathLike[str], record: dict[str, Any] | None = None, compact: bool = False) -> None:
        """Write the model, with a `record` of where it comes from.

        Each file is replaced whole, and `config.json`, without which a folder is no model, is the last. A `compact`
        model is for shipping: its weights are stored in half precision.
        """
        folder = Path(folder)
        (folder / "assets").mkdir(parents=True, exist_ok=True)
        self.save_assets(folder / "assets")
        config = {"system": self.system, "settings": self.settings(), "record": record or {}}
        if compact:
            config["network"] = keras.saving.serialize_keras_object(self.network)
            with written_aside(folder / COMPACT) as aside:
                weights = {f"{i:04d}": v.numpy().astype("float16") for i, v in enumerate(self.network.weights)}
                np.savez_compressed(aside, **weights)
        else:
            with written_aside(folder / WHOLE) as aside:
                self.network.save(aside)
        write_json(folder / "config.json", config)


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
        network = _unpack(folder, config["network"]) if "network" in config else _load_keras(folder)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{folder}: expected whole weights. Received: {error}") from None
    return _SYSTEMS[config["system"]].rebuild(network, folder / "assets", config["settings"])


def _load_keras(folder: Path) -> keras.Model:
    return keras.models.load_model(folder / WHOLE, compile=False)


def _unpack(folder: Path, network_config: dict[str, Any]) -> keras.Model:
    network = keras.saving.deserialize_keras_object(network_config)
    if not network.built:
        network.build()
    with np.load(folder / COMPACT) as stored:
        network.set_weights([stored[name].astype("float32") for name in sorted(stored.files)])
    return network
