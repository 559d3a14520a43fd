"""How many components: by predictions of new users, by agreement of two halves, by the spectrum."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mallowmix.checks import warn_about
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.splits import counted_users, split_users
from mallowmix.engine import Engine, make_blocks
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons_in_memory
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import MallowmixWarning, Option, OptionError, check_at_least, shown_value
from mallowmix.fitting.fit import fit
from mallowmix.fitting.k_choice import Choice, KRow
from mallowmix.fitting.k_rules import Evidence, difference, ratio, recommend
from mallowmix.infer.heldout.held_out_rows import predict_held_out
from mallowmix.learn.spectral.number_of_components import ComponentCount, count_components
from mallowmix.learn.spectral.signed_moment import count_pairs
from mallowmix.learn.spectral.subspace import pair_statistics
from mallowmix.learn.spectral.user_sample import sample_users, sampled_share
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.permutations import match_components
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Array, Progress

_LEAST_USERS = 8  # fewer cannot be split into folds and halves


def choose_k(
    comparisons: ComparisonsLike,
    ks: Iterable[int] = range(1, 9),
    *,
    n_folds: int = 3,
    refine: Literal["short", "full"] = "short",
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
    progress: Progress | None = None,
) -> Choice:
    """Recommend a number of components, K, with its reason.

    Parameters
    ----------
    comparisons : Comparisons, or whatever `read_comparisons` takes
        The data, in memory.
    ks : iterable of int
        The numbers to try, as far as users and items allow; one component is always tried too.
    n_folds : int
        Users are split into so many parts, each predicted by a model learnt from the others.
    refine : {"short", "full"}
        How far each model is refined (`SpectralOptions`); "short" distinguishes the numbers as
        well as "full", in a third of the time.
    seed, n_jobs, engine, progress
        As in `fit`.

    Returns
    -------
    Choice
        With `k`, `reason`, `certain` and `table`.

    Notes
    -----
    A number of components is supported when each of them is found again in both halves of the
    users (three pairs in four in the same order), its last eigenvalue is above the noise, and it
    predicts new users better than a coin (by two standard errors). Of the supported numbers the
    smallest is recommended that predicts as well as the best of them, to one standard error of
    the difference, paired by user.

    Examples
    --------
    >>> import mallowmix as mm
    >>> data = mm.load_dishes(n_users=6).comparisons
    >>> mm.choose_k(data).reason
    'cannot tell: 6 people are too few to learn from some and test on others.'
    """
    comparisons = as_comparisons_in_memory(comparisons, "The choice of K")
    wanted = _checked(ks, n_folds)
    seed = int(as_key(seed))
    warn_about(comparisons, stacklevel=3)
    users = counted_users(comparisons)
    if users.n_users < _LEAST_USERS:
        return Choice(
            None,
            f"cannot tell: {users.n_users} people are too few "
            "to learn from some and test on others.",
            False,
            (),
        )
    tried = [k for k in sorted({1, *wanted}) if k <= _most(users)]
    with using(engine, n_jobs) as run:
        work = _Work(users, n_folds, refine, seed, run, progress, (n_folds + 2) * len(tried))
        spectrum = _spectrum(work, tried[-1])
        found = [_evidence(work, k, spectrum) for k in tried]
    k, reason, certain = recommend(found, spectrum.n_components)
    best = max(found, key=lambda row: row.mean)
    return Choice(
        k, reason, certain, tuple(_row(row, best) for row in found if row.k in {*wanted, k})
    )


@dataclass
class _Work:
    """The users, how to split them and learn, and how many of the models are done."""

    users: Comparisons
    n_folds: int
    refine: Literal["short", "full"]
    seed: int
    engine: Engine
    progress: Progress | None
    total: int
    done: int = 0

    def learn(self, who: NDArray[np.bool_], k: int) -> FittedModel:
        """A model of k components from some of the users; warnings about a part are left out."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            model = fit(
                self.users.take_users(who),
                k,
                method=SpectralOptions(refine=self.refine),
                predictor=False,
                seed=self.seed,
                engine=self.engine,
            )
        self.done += 1
        if self.progress:
            self.progress("models", self.done, self.total)
        return model


def _checked(ks: Iterable[int], n_folds: int) -> list[int]:
    check_at_least("n_folds", n_folds, 2)
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


def _most(users: Comparisons) -> int:
    """The largest K that half of the users and the number of pairs allow."""
    n_pairs = users.n_items * (users.n_items - 1) // 2
    return max(1, min(users.n_users // 2, n_pairs + 1))


def _spectrum(work: _Work, most: int) -> ComponentCount:
    """The leading eigenvalues of the signed moment of all users, and the noise edge."""
    engine, blocks = work.engine, make_blocks(work.users)
    pairs = pair_statistics(count_pairs(blocks, engine), work.users.n_items)
    share = sampled_share(work.users.n_comparisons)
    sampled = [sample_users(block, share, work.seed) for block in blocks]
    with threadpool_limits(1):  # as in `fit`
        return count_components(sampled, pairs, engine, most=most, seed=work.seed)


def _evidence(work: _Work, k: int, spectrum: ComponentCount) -> Evidence:
    scores, shares = _held_out(work, k)
    value = float(spectrum.values[k - 2]) if 2 <= k <= len(spectrum.values) + 1 else None
    return Evidence(k, scores, _agreements(work, k), float(np.mean(shares)), value, spectrum.edge)


def _held_out(work: _Work, k: int) -> tuple[Array, list[float]]:
    """(M, 2) held-out scores times user_weight, and the smallest share of each fold's model."""
    fold = split_users(work.users.n_users, work.n_folds, seed=work.seed)
    scores, shares = np.zeros((work.users.n_users, 2)), []
    for f in range(work.n_folds):
        model = work.learn(fold != f, k)
        held_out = predict_held_out(
            model, work.users.take_users(fold == f), seed=work.seed, engine=work.engine
        )
        scores[fold == f] = held_out.per_user(int(np.count_nonzero(fold == f)))
        shares.append(float(model.share.min()))
    return scores * work.users.user_weight[:, None], shares


def _agreements(work: _Work, k: int) -> tuple[float, ...]:
    """Models of either half of the users, matched: 1 − Kendall's fraction, most first."""
    half = split_users(work.users.n_users, 2, seed=work.seed, draw=1)
    one, other = (work.learn(half == h, k) for h in (0, 1))
    return tuple(
        sorted((1 - match_components(one.sigma, other.sigma).kendall).tolist(), reverse=True)
    )


def _row(row: Evidence, best: Evidence) -> KRow:
    mean, error = ratio(row.scores)
    gap, gap_error = difference(row, best) if row is not best else (0.0, 0.0)
    return KRow(
        row.k,
        mean,
        error,
        gap,
        gap_error,
        row.agreements[-1],
        row.agreements,
        row.smallest_share,
        row.eigenvalue,
        row.edge,
    )
