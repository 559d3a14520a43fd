"""Learn three shared rankings, name them, save them."""

import tempfile
from pathlib import Path

import mallowmix as mm

votes = mm.load_dishes(n_users=100).comparisons
model = mm.fit(votes, 3, predictor=False, seed=0)  # without False, a predictor is learnt, too
model = model.named({1: "comfort"})
with tempfile.TemporaryDirectory() as folder:
    mm.save(model, Path(folder) / "dishes.m4")
    print(mm.load(Path(folder) / "dishes.m4"))
