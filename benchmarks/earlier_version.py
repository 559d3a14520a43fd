"""CPU-seconds of a fit by another version of the package, from a checkout of it.

git worktree add DIR COMMIT     makes such a checkout; its fits run in a process of their own, with
the packages of this one.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import mallowmix as mm

# a fit of a part of the people compiles; nothing but what every version has is called
_FIT = """
import sys, time, warnings
import numpy as np
import mallowmix as mm
warnings.simplefilter("ignore")
if not mm.__file__.startswith(sys.argv[3]):
    sys.exit("no mallowmix in its folder src")
rows = np.load(sys.argv[1])
K, few = int(sys.argv[2]), rows["user"] < 200
given = [rows[name] for name in ("user", "winner", "loser")]
mm.fit(mm.Comparisons.from_arrays(*(each[few] for each in given)), K, n_jobs=1)
comparisons = mm.Comparisons.from_arrays(*given)
begin = time.process_time()
mm.fit(comparisons, K, n_jobs=1)
print(time.process_time() - begin)
"""


def seconds_of(checkout: Path, comparisons: mm.Comparisons, n_components: int) -> float:
    """CPU-seconds of `fit` with a given number of components, by the version in a folder."""
    user = np.repeat(np.arange(comparisons.n_users), np.diff(comparisons.starts()))
    winner, loser = np.divmod(comparisons.pair, comparisons.n_items)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "rows.npz", user=user, winner=winner, loser=loser)
        source = str((checkout / "src").resolve())
        command = [sys.executable, "-c", _FIT, "rows.npz", str(n_components), source]
        path = {"PYTHONPATH": source}
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        run = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | path | threads,
            capture_output=True,
            text=True,
            check=False,
        )
    if run.returncode:
        raise SystemExit(f"The version in {checkout} does not fit: {run.stderr.strip()[-300:]}")
    return float(run.stdout.split()[-1])
