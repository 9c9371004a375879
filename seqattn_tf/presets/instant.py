"""A LiteRT export with the interface of a Keras model: it answers at once, and draws what an answer attends to."""

from collections.abc import Mapping, Sequence
from typing import Any

from seqattn_tf.lite import LiteModel


class InstantModel(LiteModel):
    """A LiteRT export with the interface of a Keras model. Thread-safe.

    Args:
        folder: The `lite` folder of an export, or a copy of it.
        threads: The number of threads of the interpreter.
    """

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the model, which only the Keras model can change."""
        return dict(self.manifest["settings"])

    @property
    def attention_maps(self) -> Mapping[str, str | Sequence[str]]:
        """The queries of each attention map, by the name of the map."""
        return dict(self.manifest["attention_maps"])

    @property
    def score_meaning(self) -> str:
        """The quantity by which the answer and its alternatives are ranked."""
        return str(self.manifest["score_meaning"])

    def explain(self, row: Any, look: str = "") -> Any:
        """Draw what the answer to one row attends to, by the attention map with this name or by the first map."""
        from seqattn_tf.explain import draw_row  # matplotlib, which answers do not need

        return draw_row(self, row, look)
