"""The corpora that recipes know, one file each: public data sets, and data that are generated."""
