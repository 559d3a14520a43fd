"""Passes over the users on a GPU."""
