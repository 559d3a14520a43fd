"""Which system predicts held-out choices best, on the same people."""

import mallowmix as mm

votes = mm.load_dishes(n_users=150).comparisons
found = mm.compare(votes, 3, systems=["m4-one", "bradley-terry", "borda"], n_splits=1, seed=0)
print(found.to_frame("pandas")[["name", "log_loss"]])
