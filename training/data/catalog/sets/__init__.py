"""The data sets, one file each; the name of the file is the name of the set."""
