"""Export: SavedModel for TensorFlow Serving and LiteRT for the edge, both verified against the Keras model."""
