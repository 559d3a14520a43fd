"""Held-out likelihood: how probable a model finds comparisons that it was not given."""
