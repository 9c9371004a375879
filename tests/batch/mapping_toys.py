"""Example texts."""

TEXTS = [" ".join(["the dog", "barks", "a cat", "sleeps", "not bad", "rare"][: 1 + i % 6]) + f" {i}" for i in range(50)]
