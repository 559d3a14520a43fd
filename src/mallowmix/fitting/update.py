"""`update`: learn on from a fitted model. Its rankings are the start, so the spectral steps are left out."""

import dataclasses
import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mallowmix.checks import warn_about
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels, as_labels, text_of
from mallowmix.engine import Engine, ThreadEngine, make_blocks
from mallowmix.errors import FitWarning
from mallowmix.learn.spectral.estimator import Work, as_model, refine_start
from mallowmix.learn.spectral.mallows_mstep import Columns
from mallowmix.learn.spectral.monte_carlo_em import Progress
from mallowmix.learn.spectral.signed_moment import count_pairs, pair_statistics
from mallowmix.learn.spectral.user_sample import sample_blocks, sampled_share
from mallowmix.learn.spectral.variational_em import variational_em
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import order_of, sigma_of
from mallowmix.numerics.randomness import as_key

_N_ITER = 3  # variational steps: enough to know roughly who follows what
_MIN_SETTLE = (
    2  # cycles of Monte-Carlo EM before the averaging may begin: the start is near the end already
)


def update(
    model: M4,
    comparisons: Comparisons,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> M4:
    """Learn on from a fitted model: the same components, moved to where these comparisons want them.

    model : from `fit`, `load`, or an earlier `update`
    comparisons : all that should count. A model remembers rankings, not votes: pass old and new comparisons together if both
        should count, the new ones alone if the old are out of date
    seed, n_jobs, progress : as in `fit`

    Items that the model does not know are put in the middle of every ranking, from where the likelihood moves them; items that
    nobody compares any more stay where they are among the others. Not for another number of components: `fit` anew.
    """
    seed = int(as_key(seed))
    warn_about(comparisons, stacklevel=3)
    grown, new = with_new_items(model, comparisons.items)
    with threadpool_limits(1):  # as in `fit`
        updated = _refined(
            grown,
            comparisons.with_items(grown.items),
            seed,
            ThreadEngine(n_jobs),
            progress,
            moved=bool(new),
        )
    for note in updated.report["notes"]:
        warnings.warn(note, FitWarning, stacklevel=2)
    origin = {
        "method": "update",
        "of": {
            name: model.report[name]
            for name in ("method", "seed", "fingerprint")
            if name in model.report
        },
        "new_items": new,
        "seed": seed,
        "users": comparisons.n_users,
        "comparisons": comparisons.n_comparisons,
        "fingerprint": comparisons.fingerprint(),
    }
    return dataclasses.replace(updated, report=origin | dict(updated.report))


def with_new_items(model: M4, items: Labels) -> tuple[M4, list[str]]:
    """The model over its own items and those of the list that it lacks, each of these in the middle of every ranking.

    Labels stay in the order of their text, as in a fresh fit. Also gives the new ones, as text.
    """
    known = set(text_of(model.items))
    new = [label for label in items.tolist() if str(label) not in known]
    if not new:
        return model, []
    labels = [*model.items.tolist(), *new]
    by_text = sorted(range(len(labels)), key=lambda i: str(labels[i]))
    middle = model.n_items // 2
    added = np.arange(model.n_items, len(labels), dtype=np.int32)
    order = np.stack([np.r_[row[:middle], added, row[middle:]] for row in order_of(model.sigma)])
    sigma = sigma_of(order)[:, by_text]  # (K, Q) positions, the items in their new order
    texts = _alike([labels[i] for i in by_text])
    return M4(sigma, model.phi, model.alpha, as_labels(texts), model.report), [
        str(label) for label in new
    ]


def _alike(labels: list[Any]) -> list[Any]:
    """Labels of one type as they are, of several types as text: 7 in one table may be "7" in another."""
    return (
        labels if len({type(label) for label in labels}) == 1 else [str(label) for label in labels]
    )


def _refined(
    model: M4,
    votes: Comparisons,
    seed: int,
    engine: Engine,
    progress: Progress | None,
    *,
    moved: bool,
) -> M4:
    """Who follows what, by a few variational steps; then Monte-Carlo EM. The schedule for large data is that of a fresh fit."""
    everybody = make_blocks(votes)
    share = sampled_share(votes.n_comparisons)
    blocks = sample_blocks(everybody, share, seed, engine)
    pairs = pair_statistics(count_pairs(everybody, engine), votes.n_items)
    work = Work(
        blocks, pairs, engine, seed, progress, votes.n_items, {"sampled_share": share, "notes": []}
    )
    columns = Columns(np.array(model.sigma), np.array(model.phi))
    # Expected counts would only blur rankings that are nearly right; but they bring new items from the middle near their place.
    start = variational_em(
        blocks, columns, np.array(model.alpha), engine, n_iter=_N_ITER, move_sigma=moved
    )
    outcome = refine_start(
        work, start, everybody if share < 1 else None, min_settle=_MIN_SETTLE, explore=False
    )
    return as_model(outcome.columns, outcome.alpha, votes, work)
