"""Exports of other tools: each file turns one of them into a table of a form that is read."""
