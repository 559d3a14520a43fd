"""Learning a model from comparisons: the spectral estimator, and the paper's algorithms."""
