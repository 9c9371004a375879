"""The foundations of the package: masks, time loops, matrix products, registries of classes, and atomic writes."""
