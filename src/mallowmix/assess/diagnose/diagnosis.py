"""`diagnose`: what a model rests on and how far it can be relied on."""

from itertools import combinations
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from mallowmix.assess.diagnose.diagnosis_results import Alike, Diagnosis, NovelPair
from mallowmix.assess.diagnose.disagreement import disagreement, polarising
from mallowmix.assess.diagnose.influence import Influence, activity, most_influential
from mallowmix.assess.one_ranking_gain import MOST_COMPARISONS, against_one
from mallowmix.assess.simulated_error import ExpectedError, expected_error
from mallowmix.checks.preference_cycles import PreferenceCycle, preference_cycle, rates_along
from mallowmix.checks.unsure_components import Doubt, UnsureComponent, unsure_components
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.known_items import known_comparisons_of
from mallowmix.engine import Engine, make_blocks
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons, as_comparisons_in_memory
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import Option, OptionError, check_count, check_flag
from mallowmix.learn.spectral.user_scores import smooth_at
from mallowmix.model.fitted_model import AnyModel, as_fitted, names_in
from mallowmix.model.pair_model import check_model
from mallowmix.model.permutations import kendall
from mallowmix.model.separability import novel_pairs
from mallowmix.numerics.dirichlet import dirichlet_moments
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Progress

_ALIKE = 0.15  # rankings that differ in fewer pairs are looked at
_SWEEPS = 80


def diagnose(
    model: AnyModel,
    comparisons: ComparisonsLike,
    *,
    held_out: ComparisonsLike | None = None,
    refit: bool = True,
    n_simulations: int = 5,
    n_top: int = 5,
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
    progress: Progress | None = None,
) -> Diagnosis:
    """Diagnose a model: separability, calibration, influential users, the error to expect.

    Parameters
    ----------
    model : AnyModel
    comparisons : Comparisons, or whatever `read_comparisons` takes
        Those that the model was learnt from; those from `store_comparisons` are read block by
        block.
    held_out : Comparisons, optional
        Comparisons of other users, to judge the model by as it is.
    refit : bool
        Without `held_out`: learn the model anew from two thirds of the users and judge it by the
        others, each third in turn (`assess.one_ranking_gain.against_one`). If not, or with fewer
        than 30 users or over 5 million comparisons, it is judged by what it has seen, which it
        predicts too well; the result says so.
    n_simulations : int
        How many times the data is drawn anew from the model to see what error to expect; 0 leaves
        that out, as it must be for stored comparisons.
    n_top : int
        How many pairs, items and users to name.
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that the model does not know.
    seed, n_jobs, engine, progress
        As in `fit`.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes()
    >>> some = dishes.comparisons.take_users(range(100))
    >>> found = mm.diagnose(dishes.model, some, n_simulations=0)
    >>> found.polarising_items[0].item
    'ceviche'
    """
    check_model(model)
    comparisons = known_comparisons_of(as_comparisons(comparisons), model.items, unknown_items)
    stored = not isinstance(comparisons, Comparisons)
    check_count("n_simulations", n_simulations, 0)
    check_count("n_top", n_top, 1)
    check_flag("refit", refit)
    if n_simulations and stored:
        raise OptionError(
            Option("n_simulations"),
            " needs the comparisons in memory: set it to 0, or do not keep them on disk.",
            option="n_simulations",
            value=n_simulations,
            expected="0 where comparisons are kept on disk",
        )
    seed, data = int(as_key(seed)), comparisons.with_items(model.items)
    # the last two parts are about Mallows components
    mallows = as_fitted(model).bradley_terry is None
    judged = None if held_out is None else as_comparisons_in_memory(held_out, "What is held out")
    few = comparisons.n_comparisons <= MOST_COMPARISONS
    whole = comparisons.in_memory() if stored and few else comparisons
    cycle = preference_cycle(whole) if few else None
    with using(engine, n_jobs) as run, threadpool_limits(1):
        error = _expected(model, data, n_simulations if mallows else 0, seed, run, progress)
        pairs, items = polarising(model, n_top)
        return Diagnosis(
            *_separability(model),
            condition=_condition(model),
            alike=_alike(model, error),
            disagreement=disagreement(model, data, run),
            polarising_pairs=pairs,
            polarising_items=items,
            predictions=against_one(
                model, whole, held_out=judged, refit=refit, seed=seed, engine=run
            ),
            influential=_influential(model, data, n_top, seed, run) if mallows else (),
            activity=activity(data),
            expected_error=error,
            unsure=_unsure(model, data, cycle),
            cycle=cycle,
            cycle_rates=rates_along(cycle, model) if cycle is not None else (),
            component_names=names_in(model),
            frame_kind=comparisons.frame_kind,
        )


def _expected(
    model: AnyModel,
    data: Comparisons,
    n_simulations: int,
    seed: int,
    engine: Engine,
    progress: Progress | None,
) -> ExpectedError | None:
    if not n_simulations:
        return None
    return expected_error(model, data, n_simulations, seed=seed, engine=engine, progress=progress)


def _influential(
    model: AnyModel, data: Comparisons, n_top: int, seed: int, engine: Engine
) -> tuple[Influence, ...]:
    at, blocks = (model.sigma, model.phi, model.alpha), make_blocks(data)
    smooth = smooth_at(*at, blocks, engine, sweeps=_SWEEPS, seed=seed)
    return most_influential(smooth, data, n_top)


def _separability(model: AnyModel) -> tuple[float | None, tuple[NovelPair, ...]]:
    if model.n_components == 1:
        return None, ()
    names, found = [str(item) for item in model.items.tolist()], novel_pairs(model.beta())
    rows = zip(found.winner, found.loser, found.lam, strict=True)
    pairs = tuple(
        NovelPair(k + 1, names[i], names[j], float(lam))
        for k, (i, j, lam) in enumerate(rows)
        if i >= 0 and float(lam) < 1
    )
    return min(1.0, float(np.max(found.lam))), pairs


def _unsure(
    model: AnyModel, data: Comparisons, cycle: PreferenceCycle | None
) -> tuple[UnsureComponent, ...]:
    found = unsure_components(model, float(data.user_weight.sum()))
    said = any(each.doubt == Doubt.CIRCLE for each in found)  # by the report of the fit
    if said or cycle is None or not cycle.beyond_mixtures:
        return found
    circle = (Doubt.CIRCLE, cycle.excess)
    return *found, *(UnsureComponent(k + 1, *circle) for k in range(model.n_components))


def _condition(model: AnyModel) -> float:
    a, R = dirichlet_moments(model.alpha)
    values = np.linalg.eigvalsh(R / np.outer(a, a))
    return float(values[-1] / values[0])


def _alike(model: AnyModel, error: ExpectedError | None) -> tuple[Alike, ...]:
    """Separated where the distance exceeds twice the sum of the expected errors of the two."""
    expected = error.kendall if error else (0.0,) * model.n_components
    found = []
    for k, other in combinations(range(model.n_components), 2):
        distance = kendall(model.sigma[k], model.sigma[other])
        noise = 2 * (expected[k] + expected[other])
        if distance < max(_ALIKE, noise):
            found.append(Alike(k + 1, other + 1, distance, distance > noise))
    return tuple(found)
