"""What one would use instead.

Topic models of other packages on ordered pairs as words, and EM from random rankings.

By Lemma 1 a topic model over the words "i over j" estimates the ranking matrix B; Algorithm 4
(`mallowmix.components_from_topics`) then reads rankings off it. Each package trains until the
likelihood of people it has not seen stops improving. The peers are given every advantage that costs
nothing: the true α, data in their own form before the clock starts, held-out people who are not
taken from their training data, and a clock that leaves out the checks and stops at the best of
them.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import psi

import mallowmix as mm
from benchmarks.planted import Setting, count_matrix
from benchmarks.record import timed
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.variational_em import Variational, variational_em

Array = NDArray[np.float64]
PATIENCE = 3  # checks without a gain before training is over
LEAST_GAIN = 1e-4  # nats a comparison
EM_STARTS = 3


class Trainer(Protocol):
    """A topic model in training."""

    def advance(self) -> None:
        """Train on for a while, until the next check."""
        ...

    def topic_word(self) -> Array:
        """(Q², K) its present estimate of B; columns sum to one."""
        ...


class Trained(NamedTuple):
    """Where training ended."""

    topic_word: Array  # (Q², K), of the best check
    seconds: float  # of training until then
    capped: bool  # it was still improving when its time was over
    held_out: list[float]  # log-likelihood a comparison at every check


# ------------------------------------------------------------------------------------- the packages


class ScikitLearn:
    """`LatentDirichletAllocation` by `partial_fit`.

    Online, or, with a learning rate of one on all people at once, in batch.
    """

    def __init__(
        self, X: sp.csr_array, K: int, alpha: float, *, threads: int, seed: int, batch: bool = False
    ) -> None:
        from sklearn.decomposition import LatentDirichletAllocation

        M = X.shape[0]
        way: dict[str, Any] = {"batch_size": M, "learning_decay": 0.0} if batch else {}
        self.X = sp.csr_matrix(X)
        self.model = LatentDirichletAllocation(
            K, doc_topic_prior=alpha, total_samples=M, n_jobs=threads, random_state=seed, **way
        )
        starter = LatentDirichletAllocation(1, n_jobs=threads, max_doc_update_iter=1)
        # its worker processes are there before the clock starts
        starter.partial_fit(self.X[: 2 * threads])

    def advance(self) -> None:
        self.model.partial_fit(self.X)

    def topic_word(self) -> Array:
        B = self.model.components_.T
        return B / B.sum(axis=0)


class Tomotopy:
    """`LDAModel`: collapsed Gibbs sampling, which also learns α; 20 sweeps to a check."""

    def __init__(self, X: sp.csr_array, K: int, alpha: float, *, threads: int, seed: int) -> None:
        import tomotopy

        self.threads, self.n_words = threads, X.shape[1]
        self.model = tomotopy.LDAModel(k=K, alpha=alpha, seed=seed + 1)  # it takes seed 0 for "any"
        names = np.array([str(code) for code in range(X.shape[1])], object)
        counts = X.data.astype(np.int64)
        for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            self.model.add_doc(np.repeat(names[X.indices[start:end]], counts[start:end]).tolist())

    def advance(self) -> None:
        with warnings.catch_warnings():
            # two workers may give another result each time
            warnings.simplefilter("ignore", RuntimeWarning)
            self.model.train(20, workers=self.threads)

    def topic_word(self) -> Array:
        B = np.zeros((self.n_words, self.model.k))
        B[[int(word) for word in self.model.used_vocabs]] = np.column_stack(
            [self.model.get_topic_word_dist(k) for k in range(self.model.k)]
        )
        return B


class Gensim:
    """Online variational Bayes, one pass to a check: the plain `LdaModel`, which has one thread.

    `multicore` takes `LdaMulticore` instead, whose workers update from older topics.
    """

    def __init__(
        self,
        X: sp.csr_array,
        K: int,
        alpha: float,
        *,
        threads: int,
        seed: int,
        multicore: bool = False,
    ) -> None:
        from gensim.matutils import Sparse2Corpus
        from gensim.models import LdaModel, LdaMulticore

        self.corpus = list(Sparse2Corpus(sp.csc_matrix(X.T), documents_columns=True))
        options = {
            "num_topics": K,
            "id2word": {code: str(code) for code in range(X.shape[1])},
            "alpha": [alpha] * K,
            "chunksize": min(2000, max(1, X.shape[0] // 10)),
            "eval_every": None,
            "random_state": seed,
        }
        self.model = LdaMulticore(workers=threads, **options) if multicore else LdaModel(**options)

    def advance(self) -> None:
        self.model.update(self.corpus)

    def topic_word(self) -> Array:
        return self.model.get_topics().T.astype(np.float64)


def _batch(*args: Any, **options: Any) -> ScikitLearn:
    return ScikitLearn(*args, **options, batch=True)


def _multicore(*args: Any, **options: Any) -> Gensim:
    return Gensim(*args, **options, multicore=True)


PEERS: dict[str, Callable[..., Trainer]] = {
    "scikit-learn LDA, online": ScikitLearn,
    "scikit-learn LDA, batch": _batch,
    "tomotopy LDA": Tomotopy,
    "gensim LdaModel": Gensim,
    "gensim LdaMulticore": _multicore,
}


# ------------------------------------------------------------------------------------- when to stop


class HeldOut(NamedTuple):
    """People whom nobody trains on.

    One half of their comparisons is given, the other is to be predicted.
    """

    given: sp.csr_array
    scored: sp.csr_array
    alpha: float


def held_out(comparisons: mm.Comparisons, alpha: float, seed: int = 0) -> HeldOut:
    """Halve each user's comparisons at random, one by one."""
    X = count_matrix(comparisons)
    first = np.random.default_rng(seed).binomial(X.data.astype(np.int64), 0.5).astype(np.float64)
    halves = [
        sp.csr_array((data, X.indices, X.indptr), shape=X.shape) for data in (first, X.data - first)
    ]
    return HeldOut(*halves, alpha)


