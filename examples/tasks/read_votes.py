"""Read choices from any file or table, and see what they can support."""

import mallowmix as mm

rows = [("ann", "tea", "coffee"), ("ann", "tea", "milk"), ("bob", "coffee", "tea")]
votes = mm.read_comparisons(rows)  # or a path: "votes.csv", "battles.parquet", "ballots.soi"
print(votes.n_users, "people,", votes.n_items, "items,", votes.n_comparisons, "comparisons")
for limit in mm.check(votes, n_components=2).warnings:
    print("-", limit)
