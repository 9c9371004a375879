"""The Keras networks inside the models: encoders, attention and decoders combined."""
