"""What a device needs, without TensorFlow: fields, targets, answers, inference in NumPy and the LiteRT runtime."""
