"""Checks shared by the families of layers: masks, short sequences, gradients, XLA, precision, saving, export."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.checks.base import Checks, Problem, expect, expect_close, expect_stored

LENGTHS = (5, 3, 1, 0)
BATCH, TIME, WIDTH = len(LENGTHS), max(LENGTHS), 4
MASK = np.arange(TIME) < np.array(LENGTHS)[:, None]  # [batch, time], True = keep
_STEP = 1e-5  # step size of finite differences
RESERVED = 3  # the number of ids in a vocabulary that are not symbols


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Return normally distributed numbers in float64, the same at every call."""
    return np.random.default_rng(seed).normal(size=shape)


class LayerChecks(Checks):
    """Checks of a layer that reads a masked sequence.

    Subclasses set `family` and define `layer`, `arrays` and `call`, and for saving and export also `model` and
    `system`.
    """

    family: ClassVar[type]
    masked: ClassVar[int] = 0  # the index in `arrays` of the masked array
    half: ClassVar[float] = 0.1  # the tolerance of half precision against single precision
    needs_every_weight: ClassVar[bool] = False  # whether every weight must influence the outputs

    # How the layer is called

    def clone(self, part: Any, changes: dict[str, Any]) -> Any:
        """Return a new part with changes to its configuration; a `dtype` also applies to its inner parts."""
        config = {**part.get_config(), **changes}
        return type(part).from_config(_in_precision(config, changes["dtype"]) if "dtype" in changes else config)

    def layer(self, dtype: str) -> Any:
        """Return a new built layer of this precision with the part inside."""
        raise NotImplementedError

    def arrays(self) -> list[np.ndarray]:
        """Return the inputs of the layer in float64."""
        raise NotImplementedError

    def call(self, layer: Any, arrays: Sequence[tf.Tensor], mask: tf.Tensor) -> list[tf.Tensor]:
        """Return the outputs, those with one entry per position first."""
        raise NotImplementedError

    def alone(self, arrays: Sequence[np.ndarray], row: int, length: int) -> list[np.ndarray]:
        """Return the arrays of one row without its padding."""
        return [
            array[row : row + 1, :length] if place == self.masked else array[row : row + 1]
            for place, array in enumerate(arrays)
        ]

    def without_padding(self, outputs: Sequence[tf.Tensor], row: int, length: int) -> list[tf.Tensor]:
        """Return the outputs of one row of a batch, without those at its padding."""
        raise NotImplementedError

    def model(self) -> tuple[keras.Model, list[np.ndarray]]:
        """Return a Keras model with the part, and inputs for it."""
        raise NotImplementedError

    def system(self) -> Any:
        """Return a small `Model` with the part, to be exported."""
        raise NotImplementedError

    # Helpers

    def made(self, dtype: str = "float64") -> Any:
        """Return a new layer with normally distributed weights."""
        layer = self.layer(dtype)
        for number, weight in enumerate(layer.trainable_variables):
            weight.assign(0.7 * normal(*weight.shape, seed=10 + number))
        return layer

    def constants(self, dtype: str = "float64", dirty: bool = False) -> list[tf.Tensor]:
        """Return the arrays as tensors, with NaN in the padding if `dirty`."""
        arrays = self.arrays()
        if dirty:
            arrays[self.masked] = np.where(MASK[..., None], arrays[self.masked], np.nan)
        return [tf.constant(array, dtype) for array in arrays]

    def names_of(self, outputs: Sequence[tf.Tensor]) -> list[str]:
        """Return the names of the outputs for messages."""
        return [f"output {number}" for number in range(len(outputs))]

    # Checks

    def check_configuration(self) -> None:
        """Check that `get_config` contains every constructor argument and `from_config` accepts them."""
        expect_stored(self.part, self.family, self.clone)

    def check_mask(self) -> None:
        """Check that each row of a batch equals that row alone without its padding, whatever the padding contains."""
        layer = self.made()
        outputs = self.call(layer, self.constants(dirty=True), tf.constant(MASK))
        for row, length in enumerate(LENGTHS):
            if length:
                alone = [tf.constant(array) for array in self.alone(self.arrays(), row, length)]
                expected = self.call(layer, alone, tf.ones([1, length], tf.bool))
                found = self.without_padding(outputs, row, length)
                for name, one, other in zip(self.names_of(found), found, expected, strict=True):
                    expect_close(one, other, 1e-8, f"{name} of a row of length {length} in a batch with longer rows")

    def check_empty_rows(self) -> None:
        """Check that a fully masked row gives zeros, never NaN."""
        outputs = self.call(self.made(), self.constants(dirty=True), tf.constant(MASK))
        for name, output in zip(self.names_of(outputs), outputs, strict=True):
            empty = output[LENGTHS.index(0)].numpy()
            expect((empty == 0).all(), f"{name} of a fully masked row: expected zeros. Received: {empty.ravel()[:3]}")

    def check_short_sequences(self) -> None:
        """Check that lengths 1 and 0 give the same in a graph with unknown shapes as in eager execution."""
        layer = self.made()
        specs = [tf.TensorSpec([None] * (one.shape.rank - 1) + [one.shape[-1]], one.dtype) for one in self.constants()]
        mask = tf.TensorSpec([None, None], tf.bool)
        traced = tf.function(lambda kept, *arrays: self.call(layer, arrays, kept), input_signature=[mask, *specs])
        for length in (TIME, 1, 0):
            arrays = [tf.constant(array) for array in self.shortened(length)]
            kept = tf.constant(MASK[:, :length])
            expected = self.call(layer, arrays, kept)
            for name, one, other in zip(self.names_of(expected), traced(kept, *arrays), expected, strict=True):
                expect_close(one, other, 1e-8, f"{name} of length {length} in a graph with unknown shapes")

    def shortened(self, length: int) -> list[np.ndarray]:
        """Return the arrays truncated to this length."""
        return [array[:, :length] if place == self.masked else array for place, array in enumerate(self.arrays())]

    def loss(self, outputs: Sequence[tf.Tensor]) -> tf.Tensor:
        """Return a scalar that depends on all outputs."""
        return tf.add_n([tf.reduce_sum(tf.sin((1.0 + i) * one)) for i, one in enumerate(outputs)])

    def check_gradients(self) -> None:
        """Check that gradients equal finite differences, are zero at the padding, and finite even if it is NaN.

        If every weight is needed, as in cells, no gradient may be entirely zero.
        """
        layer = self.made()
        others = [variable.value for variable in layer.non_trainable_variables]
        weights = [tf.constant(variable.numpy()) for variable in layer.trainable_variables]
        count = len(self.arrays())

        @tf.function(autograph=False)
        def loss(*given: tf.Tensor) -> tf.Tensor:
            mapping = list(zip(layer.trainable_variables, given[count:], strict=True))
            mapping += list(zip(layer.non_trainable_variables, others, strict=True))
            with keras.StatelessScope(state_mapping=mapping):
                return self.loss(self.call(layer, given[:count], tf.constant(MASK)))

        given = [*self.constants(dirty=True), *weights]
        names = [*(f"input {i}" for i in range(count)), *(variable.path for variable in layer.trainable_variables)]
        with tf.GradientTape() as tape:
            tape.watch(given)
            value = loss(*given)
        gradients = [tf.convert_to_tensor(one) for one in tape.gradient(value, given, unconnected_gradients="zero")]
        for name, gradient in zip(names, gradients, strict=True):
            finite = np.isfinite(gradient).all()
            expect(finite, f"gradient of {name}: expected finite numbers with NaN in the padding. Received: NaN")
            used = not self.needs_every_weight or not np.size(gradient) or np.any(gradient)
            expect(used, f"gradient of {name}: expected nonzero values. Received: zeros, as if it were unused")
        at_padding = gradients[self.masked].numpy()[~MASK]
        expect((at_padding == 0).all(), "gradient at the padding: expected zeros. Received: nonzero values")
        given = [*self.constants(), *weights]
        expect_slopes(loss, given, gradients, 1e-6)

    def check_xla(self) -> None:
        """Check that outputs and gradients are the same when compiled by XLA."""
        layer = self.made()

        def run(*arrays: tf.Tensor) -> tuple[list[tf.Tensor], Any]:
            with tf.GradientTape() as tape:
                tape.watch(arrays)
                outputs = self.call(layer, arrays, tf.constant(MASK))
                value = self.loss(outputs)
            return outputs, tape.gradient(value, arrays, unconnected_gradients="zero")

        found = tf.nest.flatten(tf.function(run, jit_compile=True, autograph=False)(*self.constants()))
        expected = tf.nest.flatten(run(*self.constants()))
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            expect_close(one, other, 1e-10, f"output or gradient {number} compiled by XLA")

    def check_mixed_precision(self) -> None:
        """Check that half precision returns half precision, with numbers close to those in single precision."""
        single = self.made("float32")
        expected = self.call(single, self.constants("float32"), tf.constant(MASK))
        for dtype in ("mixed_bfloat16", "mixed_float16"):
            half = self.layer(dtype)
            half.set_weights(single.get_weights())
            outputs = self.call(half, self.constants("float32"), tf.constant(MASK))
            for name, one, other in zip(self.names_of(outputs), outputs, expected, strict=True):
                wanted = dtype.removeprefix("mixed_")
                expect(one.dtype.name == wanted, f"{name} in {dtype}: expected {wanted}. Received: {one.dtype.name}")
                expect_close(tf.cast(one, tf.float32), other, self.half, f"{name} in {dtype}")

    def check_saving(self) -> None:
        """Check that a Keras model with the layer can be fitted, and saved and loaded with the same outputs."""
        model, arrays = self.model()
        inputs = arrays[0] if len(arrays) == 1 else arrays
        model.compile("adam", "mse", jit_compile=False)
        model.fit(inputs, np.ones(model(inputs).shape), verbose=0)
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "m.keras")
            again = keras.models.load_model(Path(folder) / "m.keras")
        expect_close(again(inputs), model(inputs), 1e-6, "outputs of the loaded model")

    def check_exports(self) -> None:
        """Check that a system with the layer can be exported as SavedModel and LiteRT with the same results."""
        export_system(self.system())


