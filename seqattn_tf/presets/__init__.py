"""The models that ship with the package, and models opened by name."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from seqattn_tf.core.registry import suggest

if TYPE_CHECKING:
    from seqattn_tf.models import Model
    from seqattn_tf.presets.instant import InstantModel

FOLDER = Path(__file__).resolve().parent
LITE = "lite"  # the folder in a preset with its LiteRT export
ENGINES = ("auto", "litert", "keras")


def presets() -> list[str]:
    """Return the names of the models that ship with the package."""
    return sorted(config.parent.name for config in FOLDER.glob("*/config.json"))


def find(name: str | os.PathLike[str]) -> Path:
    """Return the folder of a model, given the name of a preset or the path of a run.

    >>> find("pronounce").name
    'pronounce'
    """
    if str(name) in presets():
        return FOLDER / str(name)
    if (Path(name) / "config.json").is_file():
        return Path(name)
    if (Path(name) / "checkpoints").is_dir():
        raise ValueError(f"model: expected a run with a finished epoch. Received: {name}; train it again to resume")
    near = suggest(name, presets())
    raise ValueError(
        f"model: expected one of the presets {presets()} or the folder of a run. Received: {str(name)!r}{near}"
    )


def check_engine(engine: str) -> None:
    """Check that there is an engine with this name."""
    if engine not in ENGINES:
        raise ValueError(f"engine: expected one of {', '.join(ENGINES)}. Received: {engine!r}")


def lite_folder(name: str | os.PathLike[str], engine: str = "auto") -> Path | None:
    """Return the folder with the LiteRT export of a model, or None if Keras answers.

    Args:
        name: A preset, or the folder of a run.
        engine: `auto` for LiteRT where the model has it, `litert`, or `keras`.
    """
    check_engine(engine)
    folder = find(name) / LITE
    if engine != "keras" and folder.is_dir():
        return folder
    if engine == "litert":
        raise ValueError(
            f"engine: expected keras for a model without a LiteRT file. Received: {engine!r}; "
            "open an export with seqattn_tf.lite.LiteModel"
        )
    return None


@overload
def open_model(name: str | os.PathLike[str], engine: Literal["keras"]) -> "Model": ...
@overload
def open_model(name: str | os.PathLike[str], engine: Literal["litert"]) -> "InstantModel": ...
@overload
def open_model(name: str | os.PathLike[str], engine: str = "auto") -> "Model | InstantModel": ...
def open_model(name: str | os.PathLike[str], engine: str = "auto") -> "Model | InstantModel":
    """Open a model.

    A preset is opened with LiteRT: at once, without TensorFlow, and with weights in eight bits, so that its numbers are
    close to those of the Keras model. The Keras model can also be trained, exported and opened with other settings.

    Args:
        name: A preset, or the folder of a run, which is opened with Keras.
        engine: `auto` for LiteRT where the model has it, `litert`, or `keras`.

    >>> open_model("pronounce").answer(["hello"])[0].text
    'HH AH L OW'
    """
    folder = lite_folder(name, engine)
    if folder is not None:
        from seqattn_tf.presets.instant import InstantModel

        return InstantModel(folder)
    from seqattn_tf.models import load

    return load(find(name))
