"""Side by side with a peer in one run, as ratios: `python -m benchmarks [NAME ...]`."""