def completion(B: Array, people: HeldOut, n_iter: int = 30) -> float:
    """Document completion.

    The mean log-likelihood of a scored comparison, θ folded in from the given ones.

    γ_k ← α + Σ_w n_w r_wk, r_wk ∝ B_wk exp ψ(γ_k); then log Σ_k θ_k B_wk with θ = γ / Σγ.
    """
    B = np.maximum(B, 1e-12)
    given, scored = people.given, people.scored
    user = np.repeat(np.arange(given.shape[0]), np.diff(given.indptr))
    words = B[given.indices]  # (rows, K): the halves have the same rows
    gamma = (
        np.full((given.shape[0], B.shape[1]), people.alpha)
        + given.sum(axis=1)[:, None] / B.shape[1]
    )
    for _ in range(n_iter):
        scale = np.exp(psi(gamma) - psi(gamma.sum(axis=1, keepdims=True)))
        share = given.data / np.einsum("nk,nk->n", words, scale[user])
        gamma = people.alpha + scale * (
            sp.csr_array((share, given.indices, given.indptr), shape=given.shape) @ B
        )
    theta = gamma / gamma.sum(axis=1, keepdims=True)
    return float(
        scored.data @ np.log(np.einsum("nk,nk->n", words, theta[user])) / scored.data.sum()
    )


def train(trainer: Trainer, people: HeldOut, *, cap: float) -> Trained:
    """Train until `PATIENCE` checks have brought no gain, or for `cap` seconds."""
    spent, waited, history = 0.0, 0, []
    best, at, chosen = -np.inf, 0.0, None
    while waited < PATIENCE and (spent < cap or chosen is None):
        spent += timed(trainer.advance)[0]
        B = trainer.topic_word()
        history.append(completion(B, people))
        waited += 1
        if history[-1] > best + LEAST_GAIN or chosen is None:
            best, at, chosen, waited = history[-1], spent, B, 0
    assert chosen is not None
    return Trained(chosen, at, waited < PATIENCE, history)


# -------------------------------------------------------------------------- EM from random rankings


def random_start_em(
    comparisons: mm.Comparisons, setting: Setting, *, cap: float, n_iter: int = 20
) -> Variational:
    """The best, by its bound, of three variational EM runs from random rankings.

    Of fewer where they take `cap` seconds.
    """
    blocks, engine = make_blocks(comparisons), ThreadEngine()
    spent, runs = 0.0, []
    while len(runs) < EM_STARTS and (spent < cap or not runs):
        random = np.random.default_rng([setting.seed, len(runs)])
        seconds, run = timed(
            lambda random=random: _one_run(blocks, engine, setting, random, n_iter)
        )
        runs.append(run)
        spent += seconds
    return max(runs, key=lambda run: run.elbo[-1])


def _one_run(
    blocks: list, engine: ThreadEngine, setting: Setting, random: np.random.Generator, n_iter: int
) -> Variational:
    """On until ten more iterations raise the bound by less than 1e-4 of itself, or five times ten
    are done.
    """
    K, Q = setting.n_components, setting.n_items
    sigma = np.stack([random.permutation(Q) for _ in range(K)]).astype(np.int32)
    run = variational_em(
        blocks,
        MallowsComponents(sigma, np.full(K, 0.8)),
        np.full(K, setting.alpha),
        engine,
        n_iter=n_iter,
    )
    for _ in range(5):
        before = run.elbo[-1]
        run = variational_em(blocks, run.components, run.alpha, engine, n_iter=10, gamma=run.gamma)
        if run.elbo[-1] - before < 1e-4 * abs(before):
            break
    return run
