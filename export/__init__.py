"""Export: SavedModel and LiteRT, verified against the Keras model."""
