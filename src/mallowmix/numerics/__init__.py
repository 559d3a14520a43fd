"""Numerical tools: random numbers, Dirichlet distributions, simplex regression, best rankings."""
