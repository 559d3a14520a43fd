"""Data in normal form: comparisons, rankings and ratings of many users, labels, and tables out."""
