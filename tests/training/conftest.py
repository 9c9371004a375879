"""In this folder, models answer step by step, unless a test is marked `traced`."""

from support.step_by_step import as_traced, eagerly, step_by_step  # noqa: F401
