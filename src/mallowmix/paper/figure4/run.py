"""Figure 4: held-out comparisons of MovieLens, new people told from those learnt from, M4 beside TM and others for several K.

Learnt from the users numbered up to 4000, at most 300 comparisons of each, asked of the rest, on the 200 most rated films. Two
estimates of the log-likelihood per comparison: document completion (half of a person's comparisons predicted from the other half),
and the likelihood of all of a person's comparisons together by left-to-right, the paper's kind, on some of the people, since it
is slow.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from mallowmix._version import __version__
from mallowmix.assess.thinning import thinned
from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.fit import fit
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.heldout.heldout_options import LeftToRightOptions
from mallowmix.infer.heldout.heldout_scores import NOBODY, Heldout, floored_beta, summary
from mallowmix.infer.heldout.left_to_right import left_to_right
from mallowmix.infer.prepared_model import PreparedModel, prepare
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.fit_report import ComponentsKind
from mallowmix.model.fitted_model import AnyModel, FittedModel, with_scores
from mallowmix.model.table_model import TableModel
from mallowmix.numerics.randomness import Step, generator
from mallowmix.paper.experiment import Experiment, Request, Row, key
from mallowmix.paper.figure4.report import report
from mallowmix.paper.movielens_files import read_films
from mallowmix.peers.btl import em
from mallowmix.peers.mallows_mixture import MixtureOfMallows, at_vertices
from mallowmix.peers.tm import TM, floored
from mallowmix.peers.tm import rounded as with_phi_0
from mallowmix.readers.movielens import first_users, movielens_comparisons
from mallowmix.readers.rating_forms import capped

_STEP = Step.FIGURE_4
N_ITEMS, N_FIRST, KS, QUICK_KS = 200, 4000, (5, 10, 15, 20, 25), (5, 10)
# people for left-to-right, of those with at most so many comparisons
MOST_ASKED, MOST_COMPARISONS = (200, 600)
QUICK_ASKED, QUICK_LEARNT = 60, 1500
_EM_STEPS = 20  # of the mixture of BTL, from the columns of the mixed-membership fit
CAP = 20.0  # the say of a person in learning, in independent comparisons
# comparisons of a person that are learnt from: with that say, more take longer and hardly tell more
LEARNT_OF_ONE = 300
# candidates for TM's ε, by training people alone
FLOORS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
COLUMNS = (
    "system",
    "k",
    "size",
    "method",
    "log_likelihood",
    "standard_error",
    "users",
    "comparisons",
    "version",
)
# a fit
SHARING = (
    ("M4", "TM"),
    ("TM, not rounded",),
    ("mixed-membership BTL", "mixture of BTL"),
    ("mixture of Mallows",),
)
METHODS = ("completion", "left-to-right")
MIXTURES = ("mixture of Mallows", "mixture of BTL")  # everybody holds one component


class Task(NamedTuple):
    """A system with K components, quick or whole, and how it is scored. One ranking for all is M4 with K = 1."""

    system: str
    k: int
    size: str
    method: str

    @property
    def key(self) -> tuple[str, ...]:
        """What its row is known by."""
        return key(*self)


class People(NamedTuple):
    """Whom to learn from, whom to ask, and the few that left-to-right is run on."""

    learnt: Comparisons
    held_out: Comparisons
    few: Comparisons


def tasks(request: Request) -> list[Task]:
    """One ranking, M4 and TM at every K, then the others; quick, without Algorithms 2 and 3, which take long at 200 films."""
    size, ks = ("quick", QUICK_KS) if request.quick else ("whole", KS)
    groups = [group for group in SHARING if not (request.quick and group == ("TM, not rounded",))]
    systems = [
        ("one ranking", 1),
        *((system, k) for group in groups for k in ks for system in group),
    ]
    return [Task(system, k, size, method) for system, k in systems for method in METHODS]


def rows(todo: Iterable[Task], request: Request) -> Iterator[Row]:
    """One row a task; M4's fit is also where TM and Bradley–Terry columns begin."""
    todo, people, models = list(todo), None, _Models(request)
    for task in todo:
        if people is None:
            people = read_people(request, task.size)
        model = models.of(task.system, task.k, people.learnt)
        exact = task.system in MIXTURES and task.method == "left-to-right"
        found = (
            together(model, people.few) if exact else _score(model, people, task.method, request)
        )
        numbers = (
            found.log_likelihood_per_comparison,
            found.standard_error,
            found.n_users,
            found.n_comparisons,
        )
        yield dict(zip(COLUMNS, (*task, *numbers, __version__), strict=True))


def read_people(request: Request, size: str) -> People:
    """The paper's split. Quick: some of the people to learn from."""
    everybody, held_out = first_users(
        movielens_comparisons(read_films(request.data), N_ITEMS), N_FIRST
    )
    learnt = thinned(everybody, LEARNT_OF_ONE, "train", 0, np.arange(everybody.n_users)).kept
    n = held_out.per_user()
    few = _some(
        held_out,
        np.flatnonzero((n > 0) & (n <= MOST_COMPARISONS)),
        QUICK_ASKED if size == "quick" else MOST_ASKED,
    )
    if size == "quick":
        learnt = _some(learnt, np.arange(learnt.n_users), QUICK_LEARNT)
    return People(capped(learnt, CAP), held_out, few)


