"""The version of the storage format of models, runs and exports."""

from collections.abc import Mapping
from typing import Any

WHOLE, COMPACT = "model.keras", "weights.npz"  # the weights of a saved model: as Keras writes them, or compressed
MODEL_FILES = ("config.json", WHOLE, COMPACT, "assets")  # the files of a saved model that determine its answers
FORMAT = 1  # incremented when the previous release cannot read the new form of folders


def check_format(where: object, stored: Mapping[str, Any], advice: str) -> None:
    """Check that a folder has the current format.

    Args:
        where: The name of the folder in error messages.
        stored: Its `config.json` or manifest.
        advice: How to update an older folder.
    """
    found = stored.get("format", 0)
    if found != FORMAT:
        newer = isinstance(found, int) and found > FORMAT
        todo = "install a newer seqattn-tf" if newer else advice
        raise ValueError(f"{where}: expected format {FORMAT}. Received: {found!r:.20}; {todo}")
