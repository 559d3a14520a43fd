"""`update`: learn on from a fitted model, whose rankings are the initialisation."""

import warnings
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from mallowmix.checks.data_report import warn_about
from mallowmix.checks.preference_cycles import circle_excess, cycle_in_memory
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels, as_labels, text_of
from mallowmix.engine import Engine, make_blocks
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import DataError, FitWarning
from mallowmix.fitting.stacking.learn_predictor import learn_predictor
from mallowmix.learn.spectral.estimator import (
    as_model,
    by_share,
    fit_spectral,
    new_fit_state,
)
from mallowmix.learn.spectral.fit_notes import named_notes, with_circle
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.refinement import early_users, refine
from mallowmix.learn.spectral.variational_em import variational_em
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.fit_report import UpdateOrigin
from mallowmix.model.fitted_model import AnyModel, FittedModel, as_fitted
from mallowmix.model.m4 import M4
from mallowmix.model.pair_model import check_model
from mallowmix.model.permutations import order_of, sigma_of
from mallowmix.numerics.randomness import Step, as_key, child_seed
from mallowmix.typing import Progress

_N_ITER = 3  # variational steps: enough to know roughly which components users follow
# cycles of Monte-Carlo EM before averaging may begin: the initialisation is near the end already
_MIN_BURN_IN = 2


def update(
    model: AnyModel,
    comparisons: ComparisonsLike,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
    progress: Progress | None = None,
) -> FittedModel:
    """Learn on from a fitted model: the same components, refined on these comparisons.

    Items that the model does not have are put in the middle of every ranking, from where the
    likelihood moves them; items that are in no comparison keep their positions among the others.
    The number of components stays; for another one, `fit` again. Where the model has a predictor, a
    new one is learnt from these comparisons.

    Parameters
    ----------
    model : FittedModel or M4
        From `fit`, `load`, or an earlier `update`.
    comparisons : Comparisons, or whatever `read_comparisons` takes
        All that should count. A model holds rankings, not comparisons: pass old and new ones
        together if both should count, the new ones alone if the old are out of date.
    seed, n_jobs, engine, progress
        As in `fit`.

    Returns
    -------
    FittedModel
        A new model; `model` is not changed.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=100)
    >>> model = mm.update(dishes.model, dishes.comparisons)
    >>> model.report.method
    'update'
    """
    check_model(model)
    comparisons = as_comparisons(comparisons)
    fitted, seed = as_fitted(model), int(as_key(seed))
    stored = isinstance(comparisons, StoredComparisons)
    warn_about(comparisons.summary() if stored else comparisons, stacklevel=3)
    grown, new = with_new_items(fitted.m4, comparisons.items)
    if len(new) == len(comparisons.items):
        raise DataError(
            f"The model has none of the {len(new)} items of these comparisons, such as {new[0]!r}; "
            "there is nothing to continue: learn another model of them with fit."
        )
    data = comparisons.with_items(grown.items)

    def fold_fit(part: Comparisons, number: int, threads: Engine) -> FittedModel:
        # from nothing: the model may have seen the users that are held out
        own, K = child_seed(seed, Step.FOLD_FIT, number), min(grown.n_components, part.n_users)
        return fit_spectral(part, K, shown=False, seed=own, engine=threads)

    with using(engine, n_jobs) as run, threadpool_limits(1):  # as in `fit`
        named = FittedModel(grown, component_names=fitted.component_names)
        updated = refine_from(named, data, seed, run, progress, move_sigma=bool(new))
        updated = with_circle(updated, cycle := cycle_in_memory(data))
        learnt = None
        if fitted.predictor is not None:
            learnt = learn_predictor(data, updated, fold_fit, seed=seed, run=run, progress=progress)
    before = fitted.report
    origin = UpdateOrigin(before.method or None, before.seed, before.fingerprint, tuple(new))
    report = replace(
        updated.report,
        method="update",
        options=None,
        update=origin,
        seed=seed,
        n_users=comparisons.n_users,
        n_comparisons=comparisons.n_comparisons,
        fingerprint=comparisons.fingerprint(),
        circle_excess=circle_excess(cycle),
        predictor=learnt[1] if learnt else None,
    )
    found = replace(updated, report=report, predictor=learnt[0] if learnt else None)
    for note in named_notes(found):
        warnings.warn(FitWarning(note), stacklevel=2)
    return found


def with_new_items(model: M4, items: Labels) -> tuple[M4, list[str]]:
    """Add items to a model, in the middle of every ranking.

    Parameters
    ----------
    model : M4
        The model.
    items : labels
        Those that the model lacks are added.

    Returns
    -------
    model, new : M4, list of str
        The model with all items in the order of their text, as in a fresh fit; and the new ones.
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
    texts = _of_one_type([labels[i] for i in by_text])
    grown = M4(sigma, model.phi, model.alpha, as_labels(texts))
    return grown, [str(label) for label in new]


def _of_one_type(labels: list[object]) -> list[object]:
    """Labels of one type unchanged, of several types as text: 7 may be "7" in another table."""
    one = len({type(label) for label in labels}) == 1
    return labels if one else [str(label) for label in labels]


def refine_from(
    model: FittedModel,
    data: Comparisons,
    seed: int,
    engine: Engine,
    progress: Progress | None = None,
    *,
    move_sigma: bool = False,
    shown: bool = True,
) -> FittedModel:
    """A few variational steps, then Monte-Carlo EM; large data are sampled as in a fresh fit.

    Components come out in the order of their shares, and take their names with them.

    Parameters
    ----------
    model : FittedModel
        Where to begin, with all items of the data.
    data : Comparisons
    seed : int
    engine : Engine
    progress : callable, optional
    move_sigma : bool
        Whether the variational steps move the rankings too: where there are new items.
    shown : bool
        As in `fit_spectral`.
    """
    all_blocks = make_blocks(data)
    work = new_fit_state(data, all_blocks, engine, seed, progress)
    components = MallowsComponents(np.array(model.sigma), np.array(model.phi))
    # Expected counts would only blur rankings that are nearly right; but they bring new items
    # from the middle near their positions.
    early = early_users(work)
    first = variational_em(
        early.blocks,
        components,
        np.array(model.alpha),
        engine,
        n_iter=_N_ITER,
        move_sigma=move_sigma,
    )
    sampled = work.trace.sampled_share < 1
    everyone = all_blocks if sampled else None
    brief = {"min_burn_in": _MIN_BURN_IN, "explore": False}
    outcome = refine(work, early, first, everyone, shown=shown, **brief)
    found = as_model(outcome.components, outcome.alpha, data, work, SpectralOptions())
    order, names = by_share(outcome.alpha), model.component_names
    return replace(found, component_names=tuple(names[k] for k in order) if names else ())