def expect_slopes(
    loss: Callable[..., tf.Tensor], given: Sequence[tf.Tensor], gradients: Sequence[tf.Tensor], tolerance: float
) -> None:
    """Raise a problem unless gradients equal finite differences along two random directions."""
    for direction in range(2):
        moves = [tf.constant(normal(*one.shape, seed=100 * direction + i)) for i, one in enumerate(given)]
        above, below = (
            loss(*(one + sign * _STEP * move for one, move in zip(given, moves, strict=True))) for sign in (1, -1)
        )
        slope = sum(float(tf.reduce_sum(one * move)) for one, move in zip(gradients, moves, strict=True))
        expect_close(slope, float(above - below) / (2 * _STEP), tolerance, "gradient against finite differences")


def _in_precision(config: Any, dtype: str) -> Any:
    """Return the configuration of a layer with its precision, and that of the layers inside it, replaced."""
    if isinstance(config, dict):
        return {name: dtype if name == "dtype" else _in_precision(one, dtype) for name, one in config.items()}
    return [_in_precision(one, dtype) for one in config] if isinstance(config, list) else config


def export_system(system: Any) -> None:
    """Export a system in both forms to a temporary folder, which verifies them."""
    from seqattn_tf.export.package import export_model

    with tempfile.TemporaryDirectory() as folder:
        try:
            export_model(system, Path(folder) / "model", {})
        except ValueError as error:
            raise Problem(str(error)) from None


def pairs(**settings: Any) -> Any:
    """Return a small system from letters to letters with these parts."""
    from seqattn_tf.lite.fields import Text
    from seqattn_tf.lite.targets import Symbols
    from seqattn_tf.lite.text import SymbolRules
    from seqattn_tf.models import EncoderDecoder, Seq2Seq

    letters = SymbolRules(tuple("abc"))
    sizes: dict[str, Any] = {
        "units": WIDTH,
        "embedding": WIDTH,
        "encoder": "forward",
    }  # values as wide as queries, as `dot` requires
    network = EncoderDecoder.of_symbols(letters.size, letters.size, **sizes, **settings)
    return Seq2Seq(spread(network), {"text": Text(letters, 12)}, Symbols(letters, 4))


def spread(network: Any) -> Any:
    """Set every weight to normally distributed numbers, so that answers differ and there are no near ties."""
    if not network.built:
        network.build()
    for number, weight in enumerate(network.trainable_variables):
        weight.assign(normal(*weight.shape, seed=number))
    return network
