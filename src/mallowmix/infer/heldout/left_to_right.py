"""Left-to-right: the probability of a user's comparisons one after the other, by a particle filter.

A particle holds the components z of the comparisons seen so far, as counts n_k. The next
comparison has the probability p = Σ_k β_(w),k (α_k + n_k) / (α₀ + n), its own component is drawn
from the summands, and log p(w) is the sum over comparisons of the logarithm of the particles'
weighted mean of p. (Wallach, Murray, Salakhutdinov and Mimno, ICML 2009; Buntine, ACML 2009.)
"""

import warnings
from typing import Any

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, map_step
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import FitWarning, Option
from mallowmix.infer.heldout.heldout_options import LeftToRightOptions
from mallowmix.infer.heldout.heldout_scores import (
    NOBODY,
    Heldout,
    floored_beta,
    log_mu_by_user,
    map_users,
    summary,
)
from mallowmix.model.component_model import ComponentModel
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, as_key, philox, splitmix
from mallowmix.numerics.token_gibbs import component_at, user_stream
from mallowmix.typing import Array, Progress

FORMS = ("filter", "mean-of-products", "product-of-means")
_FILTER, _PRODUCT_OF_MEANS = 0, 2  # numbers of forms inside kernels
_ORDER, _STEP = int(Step.TOKEN_ORDER), int(Step.PARTICLES)


def left_to_right(
    model: ComponentModel,
    comparisons: Comparisons,
    options: LeftToRightOptions | None = None,
    *,
    include_mu: bool = False,
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
    progress: Progress | None = None,
) -> Heldout:
    """The likelihood of each user's comparisons with θ integrated out over the Dirichlet prior.

    The filter weighs the particles by what they predicted and resamples them when fewer than half
    are effective; it makes its Gibbs moves then, the other forms before every comparison. The
    work is O(particles · comparisons · K · (1 + moves)).

    A user's comparisons are taken in a random order that depends on the seed and the user's
    number alone. Weights: w comparisons, where a fraction v counts v towards n_k and v log p
    towards the result. That is a convention, as in `completion`, and differs from the power
    p(w | θ)^v of `importance`: with weights of ½ throughout it can be .02 higher. `user_weight`
    is not used. The parameters are those of `heldout`.
    """
    chosen = options or LeftToRightOptions()
    comparisons = comparisons.with_items(model.items)
    n = comparisons.per_user()
    R, most = chosen.n_particles, chosen.max_particles
    most = max(R, _most(float(n.sum()))) if most is None else most
    form = FORMS.index(chosen.form)
    common = (floored_beta(model), model.alpha, form, chosen.n_moves, as_key(seed))
    with using(engine, n_jobs) as run:
        while True:
            name = f"{R} particles"
            runs = map_users(
                _two_runs, comparisons, (R, *common), run, name=name, width=2, progress=progress
            )
            about = {"form": chosen.form, "particles": R, "moves": chosen.n_moves}
            details = {**about, **_agreement(runs, n)}
            agree = max(details["difference"], details["noise_bias"]) < chosen.tol
            if agree or most < 2 * R:
                break
            R *= 2
    if not agree:
        _warn(details, chosen.tol)
    score = np.logaddexp(runs[:, 0], runs[:, 1]) - np.log(2)
    if include_mu:
        score = score + log_mu_by_user(comparisons)
    return summary(np.column_stack([score, n]), NOBODY, details)


def _most(n_comparisons: float) -> int:
    """The most particles: 2²² / comparisons, from 1024 to 2¹⁶."""
    return int(np.clip(2**22 / max(n_comparisons, 1), 1024, 65_536))


def _agreement(runs: Array, n: Array) -> dict[str, float]:
    """How far two runs a and b differ per comparison: difference, bias by noise, standard error.

    (a − b)² / 2 estimates the variance v of a run's logarithm; that of the mean of both has the
    variance v/2 and is v/4 too low, which log cosh((a − b) / 2) estimates: the logarithm of the
    mean less the mean of the logarithms.
    """
    gap, total = runs[:, 0] - runs[:, 1], max(float(n.sum()), 1e-300)
    return {
        "difference": abs(float(gap.sum())) / total,
        "noise_bias": float(np.sum(np.logaddexp(gap / 2, -gap / 2) - np.log(2))) / total,
        "monte_carlo_error": float(np.sqrt(gap @ gap)) / 2 / total,
    }


def _warn(details: dict[str, Any], tol: float) -> None:
    warnings.warn(
        FitWarning(
            f"With {details['particles']} particles two runs differ by {details['difference']:.2g} "
            "per comparison and their noise lowers the result by about "
            f"{details['noise_bias']:.2g}, not both below ",
            Option("tol", tol),
            "; raise ",
            Option("max_particles"),
            ", ",
            Option("n_moves"),
            " or ",
            Option("tol"),
            ".",
        ),
        stacklevel=4,
    )


@map_step("left to right")
def _two_runs(block: Block, broadcast: tuple[int, Array, Array, int, int, np.uint64]) -> Array:
    """(users, 2) log p(w) of each user by two independent runs."""
    R, beta, alpha, form, moves, key = broadcast
    return _run_users(
        block.starts, block.pair, block.weight, beta, alpha, R, form, moves, block.first_user, key
    )


