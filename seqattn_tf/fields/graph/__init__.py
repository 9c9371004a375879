"""Fields inside a TensorFlow graph, the twins of those in `fields`."""
