"""`fit`: comparisons in, a fitted model out."""

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from mallowmix.checks.data_report import warn_about
from mallowmix.checks.preference_cycles import circle_excess, cycle_in_memory
from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Engine, parallel_map
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.engine.parallel import begun
from mallowmix.engine.selection import EngineName, make_engine
from mallowmix.errors import (
    DataError,
    FitWarning,
    MallowmixWarning,
    Option,
    OptionError,
    check_choice,
    check_count,
    check_flag,
)
from mallowmix.fitting.k_choice import Choice
from mallowmix.fitting.k_search import search_k
from mallowmix.fitting.members import member_fits
from mallowmix.fitting.stacking.learn_predictor import learn_predictor
from mallowmix.learn.bradley_terry_components import learn_scores
from mallowmix.learn.paper.algorithm1 import algorithm_1
from mallowmix.learn.spectral.estimator import fit_spectral
from mallowmix.learn.spectral.fit_notes import with_circle
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fit_options import FitOptions, MethodName, SpectralOptions, as_options
from mallowmix.model.fit_report import ComponentsKind, SpectralTrace
from mallowmix.model.fitted_model import FittedModel
from mallowmix.numerics.randomness import Step, as_key, child_seed
from mallowmix.typing import Progress

MOST_COMPARISONS = 1e10  # they are drawn one by one
MOST_COMPONENTS = 254  # a token's component is held in one byte
Data: TypeAlias = Comparisons | StoredComparisons


def fit(
    comparisons: ComparisonsLike,
    n_components: int | Literal["auto"] = "auto",
    *,
    method: MethodName | FitOptions = "spectral",
    components: ComponentsKind = "mallows",
    n_fits: int = 1,
    predictor: bool = True,
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
    progress: Progress | None = None,
) -> FittedModel:
    """Learn the K shared rankings, their dispersions, and the prior of users' weights.

    Parameters
    ----------
    comparisons : Comparisons or StoredComparisons
        Who preferred what to what, from `read_comparisons` or `Comparisons.from_arrays`, or from
        `store_comparisons` where it does not fit into memory.
    n_components : int or "auto"
        K, the number of shared rankings; "auto" takes the number that `choose_k` recommends
        (method "spectral"), whatever the seed.
    method : {"spectral", "projections"}, SpectralOptions or ProjectionsOptions
        "spectral", near the statistical limit, or "projections", the paper's Algorithm 1; to set
        options of a method, give its `SpectralOptions` or `ProjectionsOptions`.
    components : {"mallows", "bradley-terry"}
        A ranking and a dispersion for each component, or Bradley–Terry scores learnt from there
        on, which are more flexible and have no dispersion.
    n_fits : int
        With more than one, fits of parts of the data with a similar K become the model's
        ensemble: predictions are averaged over all of them.
    predictor : bool
        Also learn what predicts people's answers best (`Predictor`); False gives the components
        alone, which then predict.
    seed : int
        The same seed and data give the same model, on any number of threads.
    n_jobs : int
        How many threads; all cores unless given.
    engine : {"threads", "disk", "dask"} or Engine
        Where passes over users run (`make_engine`); the first three give the same bytes.
    progress : callable
        Called as ``progress(step, done, total)`` during long work.

    Returns
    -------
    FittedModel
        The model; what limits the result is given as a warning and kept in
        ``model.report.notes``.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=200)
    >>> model = mm.fit(dishes.comparisons, 3, method=mm.SpectralOptions(refine="short"))
    >>> model.sigma.shape
    (3, 16)
    """
    comparisons = as_comparisons(comparisons)
    options = as_options(method)
    check_choice("components", components, ("mallows", "bradley-terry"))
    check_count("n_fits", n_fits, 1)
    check_flag("predictor", predictor)
    _check_sizes(comparisons, n_components, options)
    seed = int(as_key(seed))
    stored = isinstance(comparisons, StoredComparisons)
    if stored:
        _check_stored(options, components, n_fits)
    run = make_engine("disk" if engine is None and stored else engine, n_jobs=n_jobs)
    n_beside = 1 if stored else run.n_jobs
    cycle = begun(partial(cycle_in_memory, comparisons), n_beside)
    fingerprint = begun(comparisons.fingerprint, n_beside)

    def one(data: Any, K: int, number: int) -> FittedModel:
        shown = number == 0  # the others only predict
        own = seed if shown else child_seed(seed, Step.MEMBER_FIT, number)
        how = {"chosen": n_components == "auto", "shown": shown}
        model = _learn(data, K, options, own, run, progress if shown else None, **how)
        if number and progress:
            progress("members", number, n_fits - 1)
        if shown and isinstance(options, SpectralOptions) and options.refine == "full":
            model = with_circle(model, cycle())
        return learn_scores(model, data, run) if components == "bradley-terry" else model

    def fold_fit(data: Any, number: int, threads: Engine) -> FittedModel:
        own, K = child_seed(seed, Step.FOLD_FIT, number), model.n_components
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)  # said of all users already
            return _learn(data, min(K, data.n_users), options, own, threads, None, shown=False)

    try:
        each = partial(parallel_map, n_jobs=n_beside)
        warn_about(comparisons.summary() if stored else comparisons, stacklevel=3, each=each)
        # parallelism is ours, over blocks of users; BLAS threads would change the order of sums
        with run.session(comparisons, n_components), threadpool_limits(1):
            choice, K = None, n_components
            if K == "auto":
                choice = search_k(comparisons, engine=run, progress=progress)
                K = choice.k or 1
            model = one(comparisons, int(K), 0)
            members = member_fits(comparisons, model.n_components, n_fits - 1, one, seed)
            learnt = None
            if predictor:
                learnt = learn_predictor(
                    comparisons, model, fold_fit, seed=seed, run=run, progress=progress
                )
    finally:
        if run is not engine:
            run.close()
    for note in model.report.notes:
        warnings.warn(FitWarning(note), stacklevel=2)
    report = replace(
        model.report,
        components=components,
        n_fits=n_fits,
        seed=seed,
        n_users=comparisons.n_users,
        n_comparisons=comparisons.n_comparisons,
        fingerprint=fingerprint(),
        circle_excess=circle_excess(cycle()),
        predictor=learnt[1] if learnt else None,
        spectral=_with_reason(model.report.spectral, choice),
    )
    ensemble = Ensemble(tuple(each.components for each in members))
    return replace(model, report=report, ensemble=ensemble, predictor=learnt[0] if learnt else None)


