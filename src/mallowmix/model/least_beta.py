"""The least β of each step: how far pairwise probabilities are kept from 0 and 1, and why.

At φ = 0 a comparison against every reference ranking would have probability 0, and one such
comparison would outweigh all others. The bound differs by what a step does with β.
"""

INFERENCE = 1e-4
"""Inference about users, held-out likelihoods and scores: small enough that no probability of a
fitted model is changed by more than its last printed digit."""

EXPECTED_COUNTS = 1e-4
"""EM on expected counts (variational EM, mixtures): as small, since φ is learnt with it."""

DIRECT_LIKELIHOOD = 1e-3
"""Gibbs sweeps and the tabulated likelihood, whose nodes end at β = 9e-4: with a smaller bound
single draws would decide."""
