"""Inference: a fitted model and a person's comparisons in, that person's weights out."""
