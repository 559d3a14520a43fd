"""`fit`: comparisons in, a fitted M4 out."""

import dataclasses
import inspect
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from mallowmix.checks import warn_about
from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Engine
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.engine.selection import EngineName, make_engine
from mallowmix.errors import DataError, FitWarning, OptionError, check_at_least, check_choice
from mallowmix.fitting.members import further_fits
from mallowmix.learn.bradley_terry_components import with_scores
from mallowmix.learn.paper.algorithm1 import fit_projections
from mallowmix.learn.spectral.estimator import fit_spectral
from mallowmix.model.m4 import M4
from mallowmix.numerics.randomness import as_key

Method = Literal["spectral", "projections"]
METHODS: dict[str, Callable[..., M4]] = {"spectral": fit_spectral, "projections": fit_projections}
MOST_COMPARISONS = 1e10  # they are drawn one by one
MOST_COMPONENTS = 254  # a token's component is held in one byte


def fit(
    comparisons: Comparisons | StoredComparisons,
    n_components: int | Literal["auto"],
    *,
    method: Method = "spectral",
    columns: Literal["mallows", "bt"] = "mallows",
    n_fits: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,
) -> M4:
    """Learn the K shared rankings, their dispersions, and the prior of people's weights.

    comparisons : who preferred what to what, from `read_comparisons` or `Comparisons.from_arrays`, or from `store_comparisons`
        where it does not fit into memory
    n_components : K, the number of shared rankings; "auto" reads it off the spectrum (method "spectral")
    method : "spectral", near the statistical limit (further options: refine, vertices; see `learn.spectral.estimator.fit_spectral`), or
        "projections", the paper's Algorithm 1 (n_projections, zeta, tol, metric, min_count, dispersion; see
        `learn.paper.algorithm1.fit_projections`)
    columns : "mallows", a ranking and a dispersion for each component; or "bt", Bradley–Terry scores learnt from there on
        (`learn.bradley_terry_components`), which bend more and have no dispersion
    n_fits : with more than one, further fits of parts of the data, with neighbouring K, go into `model.others`: predictions are
        averaged over all of them (`fitting.members`), which is what a prediction on real people gains most from
    seed : the same seed and data give the same model, on any number of threads
    n_jobs : how many threads; all cores unless given
    engine : where passes over people run: "threads" (the default), "disk" (for stored comparisons, within a bound of
        memory, going on after a kill), "dask" (a cluster), "gpu" (a card), or an engine made with options (`docs/scale.md`). The
        first three give the same bytes
    progress : called as progress(step, done, total) during long work

    Whatever limits the answer is given as a warning and kept in `model.report["notes"]`.
    """
    check_choice("method", method, tuple(METHODS))
    check_choice("columns", columns, ("mallows", "bt"))
    check_at_least("n_fits", n_fits, 1)
    _check_options(method, options)
    _check_sizes(comparisons, n_components, method)
    seed = int(as_key(seed))
    stored = isinstance(comparisons, StoredComparisons)
    _check_stored(stored, method, columns, n_fits)
    warn_about(comparisons.summary() if stored else comparisons, stacklevel=3)
    run = make_engine(engine or ("disk" if stored else None), n_jobs=n_jobs)

    def one(votes: Any, K: int | Literal["auto"], number: int) -> M4:
        told = progress if number == 0 else None
        model = METHODS[method](
            votes, K, seed=(seed + number) % 2**64, engine=run, progress=told, **options
        )
        if number and progress:
            progress("further fits", number, n_fits - 1)
        return with_scores(model, votes, run) if columns == "bt" else model

    try:
        # parallelism is ours, over blocks of people; BLAS threads would change the order of sums
        with run.session(comparisons, n_components), threadpool_limits(1):
            model = one(comparisons, n_components, 0)
            others = further_fits(comparisons, model.n_components, n_fits - 1, one, seed)  # type: ignore[arg-type]
    finally:
        if run is not engine:
            run.close()
    for note in model.report.get("notes", []):
        warnings.warn(note, FitWarning, stacklevel=2)
    chosen = (
        options
        | ({"columns": columns} if columns != "mallows" else {})
        | ({"n_fits": n_fits} if n_fits > 1 else {})
    )
    origin = {
        "method": method,
        "options": {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in sorted(chosen.items())
        },
        "seed": seed,
        "users": comparisons.n_users,
        "comparisons": comparisons.n_comparisons,
        "fingerprint": comparisons.fingerprint(),
    }
    return dataclasses.replace(model, report=origin | dict(model.report), others=tuple(others))


def _check_stored(stored: bool, method: str, columns: str, n_fits: int) -> None:
    """What goes over everybody more often, or keeps more of them, than data on disk allows."""
    if stored and (method != "spectral" or columns != "mallows" or n_fits > 1):
        wanted = (
            f"method {method!r}"
            if method != "spectral"
            else 'columns="bt"'
            if columns != "mallows"
            else f"n_fits={n_fits}"
        )
        raise OptionError(
            f"{wanted} needs the comparisons in memory: read them with read_comparisons, or leave it out."
        )


def _check_sizes(
    comparisons: Comparisons | StoredComparisons, n_components: int | str, method: str
) -> None:
    if not comparisons.user_weight.any():
        raise DataError(
            "user_weight is 0 for everybody: nobody is left to learn from. Give someone a weight above 0."
        )
    if comparisons.n_comparisons > MOST_COMPARISONS:
        raise DataError(
            f"The weights add up to {comparisons.n_comparisons:.3g} comparisons, of which at most {MOST_COMPARISONS:.0g} can be "
            "learnt from: a weight says how often a comparison was made. Divide them all by the same number."
        )
    if n_components == "auto" and method == "spectral":
        return
    if isinstance(n_components, bool) or not isinstance(n_components, int | np.integer):
        also = ', or "auto" with method "spectral"'
        raise OptionError(
            f"n_components is {n_components!r}; it must be a whole number of at least 1{also}."
        )
    check_at_least("n_components", n_components, 1)
    M = int(np.count_nonzero(comparisons.user_weight))
    if n_components > min(M, MOST_COMPONENTS):
        if n_components > MOST_COMPONENTS:
            raise DataError(
                f"n_components is {n_components}; at most {MOST_COMPONENTS} are supported. Lower it."
            )
        reason = f"{n_components} components cannot be told apart from {M:,} users: there must be a person for each at least."
        raise DataError(f"{reason} Lower the number of components, or add people.")


def _check_options(method: str, options: dict[str, Any]) -> None:
    """A misspelt option as one sentence, before any work."""
    known = set(inspect.signature(METHODS[method]).parameters) - {
        "comparisons",
        "n_components",
        "seed",
        "engine",
        "progress",
    }
    for name in options:
        if name not in known:
            raise OptionError(
                f"method {method!r} has no option {name!r}; it has {', '.join(sorted(known))}."
            )
