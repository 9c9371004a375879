"""Benchmarks against other implementations in the same run, as ratios: `python -m benchmarks [NAME ...]`."""
