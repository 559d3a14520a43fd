"""How sure shares and positions are; 200 replicates or more for intervals to rely on."""

import mallowmix as mm

votes = mm.load_dishes(n_users=150).comparisons
model = mm.fit(votes, 3, predictor=False, seed=0)
found = mm.intervals(model, votes, 20, seed=0)
print(found.to_frame("pandas").query("quantity == 'share'"))
