"""Every layer of the library at once.

A program that loads a `.keras` file imports this, so that Keras knows all our classes:

>>> import keras, seqattn_tf.layers
>>> model = keras.models.load_model("model.keras")  # doctest: +SKIP
"""

from seqattn_tf import attention, cells, decoder, recurrent, structured

__all__ = ["attention", "cells", "decoder", "recurrent", "structured"]
