"""Learning: moments, novel pairs, the ranking matrix, components, the prior; each algorithm is its own module."""
