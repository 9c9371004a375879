"""All layers of the library in one import.

Import this module before loading a `.keras` file, so that Keras can find all our classes:

>>> import keras, seqattn_tf.layers
>>> model = keras.models.load_model("model.keras")  # doctest: +SKIP
"""

from seqattn_tf import attention, cells, decoders, recurrent, structured

__all__ = ["attention", "cells", "decoders", "recurrent", "structured"]
