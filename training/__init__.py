"""Training: data sources, recipes, runs with Keras `fit`, metrics."""
