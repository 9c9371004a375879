"""The networks that systems are made of: what reads, what looks, what says."""
