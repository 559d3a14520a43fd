"""The posterior of everything: θ, σ, φ and α given comparisons, by Markov chain Monte Carlo."""
