"""A LiteRT export at work, on a device without TensorFlow: with NumPy, and ai-edge-litert or tflite-runtime.

model = LiteModel("lite/pronounce")
model.answer(["hello"])[0].text
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from seqattn_tf.answer import Answer
from seqattn_tf.export import manifest
from seqattn_tf.text.rules import PAD, SymbolRules, as_texts

try:
    from ai_edge_litert.interpreter import Interpreter
except ImportError:  # the older name of the same thing, which small boards have
    from tflite_runtime.interpreter import Interpreter


class LiteModel:
    """Answers like the Keras model, one text after the other.

    Args:
        folder: the `lite/NAME` of an export.
        threads: that the interpreter may use.
    """

    def __init__(self, folder: str | Path, threads: int = 1) -> None:
        folder = Path(folder)
        self.manifest = manifest.read(folder)
        self.max_source = self.manifest["settings"]["max_source"]
        self.source, self.target = (SymbolRules.load(folder / f"{side}.json") for side in ("source", "target"))
        try:
            self.interpreter = Interpreter(str(folder / "model.tflite"), num_threads=threads)
            self.run = self.interpreter.get_signature_runner("tensors")
        except (ValueError, RuntimeError) as error:
            raise ValueError(f"{folder / 'model.tflite'}: expected a whole LiteRT file. Received: {error}") from None

    def answer(self, texts: Sequence[str | bytes]) -> list[Answer]:
        """The answer to each text.

        Raises:
            ValueError: something other than a sequence of strings, or a text that is too long.
        """
        return [self._answer(text) for text in as_texts(texts)]

    def _answer(self, text: str) -> Answer:
        tokens, ids = self.source.tokens(text), self.source.encode(text)
        if len(ids) > self.max_source:
            raise ValueError(f"text: expected at most {self.max_source} symbols. Received: {len(ids)}")
        try:
            found = self.run(ids=np.array([ids or [PAD]], np.int32))
        except RuntimeError as error:
            raise ValueError(f"text: expected one that this model can read. Received: {text!r:.80}, {error}") from None
        said = found["tokens"][0, : int(found["lengths"][0])]
        return Answer(
            text=self.target.decode(said),
            score=float(found["score"][0]),
            alternatives=(),
            attention=found["attention"][0, : len(said), : len(ids)],
            tokens_in=tuple(tokens),
            tokens_out=tuple(self.target.names(said)),
        )
