"""What is served: which models and versions there are, how they are loaded, run, brought together and stopped."""
