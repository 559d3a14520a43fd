"""How many components: by predictions of new users; the same number as ``fit(comparisons)``."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

import numpy as np

from mallowmix.checks.data_report import warn_about
from mallowmix.engine import Engine
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons_in_memory
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import Option, OptionError, check_choice, check_count, shown_value
from mallowmix.fitting.k_choice import Choice as Choice
from mallowmix.fitting.k_choice import KRow as KRow
from mallowmix.fitting.k_search import search_k
from mallowmix.fitting.new_users import N_FOLDS
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Progress


def choose_k(
    comparisons: ComparisonsLike,
    ks: Iterable[int] | None = None,
    *,
    n_folds: int = N_FOLDS,
    refine: Literal["short", "full"] = "short",
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
    progress: Progress | None = None,
) -> Choice:
    """Recommend a number of components, K, with its reason.

    ``fit(comparisons)`` takes this number, as it is without a seed; 1 where nothing can be said.

    Parameters
    ----------
    comparisons : Comparisons, or whatever `read_comparisons` takes
        The data, in memory. Of many comparisons, a sample of the users is used.
    ks : iterable of int, optional
        The numbers to try, as far as users and items allow; one component is always tried too.
        Unless given, numbers from 1 on, as long as the best one lies at the edge of those tried.
    n_folds : int
        Users are split into so many parts, each predicted by a model learnt from the others.
    refine : {"short", "full"}
        How far each model is refined (`SpectralOptions`); "short" distinguishes the numbers as
        well as "full", in a third of the time.
    seed : int
        Of the split of the users: another one shows how much the number depends on who is asked.
        `fit` and the report always have 0, so that one file has one answer.
    n_jobs, engine, progress
        As in `fit`.

    Returns
    -------
    Choice
        With `k`, `reason`, `certain` and `table`.

    Notes
    -----
    The components of each number, without utilities or other members of the predictor, predict
    what is held out of users whom they were not learnt from: pairs of two items that the user was
    not seen to compare, or, of votes, pairs with one such item; of few comparisons several such
    splits count together. Recommended is the smallest number whose difference to the best, paired
    by user, is within one standard error (or below .0005 per comparison). Nobody counts for more
    than three typical users.

    Examples
    --------
    >>> import mallowmix as mm
    >>> data = mm.load_dishes(n_users=6).comparisons
    >>> mm.choose_k(data).reason
    'cannot tell: 6 people are too few to learn from some and test on others.'
    """
    comparisons = as_comparisons_in_memory(comparisons, "The choice of K")
    check_count("n_folds", n_folds, 2)
    check_choice("refine", refine, ("short", "full"))
    wanted = None if ks is None else _checked(ks)
    warn_about(comparisons, stacklevel=3)
    with using(engine, n_jobs) as run:
        found = search_k(
            comparisons,
            wanted,
            n_folds=n_folds,
            refine=refine,
            details=True,
            seed=int(as_key(seed)),
            engine=run,
            learn_on=run,
            progress=progress,
        )
    return replace(found, frame_kind=comparisons.frame_kind)


def _checked(ks: Iterable[int]) -> list[int]:
    if not isinstance(ks, Iterable):
        raise OptionError(option="ks", value=ks, expected="several numbers, as in [1, 2, 3]")
    numbers = list(ks)
    for k in numbers:
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise OptionError(
                Option("ks"),
                f" holds {shown_value(k)}; "
                "the numbers of components to try must be whole and at least 1.",
                option="ks",
                value=k,
                expected="whole numbers of at least 1",
            )
    if not numbers:
        raise OptionError(
            Option("ks"),
            " is empty; give the numbers of components to try, such as 1 to 8.",
            option="ks",
            value=(),
            expected="at least one number of components",
        )
    return [int(k) for k in numbers]
