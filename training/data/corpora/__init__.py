"""The corpora used by the recipes, one file each: public datasets and generated data."""
