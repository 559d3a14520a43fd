"""Inference about users: their weights, predictions, rankings and ratings from a fitted model."""
