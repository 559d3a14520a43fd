"""Data in its normal forms: comparisons, rankings and ratings of many users, their labels, and tables out."""