def _with_reason(trace: SpectralTrace | None, choice: Choice | None) -> SpectralTrace | None:
    return trace if trace is None or choice is None else replace(trace, choice_of_k=choice.reason)


def _learn(
    data: Any,
    K: int,
    options: FitOptions,
    seed: int,
    engine: Engine,
    progress: Progress | None,
    *,
    chosen: bool = False,
    shown: bool = True,
) -> FittedModel:
    if isinstance(options, SpectralOptions):
        how = {"chosen": chosen, "shown": shown, "engine": engine, "progress": progress}
        return fit_spectral(data, K, options, seed=seed, **how)  # type: ignore[arg-type]
    return algorithm_1(data, K, options, seed=seed, engine=engine, progress=progress)


def _check_stored(options: FitOptions, components: str, n_fits: int) -> None:
    """Raise an OptionError for what needs all comparisons in memory."""
    for option, value, possible in (
        ("method", options.method, "spectral"),
        ("components", components, "mallows"),
        ("n_fits", n_fits, 1),
    ):
        if value != possible:
            raise OptionError(
                Option(option, value),
                " needs the comparisons in memory: leave it out, or do not keep them on disk.",
                option=option,
                value=value,
                expected=repr(possible),
            )


def _check_sizes(comparisons: Data, n_components: int | str, options: FitOptions) -> None:
    if not comparisons.user_weight.any():
        raise DataError(
            Option("user_weight"),
            " is 0 for all users: nobody is left to learn from. Give someone a weight above 0.",
        )
    if comparisons.n_comparisons > MOST_COMPARISONS:
        raise DataError(
            f"The weights add up to {comparisons.n_comparisons:.3g} comparisons, of which at most "
            f"{MOST_COMPARISONS:.0g} can be learnt from: a weight says how often a comparison was "
            "made. Divide them all by the same number."
        )
    if (
        isinstance(n_components, str)
        and n_components == "auto"
        and isinstance(options, SpectralOptions)
    ):
        return
    if isinstance(n_components, bool) or not isinstance(n_components, int | np.integer):
        raise OptionError(
            option="n_components",
            value=n_components,
            expected="a whole number of at least 1, or 'auto' with the method 'spectral'",
        )
    check_count("n_components", n_components, 1)
    _check_count(n_components, int(np.count_nonzero(comparisons.user_weight)))


def _check_count(n_components: int, n_users: int) -> None:
    if n_components > MOST_COMPONENTS:
        raise DataError(
            Option("n_components"),
            f" is {n_components}; at most {MOST_COMPONENTS} are supported. Lower it.",
        )
    if n_components > n_users:
        raise DataError(
            f"{n_components} components cannot be distinguished by {n_users:,} users: "
            "there must be at least one for each. Lower ",
            Option("n_components"),
            ", or add users.",
        )
