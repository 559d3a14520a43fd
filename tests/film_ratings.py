"""A small stand-in for MovieLens that several tests share: two opposite components, 12 films."""

from pathlib import Path

import numpy as np
from scipy.io import savemat

N_FILMS, N_RATERS = 12, 90


def film_ratings(seed: int = 0) -> np.ndarray:
    """(n, 3) user, film, stars: two opposite orders of twelve films; every user rates nine."""
    random = np.random.default_rng(seed)
    rows = []
    for user in range(1, N_RATERS + 1):
        order = np.arange(N_FILMS) if user % 2 else np.arange(N_FILMS)[::-1]
        seen = random.choice(N_FILMS, 9, replace=False)
        mean = 1 + 4 * order[seen] / (N_FILMS - 1)
        stars = np.clip(np.rint(mean + 0.5 * random.normal(size=9)), 1, 5)
        rows.append(np.column_stack([np.full(9, user), 10 + seen, stars]))
    return np.concatenate(rows)


def write_moviedata(folder: Path) -> Path:
    """Write moviedata.mat into a folder: a tenth of the ratings are the test part."""
    rows = film_ratings()
    test = np.random.default_rng(1).permutation(len(rows)) < len(rows) // 10
    parts = {"train_vec": rows[~test].astype(np.uint16), "probe_vec": rows[test].astype(np.uint16)}
    savemat(folder / "moviedata.mat", parts)
    return folder
