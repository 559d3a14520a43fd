"""Table 2: ratings of MovieLens predicted."""
