"""How many components the data speak for, and why."""

import mallowmix as mm

votes = mm.load_dishes(n_users=150).comparisons
choice = mm.choose_k(votes, [1, 2, 3], seed=0)
print(choice.reason)
print(choice.to_frame("pandas")[["k", "log_likelihood_per_comparison"]])
