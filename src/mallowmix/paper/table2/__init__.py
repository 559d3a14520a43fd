"""Table 2."""
