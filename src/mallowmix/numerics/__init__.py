"""Numerical tools: random numbers, the Dirichlet distribution, simplex regression, best rankings."""