def _some(votes: Comparisons, among: np.ndarray, most: int) -> Comparisons:
    drawn = among if len(among) <= most else generator(0, _STEP).choice(among, most, replace=False)
    return votes.take_users(np.sort(drawn))


class _Models:
    """The last K's fit, kept for the systems that share it."""

    def __init__(self, request: Request) -> None:
        self.request, self.k = request, 0
        self.m4: FittedModel | None = None
        self.bt: FittedModel | None = None
        self.last: tuple[str, Any] = ("", None)

    def of(self, system: str, k: int, learnt: Comparisons) -> Any:
        """What a system learns."""
        if self.k != k:  # systems that share a fit are asked for one after the other
            self.k, self.m4, self.bt, self.last = k, None, None, ("", None)
        if self.last[0] != system:
            self.last = (system, self._learn(system, learnt))
        return self.last[1]

    def _learn(self, system: str, learnt: Comparisons) -> Any:
        if system.startswith("TM"):
            return self._tm(system == "TM", learnt)
        if system == "mixture of Mallows":
            n_starts = 2 if self.request.quick else 5
            return (
                MixtureOfMallows(n_starts=n_starts, n_iter=30, likelihood_weights=(1.0,))
                .fit(learnt, self.k)
                .model
            )
        if system.endswith("BTL"):
            self.bt = self.bt or self._fit(learnt, "bradley-terry")
            return self.bt if system.startswith("mixed") else self._one_column_each(self.bt, learnt)
        return self._m4(learnt)

    def _tm(self, rounded: bool, learnt: Comparisons) -> Any:
        """TM with its floor chosen on training people; rounded, it has the rankings of M4's fit."""
        if not rounded:
            fitted = TM(rounded=False, floor=FLOORS).fit(learnt, self.k)
            return _as_tables(fitted.items, fitted.fits[0])
        chooser = TM(floor=FLOORS, method=_options(self.request))
        eps = chooser.chosen_floor(learnt, self.k, 0)
        return _as_tables(learnt.items, floored(prepare(with_phi_0(self._m4(learnt))), eps))

    def _m4(self, learnt: Comparisons) -> FittedModel:
        """M4's own fit, once for each K."""
        self.m4 = self.m4 or self._fit(learnt)
        return self.m4

    def _one_column_each(self, mixed: FittedModel, learnt: Comparisons) -> FittedModel:
        """EM for everybody's one column, from the columns of the mixed-membership fit."""
        engine = ThreadEngine(self.request.n_jobs)
        scores = em(mixed.components, make_blocks(learnt), engine, _EM_STEPS)
        return at_vertices(with_scores(scores))

    def _fit(self, learnt: Comparisons, components: ComponentsKind = "mallows") -> FittedModel:
        request = self.request
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MallowmixWarning)
            return fit(
                learnt,
                self.k,
                method=_options(request),
                components=components,
                n_jobs=request.n_jobs,
                progress=request.progress,
            )


def _options(request: Request) -> SpectralOptions:
    return SpectralOptions(refine="short" if request.quick else "full")


def _as_tables(items: Labels, prepared: PreparedModel) -> TableModel:
    """A peer's fit, which keeps its β as (Q², K): TM's β, floored or as a regression left it, is no Mallows component."""
    Q = len(items)
    return TableModel(prepared.beta.T.reshape(-1, Q, Q), prepared.alpha, items)


def _score(model: Any, people: People, method: str, request: Request) -> Any:
    if method == "completion":
        return completion(model, people.held_out, n_jobs=request.n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        return left_to_right(
            model,
            people.few,
            LeftToRightOptions(max_particles=128),
            n_jobs=request.n_jobs,
            progress=request.progress,
        )


def together(model: AnyModel, people: Comparisons) -> Heldout:
    """All of a person's comparisons together where everybody holds one component: log Σ_k a_k Π_n β_(w_n),k, no particles."""
    people = people.with_items(model.items)
    log_p = np.log(floored_beta(model))[people.pair] * people.weight[:, None]
    single = np.stack(
        [np.bincount(people.user, column, people.n_users) for column in log_p.T], axis=1
    ) + np.log(model.share)
    return summary(
        np.column_stack([np.asarray(logsumexp(single, axis=1)), people.per_user()]), NOBODY
    )


def said(row: Mapping[str, Any]) -> str:
    """A row in a few words."""
    return f"{row['system']}, K = {row['k']}, {row['method']}: {row['log_likelihood']:.4f} ± {row['standard_error']:.4f}"


EXPERIMENT = Experiment(COLUMNS, ("system", "k", "size", "method"), tasks, rows, said, report)
