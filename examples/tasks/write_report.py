"""One page to send. Without the last four options it takes longer, and says how sure it is."""

import tempfile
from pathlib import Path

import mallowmix as mm

dishes = mm.load_dishes(n_users=60, per_user=20)
quick = {"n_replicates": 0, "choose_k": False, "refit": False, "n_simulations": 0}
report = mm.make_report(dishes.model, dishes.comparisons, title="Dishes", **quick)
with tempfile.TemporaryDirectory() as folder:
    page = Path(folder) / "dishes.html"
    report.save(page)
    print(f"{page.name}: {page.stat().st_size / 1e6:.0f} MB")
