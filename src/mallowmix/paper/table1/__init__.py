"""Table 1: the ranking mixtures."""
