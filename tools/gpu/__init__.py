"""Trainings on a GPU machine that has JAX but no TensorFlow: `python -m tools.gpu --help`, and docs/gpu.md."""
