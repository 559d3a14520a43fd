"""How many components: new people predicted, components found again in both halves of the people, and the spectrum."""

import math
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mallowmix.checks import warn_about
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.splits import counted_users, split_users
from mallowmix.data.text import percent, table_of
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import MallowmixWarning, Option, OptionError, check_at_least, shown_value
from mallowmix.fitting.fit import fit
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

_LEAST_PEOPLE = 8  # fewer cannot be cut into folds and halves that say anything


@dataclass(frozen=True)
class KRow:
    """What speaks for one number of components.

    log_likelihood_per_comparison : of held-out comparisons of people the model was not learnt
    from (a coin has −log 2), with its
        standard_error over people
    difference : to the best number tried, 0 for that one; difference_error is its standard error,
    by pairing people
    agreement : two halves of the people, a model from each, components matched: the fraction of
    pairs of items that the two put
        in the same order, for the component that agrees least (a guess agrees in .5)
    agreements : the same for every component, most first
    smallest_share : of a component, the mean over the folds
    eigenvalue : the last one that this many components need, the (k−1)-th; None for one component
    noise_edge : what an eigenvalue must pass to be more than noise
    """

    k: int
    log_likelihood_per_comparison: float
    standard_error: float
    difference: float
    difference_error: float
    agreement: float
    agreements: tuple[float, ...]
    smallest_share: float
    eigenvalue: float | None
    noise_edge: float


@dataclass(frozen=True)
class Choice:
    """A number of components, and why.

    k : None only where nothing can be said: no number of rankings, not even one, predicts new
    people better than a coin and is
        found again in both halves of them
    reason : one sentence; "cannot tell: …" where k is None
    certain : the spectrum alone shows the same number, fewer components predict worse and none
    better, by two standard errors
    table : one row for each number tried
    """

    k: int | None
    reason: str
    certain: bool
    table: tuple[KRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """The choice as plain JSON values."""
        return {
            "k": self.k,
            "reason": self.reason,
            "certain": self.certain,
            "table": [_plain(asdict(row)) for row in self.table],
        }

    def _repr_html_(self) -> str:
        """The reason and the table, for notebooks."""
        headings = (
            "K",
            "log-likelihood per comparison",
            "to the best",
            "give or take",
            "agreement",
            "smallest share",
        )
        return table_of(headings, [_cells(row, row.k == self.k) for row in self.table], self.reason)


def _cells(row: KRow, chosen: bool) -> list[str]:
    values = (
        f"{row.log_likelihood_per_comparison:.4f}",
        f"{row.difference:+.4f}",
        f"{row.difference_error:.4f}",
    )
    cells = [str(row.k), *values, f"{row.agreement:.2f}", percent(row.smallest_share)]
    return [f"<strong>{cell}</strong>" for cell in cells] if chosen else cells


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """No infinite error (of a single person) in JSON."""
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }
    return finite | {"agreements": list(row["agreements"])}


def choose_k(
    comparisons: Comparisons,
    ks: Iterable[int] = range(1, 9),
    *,
    n_folds: int = 3,
    refine: Literal["short", "full"] = "short",
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Choice:
    """Recommend a number of components, K, with its reason.

    ks : the numbers to try, as far as people and items allow; one component is always tried too,
    as what more must beat
    n_folds : people are split into so many parts, each predicted by a model learnt from the others
    refine : how far each model is refined (`fit`); "short" tells numbers apart as well as "full",
    in a third of the time
    seed, n_jobs, progress : as in `fit`

    A number of components is supported when each of them is found again in both halves of the
    people (three pairs in four in the same order), its last eigenvalue is above the noise, and it
    predicts new people better than a coin (by two standard errors). Of the supported numbers the
    smallest is recommended that predicts as well as the best of them, to one standard error of
    the difference, paired by person.
    """
    wanted = _checked(ks, n_folds)
    seed = int(as_key(seed))
    warn_about(comparisons, stacklevel=3)
    people = counted_users(comparisons)
    if people.n_users < _LEAST_PEOPLE:
        return Choice(
            None,
            f"cannot tell: {people.n_users} people are too few to learn from some and test on others.",
            False,
            (),
        )
    tried = [k for k in sorted({1, *wanted}) if k <= _most(people)]
    work = _Work(people, n_folds, refine, seed, n_jobs, progress, (n_folds + 2) * len(tried))
    spectrum = _spectrum(work, tried[-1])
    found = [_evidence(work, k, spectrum) for k in tried]
    k, reason, certain = recommend(found, spectrum.n_components)
    best = max(found, key=lambda row: row.mean)
    return Choice(
        k, reason, certain, tuple(_row(row, best) for row in found if row.k in {*wanted, k})
    )


@dataclass
class _Work:
    """The people, how to cut and learn, and how many of the models are done."""

    people: Comparisons
    n_folds: int
    refine: Literal["short", "full"]
    seed: int
    n_jobs: int | None
    progress: Progress | None
    total: int
    done: int = 0

    def learn(self, who: NDArray[np.bool_], k: int) -> FittedModel:
        """A model of k components from some of the people; what limits a fold is not worth a warning."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            model = fit(
                self.people.take_users(who),
                k,
                method=SpectralOptions(refine=self.refine),
                seed=self.seed,
                n_jobs=self.n_jobs,
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
                f" holds {shown_value(k)}; the numbers of components to try must be whole and at least 1.",
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


def _most(people: Comparisons) -> int:
    """The largest number that can be tried: half of the people must hold one for each, K − 1 directions need as many pairs."""
    n_pairs = people.n_items * (people.n_items - 1) // 2
    return max(1, min(people.n_users // 2, n_pairs + 1))


def _spectrum(work: _Work, most: int) -> ComponentCount:
    """The eigenvalues of everybody's signed moment, one more than the largest number tried needs, and the noise edge."""
    engine, blocks = ThreadEngine(work.n_jobs), make_blocks(work.people)
    pairs = pair_statistics(count_pairs(blocks, engine), work.people.n_items)
    share = sampled_share(work.people.n_comparisons)
    sampled = [sample_users(block, share, work.seed) for block in blocks]
    with threadpool_limits(1):  # as in `fit`
        return count_components(sampled, pairs, engine, most=most, seed=work.seed)


def _evidence(work: _Work, k: int, spectrum: ComponentCount) -> Evidence:
    scores, shares = _held_out(work, k)
    value = float(spectrum.values[k - 2]) if 2 <= k <= len(spectrum.values) + 1 else None
    return Evidence(k, scores, _agreements(work, k), float(np.mean(shares)), value, spectrum.edge)


def _held_out(work: _Work, k: int) -> tuple[Array, list[float]]:
    """(M, 2) everybody's score when held out, weighted by user_weight, and the smallest share in each fold's model."""
    fold = split_users(work.people.n_users, work.n_folds, seed=work.seed)
    scores, shares = np.zeros((work.people.n_users, 2)), []
    for f in range(work.n_folds):
        model = work.learn(fold != f, k)
        held_out = predict_held_out(
            model, work.people.take_users(fold == f), seed=work.seed, n_jobs=work.n_jobs
        )
        scores[fold == f] = held_out.per_user(int(np.count_nonzero(fold == f)))
        shares.append(float(model.share.min()))
    return scores * work.people.user_weight[:, None], shares


def _agreements(work: _Work, k: int) -> tuple[float, ...]:
    """Models from either half of the people, matched: 1 − Kendall's fraction of each couple, most first."""
    half = split_users(work.people.n_users, 2, seed=work.seed, draw=1)
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
