"""Planted rankings found again: our own table."""
