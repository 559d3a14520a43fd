"""The predictor: members of three kinds, learnt on folds of users, pooled by stacking."""
