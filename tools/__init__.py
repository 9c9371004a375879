"""Programs for developers, which are not part of the package; run them from the root of the repository."""
