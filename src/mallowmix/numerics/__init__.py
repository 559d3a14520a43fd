"""Numerical tools that know nothing of people or rankings: random numbers, the Dirichlet, regression on the simplex."""