@compiled
def _run_users(starts, pair, weight, beta, alpha, R, form, moves, first_user, key):
    M = len(starts) - 1
    out = np.zeros((M, 2))
    for m in range(M):
        user = first_user + m
        code, piece = _tokens(pair, weight, starts[m], starts[m + 1], user, key)
        for run in range(2):
            x0, x1, _, _ = philox(run, user, _STEP, R, key)
            state = (x0 << np.uint64(32)) | x1
            out[m, run] = _run(code, piece, beta, alpha, R, form, moves, state)
    return out


@compiled
def _tokens(pair, weight, first, last, user, key):
    """A user's comparisons one by one, pieces of at most 1, in random order (Fisher and Yates)."""
    count = 0
    for row in range(first, last):
        count += int(np.ceil(weight[row]))
    code, piece, t = np.empty(count, np.int64), np.empty(count), 0
    for row in range(first, last):
        rest = weight[row]
        while rest > 0:
            code[t], piece[t] = pair[row], min(1.0, rest)
            rest -= piece[t]
            t += 1
    state = user_stream(key, user, _ORDER, 0)
    for t in range(count - 1, 0, -1):
        state, u = splitmix(state)
        s = int(u * (t + 1))
        code[t], code[s] = code[s], code[t]
        piece[t], piece[s] = piece[s], piece[t]
    return code, piece


@compiled
def _run(code, piece, beta, alpha, R, form, moves, state):
    """Log p(w) by R particles: W are their weights, n their counts plus α, z their components."""
    N, K = len(code), len(alpha)
    z, n, p = np.empty((R, N), np.int16), np.empty((R, K)), np.empty(K)
    W = np.full(R, 1.0 / R)
    log_p, mass, moved = 0.0, 0.0, 0
    for k in range(K):
        mass += alpha[k]
        for i in range(R):
            n[i, k] = alpha[k]
    for t in range(N):
        total = 0.0
        for i in range(R):
            if form != _FILTER and t > 0:
                state = _gibbs(z[i], n[i], p, code, piece, beta, t, moves, state)
            predicted, state = _draw(z[i], n[i], p, code, piece, beta, t, state)
            predicted /= mass  # p = Σ_k β_(w),k (α_k + n_k) / (α₀ + n)
            W[i] *= predicted if piece[t] == 1.0 else predicted ** piece[t]
            total += W[i]
        mass += piece[t]
        log_p += np.log(total)
        squares = 0.0
        for i in range(R):
            W[i] = 1.0 / R if form == _PRODUCT_OF_MEANS else W[i] / total
            squares += W[i] * W[i]
        # the effective number 1 / ΣW² is below R / 2
        if form == _FILTER and R * squares > 2.0:
            source, state = ancestors(W, state)
            for i in range(R):
                W[i] = 1.0 / R
                if source[i] != i:
                    _copy(source[i], i, t + 1, n, z)
            for i in range(R):
                n[i, z[i, t]] -= piece[t]
                # so that copies differ at once
                _, state = _draw(z[i], n[i], p, code, piece, beta, t, state)
                state = _gibbs(
                    z[i], n[i], p, code, piece, beta, t + 1, moves * (t + 1 - moved), state
                )
            moved = t + 1
    return log_p


@compiled
def _copy(source, target, seen, n, z):
    """Give a particle the counts and components of another one."""
    for k in range(n.shape[1]):
        n[target, k] = n[source, k]
    for t in range(seen):
        z[target, t] = z[source, t]


@compiled
def _draw(z, n, p, code, piece, beta, t, state):
    """Draw the component of token t, P(z = k) ∝ β_(w),k (α_k + n_k), count it; the sum over k."""
    total = 0.0
    for k in range(len(n)):
        p[k] = beta[code[t], k] * n[k]
        total += p[k]
    state, u = splitmix(state)
    z[t] = component_at(p, total, u)
    n[z[t]] += piece[t]
    return total, state


@compiled
def _gibbs(z, n, p, code, piece, beta, seen, moves, state):
    """Draw again the components of randomly chosen tokens among those seen so far."""
    for _ in range(moves):
        state, u = splitmix(state)
        t = int(u * seen)
        n[z[t]] -= piece[t]
        _, state = _draw(z, n, p, code, piece, beta, t, state)
    return state


@compiled
def ancestors(W, state):
    """Systematic resampling: the ancestor of each particle; survivors keep their numbers.

    Particle i gets as many copies as there are points (u + j) / R, j = 0 … R − 1, within its
    share of [0, 1).
    """
    R = len(W)
    copies, source = np.zeros(R, np.int64), np.arange(R)
    state, u = splitmix(state)
    i, reached = 0, W[0]
    for j in range(R):
        while i < R - 1 and (u + j) / R >= reached:
            i += 1
            reached += W[i]
        copies[i] += 1
    dead = 0
    for i in range(R):
        for _ in range(copies[i] - 1):
            while copies[dead] > 0:
                dead += 1
            source[dead] = i
            dead += 1
    return source, state
